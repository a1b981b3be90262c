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
	// MaxGrowth is how many nodes one node may expand to, values that it hands on included.
	MaxGrowth = 1000
	// MaxGrown is how many nodes of a run may expand: each batch names all of them.
	MaxGrown = 500
	// MaxNesting is how deep expansions may nest.
	MaxNesting = 16
)

// CodeExpansion marks a graph that a node returned and that cannot run.
const CodeExpansion = "expansion_invalid"

// Growth is the graph that a node expanded to, as it is kept between activities.
type Growth struct {
	Nodes  []GrownNode    `json:"nodes"`
	Given  []Handed       `json:"given,omitempty"`
	Calls  [][]GrownValue `json:"calls"` // of each call of the node: where its outputs come from, by slot
	Mapped bool           `json:"mapped,omitempty"`
}

// GrownNode is a node of an expansion in API format: inputs are constants, or [node id, slot].
type GrownNode struct {
	ID      string         `json:"id"`
	Class   string         `json:"class"`
	Display string         `json:"display,omitempty"` // node that clients are shown in its place; "" = the one that expanded
	Inputs  map[string]any `json:"inputs,omitempty"`
}

// Handed is a value that an expansion reads beside its own nodes. Ids of nodes and of values are distinct.
type Handed struct {
	ID     string    `json:"id"`
	Ref    string    `json:"ref"` // of the stored value
	Type   node.Type `json:"type"`
	Pixels int64     `json:"pixels,omitempty"`
	Digest string    `json:"digest,omitempty"` // of the content, the same in every job; "" = not known
}

// GrownValue is an output of a node or a given value.
type GrownValue struct {
	ID   string `json:"id"`
	Slot int    `json:"slot,omitempty"`
}

// Constant returns a value as a GrownNode's input holds it. It is false for what has no such form, and is
// handed over as Handed.
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
		text := strconv.FormatFloat(v, 'e', -1, 64) // never read back as an integer
		return json.Number(text), true
	}
	return nil, false
}

// Link returns an input that comes from another node of an expansion, or from a given value.
func (v GrownValue) Link() any { return []any{v.ID, json.Number(strconv.Itoa(v.Slot))} }

// GrownPlan is an expansion ready to run.
type GrownPlan struct {
	Plan
	Outputs [][]Link // as Growth.Calls
}

// Whole returns the plan with one more node behind it, an output that reads what the expanded node gives.
func (p *GrownPlan) Whole() *Plan {
	reader := PlanNode{Links: map[string]Link{}, Output: true}
	for _, unit := range p.Reads() {
		reader.Links[strconv.Itoa(unit)] = Link{Unit: unit}
	}
	return &Plan{Nodes: append(slices.Clone(p.Nodes), reader)}
}

// Reads returns the units that the outputs come from, each once, in order.
func (p *GrownPlan) Reads() []int {
	var units []int
	for _, call := range p.Outputs {
		for _, link := range call {
			units = append(units, link.Unit)
		}
	}
	slices.Sort(units)
	return slices.Compact(units)
}

// PlanGrowth checks an expansion by the rules for prompts and plans it: its output nodes, and what the
// outputs of the expanded node need. What does not hold is Invalid with CodeExpansion.
func (v *Validator) PlanGrowth(ctx context.Context, g *Growth, files node.Files, pixels FilePixels) (*GrownPlan, error) {
	if len(g.Nodes)+len(g.Given) > MaxGrowth {
		return nil, fault.New(fault.Exhausted, CodeExpansion, "the node expands to more than %d nodes and values", MaxGrowth)
	}
	expanded, err := v.growthGraph(g)
	if err != nil {
		return nil, err
	}
	if err := v.checkGrowth(ctx, expanded, files, v.wanted(expanded, g)); err != nil {
		return nil, err
	}
	return v.planGrowth(expanded, g, pixels)
}

