package graph

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Bounds of expansions.
const (
	// MaxExpansionNodes bounds the nodes and given values of one expansion, taken together.
	MaxExpansionNodes = 1000
	// MaxExpansions bounds the nodes of a run that expand. Each batch names all of them.
	MaxExpansions = 500
	// MaxNesting bounds the depth of expansions within expansions.
	MaxNesting = 16
)

// Expansion is the graph that a node expanded to, as it is stored between activities.
type Expansion struct {
	Nodes  []ExpansionNode    `json:"nodes"`
	Given  []GivenValue       `json:"given,omitempty"`
	Calls  [][]ExpansionValue `json:"calls"` // the source of each output, by call of the node and slot
	Mapped bool               `json:"mapped,omitempty"`
}

// ExpansionNode is a node of an expansion in API format: inputs are constants, or [node id, slot].
type ExpansionNode struct {
	ID      string         `json:"id"`
	Class   string         `json:"class"`
	Display string         `json:"display,omitempty"` // id of the node that clients see instead; "" = the node that expanded
	Inputs  map[string]any `json:"inputs,omitempty"`
}

// GivenValue is a stored value that the nodes of an expansion read. Nodes and given values have distinct ids.
type GivenValue struct {
	ID     string    `json:"id"`
	Ref    string    `json:"ref"` // of the stored value
	Type   node.Type `json:"type"`
	Pixels int64     `json:"pixels,omitempty"`
	Digest string    `json:"digest,omitempty"` // of the content, the same in every job; "" = unknown
}

// ExpansionValue is an output of a node or a given value.
type ExpansionValue struct {
	ID   string `json:"id"`
	Slot int    `json:"slot,omitempty"`
}

// Constant returns a value in the form of an input of an ExpansionNode. It returns false for a value that has no such
// form; such a value is passed as a GivenValue.
func Constant(value node.Value) (any, bool) {
	switch v := value.(type) {
	case string, bool:
		return v, true
	case int64:
		return json.Number(strconv.FormatInt(v, 10)), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false
		}
		text := strconv.FormatFloat(v, 'e', -1, 64) // a decimal point, so that a reader does not take the number for an integer
		return json.Number(text), true
	}
	return nil, false
}

// Link returns the input that reads v.
func (v ExpansionValue) Link() any { return []any{v.ID, json.Number(strconv.Itoa(v.Slot))} }

// ExpansionPlan is an expansion ready to run.
type ExpansionPlan struct {
	Plan
	Outputs [][]Link // indexed as Expansion.Calls
}

// Whole returns the plan with one more node at its end: an output node that reads all outputs of the expanded node.
func (p *ExpansionPlan) Whole() *Plan {
	reader := PlanNode{Links: map[string]Link{}, Output: true}
	for _, unit := range p.Reads() {
		reader.Links[strconv.Itoa(unit)] = Link{Unit: unit}
	}
	return &Plan{Nodes: append(slices.Clone(p.Nodes), reader)}
}

// Reads returns the units that make the outputs of the expanded node, each once, in order.
func (p *ExpansionPlan) Reads() []int {
	var units []int
	for _, call := range p.Outputs {
		for _, link := range call {
			units = append(units, link.Unit)
		}
	}
	slices.Sort(units)
	return slices.Compact(units)
}

// PlanExpansion checks an expansion by the rules for prompts and plans its output nodes and all nodes that the outputs
// of the expanded node need. A broken rule is fault.Invalid with CodeExpansion.
func (v *Validator) PlanExpansion(ctx context.Context, g *Expansion, files node.Files, pixels FilePixels) (*ExpansionPlan, error) {
	if len(g.Nodes)+len(g.Given) > MaxExpansionNodes {
		return nil, fault.New(fault.Exhausted, fault.CodeExpansionInvalid, "the node expands to more than %d nodes and values", MaxExpansionNodes)
	}
	expanded, err := v.expansionGraph(g)
	if err != nil {
		return nil, err
	}
	if err := v.checkExpansion(ctx, expanded, files, v.requiredNodes(expanded, g)); err != nil {
		return nil, err
	}
	return v.planExpansion(expanded, g, pixels)
}

