package console

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
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

// Bounds of the details of one node.
const (
	maxNodeEvents = 100
	maxNodeValue  = 2000 // bytes of an input
	maxNodeCalls  = 16
)

// node returns the details of one node of a job, or nil if id is "".
func (s *Surface) node(ctx context.Context, id string, g *graph.Graph, shown *JobPage, events []inspect.Event) (*NodeDetail, error) {
	at := -1
	if g != nil {
		at = slices.IndexFunc(g.Nodes, func(n *graph.Node) bool { return n.ID == id })
	}
	if at < 0 {
		return nil, fault.New(fault.NotFound, fault.CodeNotFound, "The graph has no such node.")
	}
	n := g.Nodes[at]
	d := &NodeDetail{ID: id, Title: n.Title, Class: n.Class, Inputs: nodeInputs(n)}
	for _, span := range shown.Timeline.Nodes {
		if span.Node == id {
			d.Spans = append(d.Spans, span)
		}
	}
	for _, o := range shown.Outputs {
		if o.Node == id {
			d.Outputs = append(d.Outputs, o)
		}
	}
	for _, e := range events {
		f := concernedBy(e.Data)
		if f.Node != id && f.Failure.Node != id && !slices.Contains(f.Nodes, id) {
			continue
		}
		d.Log = append(d.Log, f.Log...)
		if f.URL != "" {
			d.Servers = append(d.Servers, serverSpans(shown.Timeline.Servers, f)...)
		}
		if len(d.Events) < maxNodeEvents {
			d.Events = append(d.Events, e)
		}
	}
	var err error
	d.Calls, err = s.nodeCalls(ctx, shown.Job, id)
	return d, err
}

// concerned are the members of an event that name the nodes that it concerns.
type concerned struct {
	Run     int      `json:"run"`
	Node    string   `json:"node"`
	Nodes   []string `json:"nodes"`
	Failure struct {
		Node string `json:"node"`
	} `json:"failure"`
	Log     []string `json:"log"`
	Segment int      `json:"segment"`
	Attempt int      `json:"attempt"`
	URL     string   `json:"url"`
	Count   int      `json:"count"` // of nodes in a segment that was placed on a server
}

func concernedBy(data json.RawMessage) concerned {
	var f concerned
	if json.Unmarshal(data, &f) != nil {
		return concerned{} // an event of another shape concerns no node
	}
	return f
}

// serverSpans returns the attempt on a server that an event started.
func serverSpans(all []inspect.ServerSpan, f concerned) []inspect.ServerSpan {
	var found []inspect.ServerSpan
	for _, s := range all {
		if f.Count > 0 && s.Run == f.Run && s.Segment == f.Segment && s.Attempt == f.Attempt {
			found = append(found, s)
		}
	}
	return found
}

// nodeInputs returns the inputs of a node: values, and the nodes to which it links.
func nodeInputs(n *graph.Node) []NodeInput {
	var inputs []NodeInput
	for _, in := range n.Inputs {
		shown := NodeInput{Name: in.Name}
		if text, ok := formValue(in.Value); ok {
			shown.Value = cut(text, maxNodeValue)
		} else if link, ok := in.Value.([]any); ok && len(link) == 2 {
			shown.From, _ = link[0].(string)
		}
		if shown.From == "" && shown.Value == "" {
			if raw, err := json.Marshal(in.Value); err == nil {
				shown.Value = cut(string(raw), maxNodeValue)
			}
		}
		inputs = append(inputs, shown)
	}
	return inputs
}

// cut shortens a text to at most most bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[:most]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return strings.TrimRight(text, " ") + "…"
}

// nodeCalls returns the calls of partner models that a node made in the last run and that are still stored.
func (s *Surface) nodeCalls(ctx context.Context, j job.Job, node string) ([]call.Call, error) {
	var found []call.Call
	for i := range maxNodeCalls {
		rec, ok, err := s.Models.Record.Key(ctx, j.Account, call.NodeKey(string(j.ID), j.Run, i, node))
		if err != nil || !ok {
			return found, err
		}
		one, err := s.Models.Record.Load(ctx, j.Account, rec.Call)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
		if err == nil {
			found = append(found, one)
		}
	}
	return found, nil
}
