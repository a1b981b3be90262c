package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Plan is the list of nodes that the outputs need, directly or through lazy inputs. Each node follows the nodes that
// it reads, in the order in which ComfyUI runs them. The same graph, classes and outputs always give the same plan.
type Plan struct {
	Nodes []PlanNode `json:"nodes"`
}

// PlanNode is a node of a plan. Its index in the plan is its unit.
type PlanNode struct {
	ID        string          `json:"id"`
	Class     string          `json:"class"`
	Constants node.Args       `json:"constants,omitempty"` // converted
	Links     map[string]Link `json:"links,omitempty"`
	Lazy      []string        `json:"lazy,omitempty"` // linked inputs that are evaluated only on demand
	Output    bool            `json:"output,omitempty"`
	Given     string          `json:"given,omitempty"`   // reference of a given value of an expansion: nothing runs
	Digest    string          `json:"digest,omitempty"`  // digest of the given value's content
	Cost      time.Duration   `json:"-"`                 // bound on the run time; estimates are not part of a plan's identity
	Pixels    int64           `json:"-"`                 // bound on the pixels of the largest value
	Waits     bool            `json:"-"`                 // the node waits for a partner's model and needs hardly any processor
	Segment   *Segment        `json:"segment,omitempty"` // a part of the graph that one server runs, in place of a node

	slots int  // number of declared outputs
	more  bool // it may have more
}

// Segment is a part of a plan that one ComfyUI server runs as one prompt. The rest of the plan sees it as one unit:
// its links are the inputs from outside, in the order of Inputs and named by number; its outputs are the values that
// nodes outside read, in the order of Outputs.
type Segment struct {
	Nodes   []PlanNode   `json:"nodes"` // each after the nodes that it reads; links name indices within Nodes
	Inputs  []SegmentIn  `json:"inputs,omitempty"`
	Outputs []SegmentOut `json:"outputs,omitempty"`
}

// Key identifies the segment within a run by its nodes. A run that is planned again may number its units differently,
// and must still find the prompts that it has sent for this segment. The key is not negative and fits into 31 bits.
func (s *Segment) Key() (int, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return 0, fmt.Errorf("encode a segment: %w", err)
	}
	sum := sha256.Sum256(raw)
	return int(binary.BigEndian.Uint32(sum[:]) >> 1), nil
}

// SegmentIn is an input of a node of a segment that reads a value from outside the segment.
type SegmentIn struct {
	Node  int       `json:"node"` // index of the node in Nodes
	Input string    `json:"input"`
	Type  node.Type `json:"type"`
	From  string    `json:"from"` // name of the segment's link
}

// SegmentOut is an output of a node of a segment that nodes outside the segment read.
type SegmentOut struct {
	Node int       `json:"node"` // index of the node in Nodes
	Slot int       `json:"slot"`
	Type node.Type `json:"type"`
}

// Size returns the number of nodes of the graph in the plan, including those of segments.
func (p *Plan) Size() int {
	size := 0
	for i := range p.Nodes {
		if s := p.Nodes[i].Segment; s != nil {
			size += len(s.Nodes)
		} else {
			size++
		}
	}
	return size
}

// Link is the source of an input.
type Link struct {
	Unit int `json:"unit"`
	Slot int `json:"slot"`
}

// IsLazy reports whether the linked input is evaluated only on demand.
func (n *PlanNode) IsLazy(input string) bool { return slices.Contains(n.Lazy, input) }

// LinkNames returns the names of the linked inputs in order.
func (n *PlanNode) LinkNames() []string { return sortedKeys(n.Links) }

// FilePixels returns the pixels of a file that a graph names: width × height × frames, or 0 when unknown.
type FilePixels func(name string) int64

// BuildPlan plans a graph that was validated for these outputs. With pixels, which may be nil, it bounds the cost of
// loading files. A graph that does not fit the classes, because they have changed since the validation, is
// fault.Invalid.
func BuildPlan(g *Graph, classes *node.Registry, outputs []string, pixels FilePixels) (*Plan, error) {
	b := &builder{g: g, classes: classes, pixels: pixels, units: map[string]int{}, open: map[string]*draft{}}
	if err := b.visitAll(outputs); err != nil {
		return nil, err
	}
	b.order(outputs)
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
	open    map[string]*draft // drafts of the nodes on the path that is being visited
}

