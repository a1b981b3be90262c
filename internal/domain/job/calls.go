package job

import (
	"encoding/json"
	"slices"
	"strings"
)

// Calls are the nodes of a submitted graph that call deployments. In the graph that runs, the graphs of versions stand in their
// place. Clients see the submitted graph: what happens to a node of a version happens to the node that called it.
type Calls struct {
	Mark  string            `json:"mark"`  // between the id of a node that calls and the rest of the id of a node of the version
	Nodes map[string]string `json:"nodes"` // classes of the nodes that call, by id
}

// Of returns the node that called the version to which a node belongs, or false for a node of the submitted graph. The receiver may be
// nil.
func (c *Calls) Of(id string) (NodeRef, bool) {
	if c == nil {
		return NodeRef{}, false
	}
	caller, _, within := strings.Cut(id, c.Mark)
	class, calls := c.Nodes[caller]
	return NodeRef{Node: caller, Class: class}, within && calls
}

// Shown returns the nodes of the submitted graph to which nodes belong, each once.
func (c *Calls) Shown(ids []string) []string {
	shown := make([]string, 0, len(ids))
	added := map[string]bool{}
	for _, id := range ids {
		caller, inside := c.Of(id)
		if inside {
			id = caller.Node
		}
		if !inside || !added[id] {
			shown = append(shown, id)
		}
		added[id] = true
	}
	return shown
}

// Place returns the data of an event as it concerns the nodes of the submitted graph.
func (c *Calls) Place(data any) any {
	if c == nil {
		return data
	}
	switch e := data.(type) {
	case NodeStartedV1:
		e.Within = c.within(e.Node, e.Within)
		return e
	case NodeExecutedV1:
		e.Within = c.within(e.Node, e.Within)
		return e
	case NodeFailedV1:
		if _, inside := c.Of(e.Failure.Node); inside {
			e.Failure, e.Inner = c.failure(e.Failure), e.Failure.Node
		}
		return e
	case FailedV1:
		e.Failure = c.failure(e.Failure)
		return e
	case CanceledV1:
		if e.At != nil {
			if caller, inside := c.Of(e.At.Node); inside {
				e.At = &caller
			}
		}
		return e
	case SegmentWaitingV1:
		if caller, inside := c.Of(e.Node); inside {
			e.Node = caller.Node
		}
		return e
	}
	return data
}

func (c *Calls) within(id string, expanded *Expansion) *Expansion {
	caller, inside := c.Of(id)
	if !inside {
		return expanded
	}
	return &Expansion{Parent: caller.Node, Display: caller.Node, Real: caller.Node, Class: caller.Class, Counts: expanded == nil}
}

// failure returns the failure of the node that called. The inputs are those of another node.
func (c *Calls) failure(f Failure) Failure {
	caller, inside := c.Of(f.Node)
	if !inside {
		return f
	}
	trace := slices.Clone(f.Traceback)
	for i := range trace {
		trace[i] = strings.ReplaceAll(trace[i], "node "+f.Node+" ("+f.Class+")", "node "+caller.Node+" ("+caller.Class+")")
	}
	f.Node, f.Class, f.Traceback, f.Inputs = caller.Node, caller.Class, trace, json.RawMessage("{}")
	return f
}