// ReplanGrowth plans an expansion that was checked before.
func (v *Validator) ReplanGrowth(g *Growth, pixels FilePixels) (*GrownPlan, error) {
	expanded, err := v.growthGraph(g)
	if err != nil {
		return nil, err
	}
	return v.planGrowth(expanded, g, pixels)
}

// wanted are the nodes of an expansion for whose sake it runs.
func (v *Validator) wanted(expanded *Graph, g *Growth) []string {
	return slices.Concat(v.outputs(expanded, nil), g.sources())
}

func (v *Validator) planGrowth(expanded *Graph, g *Growth, pixels FilePixels) (*GrownPlan, error) {
	b := &builder{g: expanded, classes: v.Classes, pixels: pixels, units: map[string]int{}, open: map[string]*draft{}}
	if err := b.visitAll(v.wanted(expanded, g)); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, CodeExpansion, "the expansion cannot be planned: %s", err)
	}
	for _, id := range v.outputs(expanded, nil) {
		b.plan.Nodes[b.units[id]].Output = true
	}
	p := &GrownPlan{Plan: b.plan, Outputs: make([][]Link, len(g.Calls))}
	for i, call := range g.Calls {
		for _, from := range call {
			unit := b.units[from.ID]
			if from.Slot < 0 || from.Slot >= p.Nodes[unit].slots {
				return nil, badGrowth("an output comes from slot %d of node %s, which it does not have", from.Slot, from.ID)
			}
			p.Outputs[i] = append(p.Outputs[i], Link{Unit: unit, Slot: from.Slot})
		}
	}
	return p, nil
}

func badGrowth(format string, args ...any) error {
	return fault.New(fault.Invalid, CodeExpansion, "the node expands to a graph that cannot run: "+format, args...)
}

// sources are the nodes that the outputs of the expanded node come from, in order.
func (g *Growth) sources() []string {
	var ids []string
	for _, call := range g.Calls {
		for _, from := range call {
			ids = append(ids, from.ID)
		}
	}
	return ids
}

// growthGraph is the expansion as a graph.
func (v *Validator) growthGraph(g *Growth) (*Graph, error) {
	out := &Graph{byID: map[string]*Node{}}
	for i := range g.Given {
		out.Nodes = append(out.Nodes, &Node{ID: g.Given[i].ID, HasInputs: true, given: &g.Given[i]})
	}
	for _, n := range g.Nodes {
		class, known := v.Classes.Lookup(n.Class)
		switch {
		case !known:
			return nil, badGrowth("class %.64q is not known", n.Class)
		case class.Partner:
			return nil, badGrowth("class %s runs a model of a partner; such nodes stand in the prompt itself", n.Class)
		case !named(n.ID) || !named(n.Display):
			return nil, badGrowth("an id is longer than %d bytes", maxName)
		}
		add := &Node{ID: n.ID, Class: n.Class, HasInputs: true}
		for _, name := range sortedKeys(n.Inputs) {
			add.Inputs = append(add.Inputs, Given{Name: name, Value: n.Inputs[name]})
		}
		out.Nodes = append(out.Nodes, add)
	}
	for _, n := range out.Nodes {
		if out.byID[n.ID] != nil {
			return nil, badGrowth("node %s is there twice", n.ID)
		}
		out.byID[n.ID] = n
	}
	return out, nil
}

// checkGrowth validates what an expansion needs to run. The first broken rule refuses it.
func (v *Validator) checkGrowth(ctx context.Context, g *Graph, files node.Files, wanted []string) error {
	w := &walk{ctx: ctx, v: v, g: g, files: remember(files), results: map[string]*result{}, places: map[string]int{}}
	for _, id := range wanted {
		if g.byID[id] == nil {
			return badGrowth("an output comes from node %.64q, which is not there", id)
		}
		if w.output(id) || w.broken != nil {
			continue
		}
		for _, e := range w.errors([]string{id}) {
			return badGrowth("node %s (%s): %s: %s", e.Node, e.Class, e.Errors[0].Message, e.Errors[0].Details)
		}
		return badGrowth("node %s cannot run", id)
	}
	return w.broken
}
