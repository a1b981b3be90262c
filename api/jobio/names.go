package jobio

import (
	"fmt"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
)

// Names replaces the nodes in what clients read about a job by the names of inputs and outputs. The zero value changes nothing.
type Names struct {
	called *job.Deployed
	schema *callable.Schema // nil = only the names of outputs are known
}

// NamesOf returns the names for a job that was asked for below the path of its deployment. Elsewhere, owners see their nodes.
func NamesOf(c *gin.Context, e *edge.Edge, j job.Job) Names {
	m := edge.Mount(c)
	if m == nil || j.Deployment == nil {
		return Names{}
	}
	schema, err := e.Deployments.Schema(c.Request.Context(), m.Deployment, j.Deployment.Version)
	if err != nil {
		schema = nil // the content of the version cannot be read now
	}
	return CallNames(j.Deployment, schema)
}

// CallNames returns the names for a call. schema may be nil.
func CallNames(called *job.Deployed, schema *callable.Schema) Names { return Names{called, schema} }

// Node returns the name of a node of the graph: of its output, of an input that it reads, or "".
func (n Names) Node(id string) string {
	switch {
	case n.called == nil:
		return id
	case n.called.Output(id) != "":
		return n.called.Output(id)
	case n.schema != nil:
		return n.schema.Step(id)
	}
	return ""
}

// Job returns a job without nodes: the files of its outputs by name, and a failure that names the inputs that its node reads.
func (n Names) Job(j job.Job) job.Job {
	if n.called == nil {
		return j
	}
	named := make([]job.NodeOutput, 0, len(j.Outputs))
	for _, out := range j.Outputs {
		if name, _ := n.called.OutputOf(out); name != "" {
			out.Node, out.Within = name, nil
			named = append(named, out)
		}
	}
	j.Outputs = named
	targets := make([]string, 0, len(j.Targets))
	for _, id := range j.Targets {
		targets = append(targets, n.called.Output(id))
	}
	j.Targets = targets
	if j.Error != nil {
		j.Error = n.failure(*j.Error)
	}
	return j
}

// failure returns a failure in words of inputs.
func (n Names) failure(f job.Failure) *job.Failure {
	named := &job.Failure{Code: f.Code, Message: f.Message, Node: n.called.Output(f.Node), ExceptionType: f.ExceptionType}
	if n.schema == nil || f.Node == "" {
		return named
	}
	switch inputs := n.schema.InputsOf(f.Node); {
	case len(inputs) == 1:
		named.Message = fmt.Sprintf("input %s: %s", inputs[0], f.Message)
	case len(inputs) > 1:
		named.Message = fmt.Sprintf("inputs %s: %s", strings.Join(inputs, ", "), f.Message)
	}
	return named
}

// Progress returns progress without nodes and their classes.
func (n Names) Progress(p *stream.Progress) *stream.Progress {
	if n.called == nil || p == nil || p.CurrentNode == nil {
		return p
	}
	named := *p
	name := n.Node(*p.CurrentNode)
	named.CurrentNode, named.CurrentNodeClass, named.Message = &name, nil, nil
	if name == "" {
		named.CurrentNode = nil
	}
	return &named
}

// OfMount reports whether a job belongs to the deployment below whose path a request was made; every job does so elsewhere.
func OfMount(c *gin.Context, j job.Job) bool {
	m := edge.Mount(c)
	return m == nil || j.Deployment != nil && j.Deployment.ID == string(m.ID)
}

// CheckGraphs refuses a request below the path of a deployment that concerns graphs and not inputs, unless the key may.
func CheckGraphs(c *gin.Context, what string) error {
	if edge.Mount(c) == nil || edge.Caller(c).Allows(account.ScopeGraphs) {
		return nil
	}
	return fault.New(fault.Denied, fault.CodeForbidden, "%s of a deployment needs a key with the scope %q", what, account.ScopeGraphs)
}
