package graph

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/node"
)

// Plan is what a run has to do: the nodes that the outputs need, lazy ones included, each behind
// those it needs. The same graph, classes and outputs always give the same plan.
type Plan struct {
	Nodes []PlanNode `json:"nodes"`
}

// PlanNode is one node of a plan, called a unit by its index.
type PlanNode struct {
	ID        string          `json:"id"`
	Class     string          `json:"class"`
	Constants node.Args       `json:"constants,omitempty"` // converted
	Links     map[string]Link `json:"links,omitempty"`
	Lazy      []string        `json:"lazy,omitempty"` // linked inputs that are computed only on demand
	Output    bool            `json:"output,omitempty"`
	Cost      time.Duration   `json:"cost"` // bound on the run time
	Pixels    int64           `json:"-"`    // bound on the largest value
}

// Link says where an input comes from.
type Link struct {
	Unit int `json:"unit"`
	Slot int `json:"slot"`
}

// IsLazy reports whether the linked input is computed only on demand.
func (n *PlanNode) IsLazy(input string) bool { return slices.Contains(n.Lazy, input) }

// LinkNames returns the names of the linked inputs in order.
func (n *PlanNode) LinkNames() []string { return sortedKeys(n.Links) }

// BuildPlan plans a graph that was validated for these outputs. A graph that does not fit the
// classes is fault.Invalid: the classes changed since.
func BuildPlan(g *Graph, classes *node.Registry, outputs []string) (*Plan, error) {
	b := &builder{g: g, classes: classes, units: map[string]int{}, open: map[string]bool{}}
	for _, id := range outputs {
		if err := b.visit(id); err != nil {
			return nil, err
		}
	}
	for _, id := range outputs {
		b.plan.Nodes[b.units[id]].Output = true
	}
	return &b.plan, nil
}

type builder struct {
	g       *Graph
	classes *node.Registry
	plan    Plan
	units   map[string]int
	open    map[string]bool // on the path that is being visited
}

// visit adds a node behind everything it needs, without recursion: the path is kept on a stack.
func (b *builder) visit(id string) error {
	stack := []string{id}
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		if _, done := b.units[top]; done {
			stack = stack[:len(stack)-1]
			continue
		}
		n, class, err := b.node(top)
		if err != nil {
			return err
		}
		b.open[top] = true
		next, err := b.unplanned(n, class)
		switch {
		case err != nil:
			return err
		case next != "":
			stack = append(stack, next)
		default:
			if err := b.add(n, class); err != nil {
				return err
			}
			delete(b.open, top)
		}
	}
	return nil
}

func (b *builder) node(id string) (*Node, *node.Class, error) {
	n, ok := b.g.byID[id]
	if !ok {
		return nil, nil, fault.New(fault.Invalid, CodeInvalid, "the graph has no node %q", id)
	}
	class, ok := b.classes.Lookup(n.Class)
	if !ok {
		return nil, nil, fault.New(fault.Invalid, CodeInvalid, "class %s is not known", n.Class)
	}
	return n, class, nil
}

// unplanned returns the first node that n needs and the plan does not have yet, "" if there is none.
func (b *builder) unplanned(n *Node, class *node.Class) (string, error) {
	for _, in := range class.Inputs {
		raw, _ := n.Input(in.Name)
		ref, _, good := asReference(raw)
		if !good {
			continue
		}
		if _, done := b.units[ref.node]; done {
			continue
		}
		if b.open[ref.node] {
			return "", fault.New(fault.Invalid, CodeInvalid, "node %q is part of a cycle", ref.node)
		}
		return ref.node, nil
	}
	return "", nil
}

func (b *builder) add(n *Node, class *node.Class) error {
	pn := PlanNode{ID: n.ID, Class: n.Class, Constants: node.Args{}, Links: map[string]Link{}}
	var upstream int64
	for _, in := range class.Inputs {
		raw, given := n.Input(in.Name)
		if !given {
			continue
		}
		if ref, _, good := asReference(raw); good {
			unit := b.units[ref.node]
			pn.Links[in.Name] = Link{Unit: unit, Slot: ref.slot}
			upstream = max(upstream, b.plan.Nodes[unit].Pixels)
			if in.Lazy {
				pn.Lazy = append(pn.Lazy, in.Name)
			}
			continue
		}
		if list, ok := wrapped(raw); ok {
			raw = list
		}
		value, err := convert(in.Type, raw)
		if err != nil {
			return fault.Wrap(fmt.Errorf("input %s: %w", in.Name, err), fault.Invalid, CodeInvalid, "node %q does not fit its class", n.ID)
		}
		pn.Constants[in.Name] = value
	}
	pn.estimate(class, upstream)
	b.units[n.ID] = len(b.plan.Nodes)
	b.plan.Nodes = append(b.plan.Nodes, pn)
	return nil
}

// estimate bounds a node's values and run time from its constants and what comes in.
func (n *PlanNode) estimate(class *node.Class, upstream int64) {
	n.Pixels = upstream
	if class.Pixels != nil {
		n.Pixels = class.Pixels(n.Constants, upstream)
	}
	if class.Cost != nil {
		n.Cost = class.Cost(max(upstream, n.Pixels))
	}
}