// ReplanExpansion plans an expansion that PlanExpansion has checked before.
func (v *Validator) ReplanExpansion(g *Expansion, pixels FilePixels) (*ExpansionPlan, error) {
	expanded, err := v.expansionGraph(g)
	if err != nil {
		return nil, err
	}
	return v.planExpansion(expanded, g, pixels)
}

// requiredNodes returns the nodes that an expansion must run: its output nodes, and the sources of the expanded node's
// outputs.
func (v *Validator) requiredNodes(expanded *Graph, g *Expansion) []string {
	return slices.Concat(v.outputs(expanded, nil), g.sources())
}

func (v *Validator) planExpansion(expanded *Graph, g *Expansion, pixels FilePixels) (*ExpansionPlan, error) {
	b := &builder{g: expanded, classes: v.Classes, pixels: pixels, units: map[string]int{}, open: map[string]*draft{}}
	if err := b.visitAll(v.requiredNodes(expanded, g)); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeExpansionInvalid, "the expansion cannot be planned: %s", err)
	}
	for _, id := range v.outputs(expanded, nil) {
		b.plan.Nodes[b.units[id]].Output = true
	}
	p := &ExpansionPlan{Plan: b.plan, Outputs: make([][]Link, len(g.Calls))}
	for i, call := range g.Calls {
		for _, from := range call {
			unit := b.units[from.ID]
			if from.Slot < 0 || from.Slot >= p.Nodes[unit].slots {
				return nil, badExpansion("an output comes from slot %d of node %s, which it does not have", from.Slot, from.ID)
			}
			p.Outputs[i] = append(p.Outputs[i], Link{Unit: unit, Slot: from.Slot})
		}
	}
	return p, nil
}

func badExpansion(format string, args ...any) error {
	return fault.New(fault.Invalid, fault.CodeExpansionInvalid, "the node expands to a graph that cannot run: "+format, args...)
}

// sources returns the nodes that make the outputs of the expanded node, in order.
func (g *Expansion) sources() []string {
	var ids []string
	for _, call := range g.Calls {
		for _, from := range call {
			ids = append(ids, from.ID)
		}
	}
	return ids
}

// expansionGraph returns the expansion as a graph.
func (v *Validator) expansionGraph(g *Expansion) (*Graph, error) {
	out := &Graph{byID: map[string]*Node{}}
	for i := range g.Given {
		out.Nodes = append(out.Nodes, &Node{ID: g.Given[i].ID, HasInputs: true, given: &g.Given[i]})
	}
	for _, n := range g.Nodes {
		class, known := v.Classes.Lookup(n.Class)
		switch {
		case !known:
			return nil, badExpansion("class %.64q is unknown", n.Class)
		case class.Partner:
			return nil, badExpansion("class %s runs a partner model; such nodes are allowed in the prompt only", n.Class)
		case !named(n.ID) || !named(n.Display):
			return nil, badExpansion("an id is longer than %d bytes", maxName)
		}
		add := &Node{ID: n.ID, Class: n.Class, HasInputs: true}
		for _, name := range sortedKeys(n.Inputs) {
			add.Inputs = append(add.Inputs, Given{Name: name, Value: n.Inputs[name]})
		}
		out.Nodes = append(out.Nodes, add)
	}
	for _, n := range out.Nodes {
		if out.byID[n.ID] != nil {
			return nil, badExpansion("node id %s appears twice", n.ID)
		}
		out.byID[n.ID] = n
	}
	return out, nil
}

// checkExpansion validates the nodes that the expansion needs. The first broken rule refuses it.
func (v *Validator) checkExpansion(ctx context.Context, g *Graph, files node.Files, wanted []string) error {
	w := &walk{ctx: ctx, v: v, g: g, files: remember(files), results: map[string]*result{}, places: map[string]int{}}
	for _, id := range wanted {
		if g.byID[id] == nil {
			return badExpansion("an output comes from node %.64q, which does not exist", id)
		}
		if w.output(id) || w.failed != nil {
			continue
		}
		for _, e := range w.errors([]string{id}) {
			return badExpansion("node %s (%s): %s: %s", e.Node, e.Class, e.Errors[0].Message, e.Errors[0].Details)
		}
		return badExpansion("node %s cannot run", id)
	}
	return w.failed
}
