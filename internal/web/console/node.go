package console

import (
	"html/template"
	"net/url"
	"strconv"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// NodeDetail contains all data about one node of a job.
type NodeDetail struct {
	ID, Title, Class string
	Spans            []inspect.NodeSpan // its runs
	Inputs           []NodeInput
	Outputs          []Output
	Log              []string
	Events           []inspect.Event
	Calls            []call.Call          // calls of partner models
	Servers          []inspect.ServerSpan // segments with the node that ran on ComfyUI servers
}

// NodeInput is an input of a node: a value, or the node that it is linked to.
type NodeInput struct{ Name, Value, From string }

// Charged formats the cost of a call, or "" if it is unknown.
func (*NodeDetail) Charged(c call.Call) string { return charged(c) }

// NodeQuery returns the query of the page with a node selected.
func (p *JobPage) NodeQuery(id string) template.URL {
	q := url.Values{"node": {id}}
	if p.At > 0 {
		q.Set("at", strconv.FormatInt(p.At, 10))
	}
	if p.Query != "" && p.Account != "" {
		q.Set("account", p.Account)
	}
	return Query(q)
}

// PreviewQuery returns the query of the newest preview of the job, which differs between previews, so that the
// browser loads each one.
func (p *JobPage) PreviewQuery() template.URL {
	q := url.Values{"seen": {p.Preview.Seen}}
	if p.Query != "" && p.Account != "" {
		q.Set("account", p.Account)
	}
	return "?" + Query(q)
}
