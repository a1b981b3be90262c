package graph

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
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
	Given     string          `json:"given,omitempty"`  // reference of a value that was handed to an expansion: nothing runs
	Digest    string          `json:"digest,omitempty"` // of that value's content
	Cost      time.Duration   `json:"-"`                // bound on the run time; estimates are no part of what a plan is
	Pixels    int64           `json:"-"`                // bound on the largest value

	slots int // how many outputs it has
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

// FilePixels returns the pixels of a file that a graph names, width × height × frames, 0 when unknown.
type FilePixels func(name string) int64

// BuildPlan plans a graph that was validated for these outputs. pixels, which may be nil, lets it
// bound the cost of loading files. A graph that does not fit the classes is fault.Invalid: the
// classes changed since.
func BuildPlan(g *Graph, classes *node.Registry, outputs []string, pixels FilePixels) (*Plan, error) {
	b := &builder{g: g, classes: classes, pixels: pixels, units: map[string]int{}, open: map[string]*draft{}}
	if err := b.visitAll(outputs); err != nil {
		return nil, err
	}
	for _, id := range outputs {
		b.plan.Nodes[b.units[id]].Output = true
	}
	return &b.plan, nil
}

func (b *builder) visitAll(ids []string) error {
	for _, id := range ids {
		if err := b.visit(id); err != nil {
			return err
		}
	}
	return nil
}

type builder struct {
	g       *Graph
	classes *node.Registry
	plan    Plan
	units   map[string]int
	pixels  FilePixels
	open    map[string]*draft // by node, on the path that is being visited
}

// draft is a node whose inputs are sorted out but which is not planned yet.
type draft struct {
	class     *node.Class
	constants node.Args
	links     []linkedInput
	loaded    int64 // pixels of the largest file that a constant names
	given     *Handed
	next      int // first link whose node may not be planned yet
}

// linkedInput is an input that comes from another node.
type linkedInput struct {
	name string
	from reference
	lazy bool
}

// visit adds a node behind everything it needs, without recursion: the path is kept on a stack.
func (b *builder) visit(id string) error {
	for stack := []string{id}; len(stack) > 0; {
		top := stack[len(stack)-1]
		if _, done := b.units[top]; done {
			stack = stack[:len(stack)-1]
			continue
		}
		d, err := b.draft(top)
		if err != nil {
			return err
		}
		next, err := b.unplanned(d)
		switch {
		case err != nil:
			return err
		case next != "":
			stack = append(stack, next)
		default:
			if err := b.add(top, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// draft sorts out the inputs of a node, once.
func (b *builder) draft(id string) (*draft, error) {
	if d, ok := b.open[id]; ok {
		return d, nil
	}
	n, ok := b.g.byID[id]
	if !ok {
		return nil, fault.New(fault.Invalid, CodeInvalid, "the graph has no node %q", id)
	}
	class, ok := n.classIn(b.classes)
	if !ok {
		return nil, fault.New(fault.Invalid, CodeInvalid, "class %s is not known", n.Class)
	}
	d := &draft{class: class, constants: node.Args{}}
	if n.given != nil {
		d.given, d.loaded = n.given, n.given.Pixels
	}
	if err := d.fill(n, b.pixels); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, CodeInvalid, "node %q does not fit its class", id)
	}
	d.settleLazy()
	b.open[id] = d
	return d, nil
}

func (d *draft) fill(n *Node, pixels FilePixels) error {
	for _, in := range n.declared(d.class) {
		raw, given := n.Input(in.Name)
		if !given || in.Section == node.Hidden {
			continue
		}
		if ref, _, good := asReference(raw); good {
			d.links = append(d.links, linkedInput{name: in.Name, from: ref, lazy: in.Lazy})
			continue
		}
		if inner, ok := wrapped(raw); ok {
			raw = inner
		}
		value, err := convert(in.Type, raw)
		if err != nil {
			return fmt.Errorf("input %s: %w", in.Name, err)
		}
		d.constants[in.Name] = value
		if name, ok := value.(string); ok && in.Folder != "" && pixels != nil {
			d.loaded = min(max(d.loaded, pixels(name)), maxPixels)
		}
	}
	return nil
}

// settleLazy decides now which lazy inputs are needed, when that depends on constants only: the
// others are dropped with all that leads to them alone.
func (d *draft) settleLazy() {
	linked := func(l linkedInput) bool { return !l.lazy }
	if d.class.LazyNeeds == nil || d.class.InputIsList || slices.ContainsFunc(d.links, linked) {
		return
	}
	needed := d.class.LazyNeeds(d.constants)
	d.links = slices.DeleteFunc(d.links, func(l linkedInput) bool { return !slices.Contains(needed, l.name) })
	for i := range d.links {
		d.links[i].lazy = false
	}
}

// unplanned returns the first node that is needed and the plan does not have yet, "" if there is none.
func (b *builder) unplanned(d *draft) (string, error) {
	for ; d.next < len(d.links); d.next++ {
		from := d.links[d.next].from.node
		if _, done := b.units[from]; done {
			continue
		}
		if b.open[from] != nil {
			return "", fault.New(fault.Invalid, CodeInvalid, "node %q is part of a cycle", from)
		}
		return from, nil
	}
	return "", nil
}

func (b *builder) add(id string, d *draft) error {
	pn := PlanNode{ID: id, Class: d.class.Name, Constants: d.constants, Links: map[string]Link{}, slots: len(d.class.Outputs)}
	if d.given != nil {
		pn.Given, pn.Digest = d.given.Ref, d.given.Digest
	}
	upstream := d.loaded
	for _, l := range d.links {
		unit := b.units[l.from.node]
		if l.from.slot < 0 || l.from.slot >= b.plan.Nodes[unit].slots {
			return fault.New(fault.Invalid, CodeInvalid, "node %q has no output %d", l.from.node, l.from.slot)
		}
		pn.Links[l.name] = Link{Unit: unit, Slot: l.from.slot}
		upstream = max(upstream, b.plan.Nodes[unit].Pixels)
		if l.lazy {
			pn.Lazy = append(pn.Lazy, l.name)
		}
	}
	pn.estimate(d.class, upstream)
	b.units[id] = len(b.plan.Nodes)
	b.plan.Nodes = append(b.plan.Nodes, pn)
	delete(b.open, id)
	return nil
}

// maxPixels bounds estimates. No value is that large, and products with it overflow no integer.
const maxPixels = 1 << 40

// estimate bounds a node's values and run time from its constants and what comes in.
func (n *PlanNode) estimate(class *node.Class, upstream int64) {
	n.Pixels = upstream
	if class.Pixels != nil {
		n.Pixels = class.Pixels(n.Constants, upstream)
	}
	if n.Pixels < 0 || n.Pixels > maxPixels { // negative: the product of constants overflowed
		n.Pixels = maxPixels
	}
	if class.Cost != nil {
		n.Cost = class.Cost(n.Constants, max(upstream, n.Pixels))
	}
}
