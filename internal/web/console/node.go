package console

import (
	"html/template"
	"net/url"
	"strconv"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// NodeDetail is all that is known of one node of a job.
type NodeDetail struct {
	ID, Title, Class string
	Spans            []inspect.NodeSpan // its runs
	Inputs           []NodeInput
	Outputs          []Output
	Log              []string
	Events           []inspect.Event
	Calls            []call.Call          // of partner models
	Servers          []inspect.ServerSpan // parts of the graph with it that ran on ComfyUI servers
}

// NodeInput is an input of a node: a value, or the node that it is linked to.
type NodeInput struct{ Name, Value, From string }

// Charged writes what a call cost, "" while that is not known.
func (*NodeDetail) Charged(c call.Call) string { return charged(c) }

// NodeQuery is the query of the page with a node chosen.
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

// PreviewQuery is the query of the newest picture of the job: another one for each picture, so that the browser asks again.
func (p *JobPage) PreviewQuery() template.URL {
	q := url.Values{"seen": {p.Preview.Seen}}
	if p.Query != "" && p.Account != "" {
		q.Set("account", p.Account)
	}
	return "?" + Query(q)
}
