package comfyui

import (
	"context"
	"fmt"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/sim/comfyui/classes"
)

// visibleNode is where clients see a node: one of the prompt in its own place, one of an expansion in that of the node that it
// came from.
type visibleNode struct {
	parent  any // the node that expanded to it; nil = it is one of the prompt
	display string
	real    string // the node of the prompt that it came from
}

// visible returns where clients see a node.
func (e *execution) visible(id string) visibleNode {
	if p, inner := e.inner[id]; inner {
		return p
	}
	return visibleNode{nil, id, id}
}

// expand runs the graphs that the calls of a node returned, and returns the result of the node.
func (e *execution) expand(ctx context.Context, pn *graph.PlanNode, inv node.Invocation, calls []node.Result) (node.Result, error) {
	for i := range calls {
		if calls[i].Expand == nil {
			continue
		}
		x := &expansion{
			execution: e, parent: pn.ID, class: pn.Class, prefix: fmt.Sprintf("%s.%d.0.", pn.ID, i), graph: calls[i].Expand,
			done: map[int]node.Result{},
		}
		if err := x.run(ctx); err != nil {
			return node.Result{}, err
		}
		for slot, value := range calls[i].Outputs {
			if from, later := value.(node.From); later {
				calls[i].Outputs[slot] = x.done[from.Node].Outputs[from.Slot]
			}
		}
		calls[i].Expand = nil
	}
	return node.Join(inv.Class, inv.Mapped(), calls), nil
}

// expansion is a graph that a node returned, while it runs.
type expansion struct {
	*execution
	parent, class string // the node that returned it
	prefix        string // of the ids of its nodes
	graph         *node.Expansion
	done          map[int]node.Result // by number
}

// run runs every node, in the order of their numbers: a node reads those before it.
func (x *expansion) run(ctx context.Context) error {
	real := x.visible(x.parent).real
	for i, n := range x.graph.Nodes {
		id, display := fmt.Sprint(x.prefix, i+1), x.visible(x.parent).display
		if n.Display != "" {
			display = n.Display
		}
		x.inner[id] = visibleNode{x.parent, display, real}
		result, err := x.node(ctx, id, n)
		if err != nil {
			return &nodeFailure{real, x.class, err} // as the original, it names the node of the prompt
		}
		x.done[i+1] = result
	}
	return nil
}

// node runs one node of the expansion.
func (x *expansion) node(ctx context.Context, id string, n node.ExpandedNode) (node.Result, error) {
	class, known := x.classes.Lookup(n.Class)
	if !known {
		return node.Result{}, &classes.Exception{Kind: "KeyError", Text: "'" + n.Class + "'"}
	}
	inv := node.Invocation{Class: class, Inputs: node.Args{}}
	for name, value := range n.Inputs {
		if from, is := value.(node.From); is {
			value = x.done[from.Node].Outputs[from.Slot]
		}
		inv.Inputs[name] = value
	}
	x.begin(id)
	result, err := x.invoke(ctx, id, n.Class, inv)
	if err == nil && len(result.Calls) > 0 {
		result, err = x.expand(ctx, &graph.PlanNode{ID: id, Class: x.class}, inv, result.Calls)
	}
	if err != nil {
		return node.Result{}, err
	}
	return result, x.finish(id, result)
}
