package placement

import (
	"errors"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/segment"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Check reports whether the parts of a graph that need servers can be separated from the rest. If not, the error is a
// *graph.PromptError that names type and node. A label that no server has is Invalid.
func (p *Pool) Check(accepted *graph.Accepted, labels []string) error {
	if label := p.UnknownLabel(labels); label != "" {
		return fault.New(fault.Invalid, fault.CodeUnknownLabel, "no ComfyUI server has the label %q",
			label).WithDetails(map[string]any{"label": label})
	}
	classes := p.classes.Frozen()
	if !needsServer(accepted, classes) {
		return nil
	}
	plan, err := graph.BuildPlan(accepted.Graph, classes, accepted.Outputs, nil) // without parts that were refused
	if err != nil {
		return err
	}
	if err := p.checkRoutes(accepted, plan); err != nil {
		return err
	}
	if err := p.checkWeights(accepted, plan, classes, labels); err != nil {
		return err
	}
	var edge *segment.EdgeError
	if _, err = segment.Cut(plan, classes, p.Side(classes), nil); errors.As(err, &edge) {
		return graph.Refuse(accepted, edge.To, edge.ToClass, graph.InputError{
			Type: "value_cannot_leave_server", Message: "A value of type " + string(edge.Type) + " cannot leave its server",
			Details:   edge.Input + ": " + edge.Error(),
			ExtraInfo: map[string]any{"input_name": edge.Input, "received_type": edge.Type, "linked_node": edge.From},
		})
	}
	return err
}

// checkRoutes refuses a graph with a class that would wait on its server for an answer that no client can send.
func (p *Pool) checkRoutes(accepted *graph.Accepted, plan *graph.Plan) error {
	if p.opts.Lacks == nil {
		return nil
	}
	for _, n := range plan.Nodes {
		if route := p.opts.Lacks(n.Class); route != "" {
			return graph.Refuse(accepted, n.ID, n.Class, graph.InputError{
				Type: "route_not_relayed", Message: "The node waits for an answer by a route that is not relayed",
				Details: "its client answers by " + route + "; the operator allows this route with MILLRACE_PACK_ROUTES",
			})
		}
	}
	return nil
}

// needsServer reports whether a graph has a class that only servers have.
func needsServer(accepted *graph.Accepted, classes *node.Registry) bool {
	for _, n := range accepted.Graph.Nodes {
		if c, ok := classes.Lookup(n.Class); ok && c.Remote {
			return true
		}
	}
	return false
}

// Price returns the highest price of a second on a registered server with these labels, or 0 for a graph that needs
// no server.
func (p *Pool) Price(accepted *graph.Accepted, labels []string) (most int64) {
	if !needsServer(accepted, p.classes.Frozen()) {
		return 0
	}
	for _, s := range p.all() {
		if s.Has(labels) {
			most = max(most, s.Price)
		}
	}
	return most
}

// Devices returns the devices of the servers that answer.
func (p *Pool) Devices() []server.Device {
	var devices []server.Device
	for i, s := range p.Servers() {
		if s.Health == server.Answers {
			for _, d := range s.Devices {
				d.Machine = i + 1
				devices = append(devices, d)
			}
		}
	}
	return devices
}
