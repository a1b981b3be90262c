// Package segment cuts a plan into parts that ComfyUI servers run. It keeps one promise: every node of the plan is in
// exactly one part, on a server or local, and no part waits for itself. A value that nodes of a server exchange stays
// on the server unless its type can be moved. The package is pure: the caller passes the classes that servers have;
// package placement decides where a segment runs and the scheduler decides when.
package segment

import (
	"fmt"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// Side is where a class can run.
type Side uint8

// The sides. A class of Either runs where its neighbours run.
const (
	Here   Side = iota // in this process only
	Server             // on ComfyUI servers only
	Either
)

// Crosses reports whether values of a type can be moved between this process and a server.
func Crosses(t node.Type) bool {
	switch t {
	case node.Image, node.Mask, Latent, node.Audio, node.Video, node.String, node.Int, node.Float, node.Boolean, node.Combo:
		return true
	default:
		return false
	}
}

// Latent is the type of latent images, which only servers compute with.
const Latent node.Type = "LATENT"

// EdgeError refuses a plan in which a value would have to leave its server although its type cannot be moved.
type EdgeError struct {
	From, FromClass string // the node that makes the value
	To, ToClass     string // the node that reads it
	Input           string
	Type            node.Type
}

// Error names the type and the nodes.
func (e *EdgeError) Error() string {
	return fmt.Sprintf("%s cannot leave its server: node %s (%s) and node %s (%s) must run in one prompt, and a node that only Millrace "+
		"has stands between them",
		e.Type, e.From, e.FromClass, e.To, e.ToClass)
}

// Cut returns the plan with each of its parts for servers contracted to one unit. A plan without a class of Server is
// returned unchanged. If a value would have to cross and cannot, the error is an *EdgeError. The same plan always
// gives the same cut.
//
// Unconnected parts become one unit if one server can run both, as far as no local unit stands between them and none of them may be
// left out. able returns, by server, whether it can run a node; if it is nil, unconnected parts stay apart.
func Cut(plan *graph.Plan, classes *node.Registry, side func(class string) Side, able func(*graph.PlanNode) []bool) (*graph.Plan, error) {
	c := newCutter(plan, classes, side)
	if !c.hasServer() {
		return plan, nil
	}
	if err := c.mark(); err != nil {
		return nil, err
	}
	parts, err := c.parts(able)
	if err != nil {
		return nil, err
	}
	return contract(plan, c, parts), nil
}

// edge is a link of a plan with the type of its value.
type edge struct {
	from, to int
	slot     int
	input    string
	kind     node.Type
	crosses  bool
}

// cutter is the state of one cut.
type cutter struct {
	plan     *graph.Plan
	side     []Side // by unit; Either is decided by mark
	in, out  [][]edge
	types    *typeFinder
	onServer []bool
}

func newCutter(plan *graph.Plan, classes *node.Registry, side func(string) Side) *cutter {
	n := len(plan.Nodes)
	c := &cutter{
		plan: plan, side: make([]Side, n), in: make([][]edge, n), out: make([][]edge, n), onServer: make([]bool, n),
		types: &typeFinder{plan: plan, classes: classes, known: map[graph.Link]node.Type{}},
	}
	for u := range plan.Nodes {
		pn := &plan.Nodes[u]
		if c.side[u] = Here; pn.Given == "" {
			c.side[u] = side(pn.Class)
		}
		for _, name := range pn.LinkNames() {
			link := pn.Links[name]
			e := edge{from: link.Unit, to: u, slot: link.Slot, input: name}
			e.kind = c.types.ofEdge(u, name, link)
			e.crosses = Crosses(e.kind)
			c.in[u] = append(c.in[u], e)
			c.out[e.from] = append(c.out[e.from], e)
		}
	}
	return c
}

func (c *cutter) hasServer() bool {
	for _, s := range c.side {
		if s == Server {
			return true
		}
	}
	return false
}

// refuse returns the error for an edge.
func (c *cutter) refuse(e edge) error {
	from, to := &c.plan.Nodes[e.from], &c.plan.Nodes[e.to]
	return &EdgeError{From: from.ID, FromClass: from.Class, To: to.ID, ToClass: to.Class, Input: e.input, Type: e.kind}
}

// mark decides where each unit runs. A unit of Either that exchanges values that cannot cross with a local class is
// local; of the remaining ones, those that exchange such values with a class of servers run on the server.
func (c *cutter) mark() error {
	if err := c.spreadLocal(); err != nil {
		return err
	}
	var pending []int
	for u, s := range c.side {
		if s == Server {
			c.onServer[u] = true
			pending = append(pending, u)
		}
	}
	for len(pending) > 0 {
		u := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		err := c.eachNeighbour(u, func(v int, _ edge) error {
			if c.side[v] == Either && !c.onServer[v] {
				c.onServer[v] = true
				pending = append(pending, v)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// spreadLocal marks as local all units that exchange values that cannot cross with a local class.
func (c *cutter) spreadLocal() error {
	var pending []int
	for u, s := range c.side {
		if s == Here {
			pending = append(pending, u)
		}
	}
	for len(pending) > 0 {
		u := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		err := c.eachNeighbour(u, func(v int, e edge) error {
			switch {
			case e.crosses || c.side[v] == Here:
				return nil
			case c.side[v] == Server:
				return c.refuse(e)
			}
			c.side[v] = Here
			pending = append(pending, v)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachNeighbour calls f for the other ends of a unit's edges.
func (c *cutter) eachNeighbour(u int, f func(v int, e edge) error) error {
	for _, e := range c.in[u] {
		if err := f(e.from, e); err != nil {
			return err
		}
	}
	for _, e := range c.out[u] {
		if err := f(e.to, e); err != nil {
			return err
		}
	}
	return nil
}