// draft is a node whose inputs have been read and which is not in the plan yet.
type draft struct {
	class     *node.Class
	constants node.Args
	links     []linkedInput
	loaded    int64 // pixels of the largest file named by a constant
	given     *GivenValue
	next      int // index of the first link whose node may not be planned yet
}

// linkedInput is an input that comes from another node.
type linkedInput struct {
	name string
	from reference
	lazy bool
}

// visit adds a node after all nodes that it needs. It keeps its own stack, since a graph may be thousands of nodes
// deep.
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
		next, err := b.nextUnplanned(d)
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

// draft reads the inputs of a node, once.
func (b *builder) draft(id string) (*draft, error) {
	if d, ok := b.open[id]; ok {
		return d, nil
	}
	n, ok := b.g.byID[id]
	if !ok {
		return nil, fault.New(fault.Invalid, fault.CodeInvalidWorkflow, "the graph has no node %q", id)
	}
	class, ok := n.classIn(b.classes)
	if !ok {
		return nil, fault.New(fault.Invalid, fault.CodeInvalidWorkflow, "class %s is unknown", n.Class)
	}
	d := &draft{class: class, constants: node.Args{}}
	if n.given != nil {
		d.given, d.loaded = n.given, n.given.Pixels
	}
	if err := d.fill(n, b.pixels); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidWorkflow, "node %q does not fit its class", id)
	}
	d.dropUnneededLazy()
	b.open[id] = d
	return d, nil
}

func (d *draft) fill(n *Node, pixels FilePixels) error {
	if d.class.Remote {
		d.fillRemote(n)
		return nil
	}
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
		if name, ok := value.(string); ok && in.Folder != "" && !in.Directory && pixels != nil {
			d.loaded = min(max(d.loaded, pixels(name)), maxPixels)
		}
	}
	return nil
}

// fillRemote takes the inputs of a node of a server unchanged: the server converts them.
func (d *draft) fillRemote(n *Node) {
	links := map[string]bool{}
	for _, in := range n.declared(d.class) {
		raw, _ := n.Input(in.Name)
		if ref, _, good := asReference(raw); good {
			links[in.Name] = true
			d.links = append(d.links, linkedInput{name: in.Name, from: ref})
		}
	}
	for _, in := range n.Inputs {
		if !links[in.Name] {
			d.constants[in.Name] = in.Value
		}
	}
}

// dropUnneededLazy drops lazy inputs that are not needed, if only constants decide this. Nodes that are read only by
// dropped inputs are then not planned.
func (d *draft) dropUnneededLazy() {
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

// nextUnplanned returns the first needed node that is not in the plan yet, or "".
func (b *builder) nextUnplanned(d *draft) (string, error) {
	for ; d.next < len(d.links); d.next++ {
		from := d.links[d.next].from.node
		if _, done := b.units[from]; done {
			continue
		}
		if b.open[from] != nil {
			return "", fault.New(fault.Invalid, fault.CodeInvalidWorkflow, "node %q is part of a cycle", from)
		}
		return from, nil
	}
	return "", nil
}

func (b *builder) add(id string, d *draft) error {
	pn := PlanNode{
		ID: id, Class: d.class.Name, Constants: d.constants, Links: map[string]Link{}, slots: len(d.class.Outputs), more: d.class.MoreOutputs,
	}
	if d.given != nil {
		pn.Given, pn.Digest = d.given.Ref, d.given.Digest
	}
	upstream := d.loaded
	for _, l := range d.links {
		unit := b.units[l.from.node]
		slot := l.from.slot
		if slot < 0 { // counted from the last output
			slot += b.plan.Nodes[unit].slots
		}
		if slot < 0 || slot >= b.plan.Nodes[unit].slots && !b.plan.Nodes[unit].more {
			return fault.New(fault.Invalid, fault.CodeInvalidWorkflow, "node %q has no output %d", l.from.node, l.from.slot)
		}
		pn.Links[l.name] = Link{Unit: unit, Slot: slot}
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

// maxPixels bounds estimates. No value is that large, and products with it do not overflow.
const maxPixels = 1 << 40

// estimate bounds a node's values and run time from its constants and the pixels of its inputs, and sets n.Waits.
func (n *PlanNode) estimate(class *node.Class, upstream int64) {
	n.Pixels, n.Waits = upstream, class.Partner
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
