package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// maxExpansionBytes bounds the stored data of an expansion besides its values. The class chooses the constants.
const maxExpansionBytes = 4 << 20

// expansionDoc is the state of an expanded node between the activity in which it expanded and the one that ends it.
type expansionDoc struct {
	graph.Expansion
	UI       []map[string][]json.RawMessage `json:"ui,omitempty"`       // by call
	Messages []string                       `json:"messages,omitempty"` // by call: the message of the blocker that prevented the call
	Files    []job.OutputFile               `json:"files,omitempty"`
	Log      []string                       `json:"log,omitempty"`
	Millis   int64                          `json:"millis,omitempty"`
}

// expand stores the graph that a node returned. The node ends when that graph has run.
func (c *chain) expand(ctx context.Context, unit int, pn *graph.PlanNode, inv node.Invocation, res node.Result,
	doc expansionDoc,
) (bool, error) {
	shape, err := c.expansion(ctx, unit, pn, inv, res, doc)
	if fault.KindOf(err) == fault.Internal && err != nil {
		return false, err // an error of the store, or a bug
	}
	if err != nil {
		return c.failed(ctx, unit, pn, inv, err)
	}
	c.result.Units = append(c.result.Units, graph.UnitResult{Unit: unit, Status: graph.Expanded, Expansion: shape})
	c.current = nil
	return true, c.events.flushIfDue(ctx, false)
}

func (c *chain) expansion(ctx context.Context, unit int, pn *graph.PlanNode, inv node.Invocation, res node.Result,
	doc expansionDoc,
) (*graph.ExpansionShape, error) {
	if err := c.mayExpand(unit); err != nil {
		return nil, err
	}
	doc.Mapped = inv.Mapped()
	e := &expander{chain: c, parent: pn.ID, doc: &doc}
	for i, call := range res.Calls {
		if err := e.add(ctx, i, call); err != nil {
			return nil, err
		}
	}
	if err := c.distinct(doc.Nodes); err != nil {
		return nil, err
	}
	validator := graph.Validator{Classes: c.plan.classes}
	plan, err := validator.PlanExpansion(ctx, &doc.Expansion, c.g.Files(c.params.RunRef, ""), c.g.filePixels(ctx, c.params.RunRef))
	if err != nil {
		return nil, err
	}
	c.expanded, c.added = c.expanded+1, c.added+len(plan.Nodes)
	if most := c.g.Limits.Most(); len(c.plan.Nodes)+c.added > most {
		return nil, fault.New(fault.Exhausted, fault.CodeExpansionInvalid, "the workflow and its expansions have more than %d nodes", most)
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("encode an expansion: %w", err)
	}
	if len(raw) > maxExpansionBytes {
		return nil, fault.New(fault.Exhausted, fault.CodeExpansionInvalid, "the constants of an expansion are longer than %d bytes",
			maxExpansionBytes)
	}
	ref, err := c.g.Values.PutDoc(ctx, c.params.Job, raw)
	if err != nil {
		return nil, err
	}
	return &graph.ExpansionShape{
		Units: plan.Shape().Units, Reads: plan.Reads(), Refs: append([]string{ref}, e.refs...), Cached: c.cacheHits(ctx, unit, &doc, plan),
	}, nil
}

// mayExpand refuses an expansion beyond the bounds of a run.
func (c *chain) mayExpand(unit int) error {
	switch {
	case len(c.plan.expanded)+c.expanded >= graph.MaxExpansions:
		return fault.New(fault.Exhausted, fault.CodeExpansionInvalid, "more than %d nodes of the workflow expand", graph.MaxExpansions)
	case c.plan.positions[unit].depth() >= graph.MaxNesting:
		return fault.New(fault.Exhausted, fault.CodeExpansionInvalid, "expansions nest deeper than %d", graph.MaxNesting)
	}
	return nil
}

// distinct refuses nodes whose ids the run already has: clients choose the ids of the nodes of a prompt.
func (c *chain) distinct(nodes []graph.ExpansionNode) error {
	taken := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		taken[n.ID] = true
	}
	for i := range c.plan.Nodes {
		if id := c.plan.Nodes[i].ID; taken[id] {
			return fault.New(fault.Invalid, fault.CodeExpansionInvalid,
				"the node expands to a node %s, but the workflow already has a node with this id", id)
		}
	}
	return nil
}

// expander records the calls of a node that expands. Ids are those of the self-hosted runtime:
// "<parent>.<call>.<graph>.<number>", with one graph for each call.
type expander struct {
	*chain
	parent string
	doc    *expansionDoc
	refs   []string // references of stored values
}

func (e *expander) add(ctx context.Context, call int, res node.Result) error {
	prefix := e.parent + "." + strconv.Itoa(call) + ".0."
	if res.Expand != nil {
		for i, n := range res.Expand.Nodes {
			inner := graph.ExpansionNode{
				ID: prefix + strconv.Itoa(i+1), Class: n.Class, Display: n.Display,
				Inputs: make(map[string]any, len(n.Inputs)),
			}
			for _, name := range slices.Sorted(maps.Keys(n.Inputs)) {
				input, err := e.input(ctx, prefix, n.Inputs[name])
				if err != nil {
					return err
				}
				inner.Inputs[name] = input
			}
			e.doc.Nodes = append(e.doc.Nodes, inner)
		}
	}
	outputs := make([]graph.ExpansionValue, len(res.Outputs))
	for i, value := range res.Outputs {
		var err error
		if outputs[i], err = e.source(ctx, prefix, value); err != nil {
			return err
		}
	}
	e.doc.Calls, e.doc.Messages = append(e.doc.Calls, outputs), append(e.doc.Messages, res.Message)
	return e.show(res.UI)
}

func (e *expander) input(ctx context.Context, prefix string, value node.Value) (any, error) {
	if constant, ok := graph.Constant(value); ok {
		return constant, nil
	}
	from, err := e.source(ctx, prefix, value)
	return from.Link(), err
}

// source returns the source of a value: a node of the expansion, or a value that it stores.
func (e *expander) source(ctx context.Context, prefix string, value node.Value) (graph.ExpansionValue, error) {
	if from, ok := value.(node.From); ok {
		return graph.ExpansionValue{ID: prefix + strconv.Itoa(from.Node), Slot: from.Slot}, nil
	}
	ref, err := e.g.Values.Put(ctx, e.params.Job, value)
	if err != nil {
		return graph.ExpansionValue{}, err
	}
	for _, g := range e.doc.Given {
		if g.Ref == ref {
			return graph.ExpansionValue{ID: g.ID}, nil
		}
	}
	given := graph.GivenValue{
		ID: e.parent + ".value." + strconv.Itoa(len(e.doc.Given)), Ref: ref, Type: typeOf(value),
		Pixels: pixelsOf(value),
	}
	if e.g.Cache != nil {
		if given.Digest, err = nodecache.Digest(value); err != nil {
			return graph.ExpansionValue{}, err
		}
	}
	e.doc.Given = append(e.doc.Given, given)
	e.refs = append(e.refs, ref)
	return graph.ExpansionValue{ID: given.ID}, nil
}

func (e *expander) show(ui map[string][]any) error {
	shown := make(map[string][]json.RawMessage, len(ui))
	for key, values := range ui {
		for _, value := range values {
			raw, err := json.Marshal(value)
			if err != nil {
				return fmt.Errorf("encode the UI output of node %s: %w", e.parent, err)
			}
			shown[key] = append(shown[key], raw)
		}
	}
	e.doc.UI = append(e.doc.UI, shown)
	return nil
}

// typeOf returns the type for which a value is checked.
func typeOf(value node.Value) node.Type {
	switch value.(type) {
	case *raster.Image:
		return node.Image
	case *raster.Mask:
		return node.Mask
	case *media.Sound:
		return node.Audio
	case *media.Video:
		return node.Video
	case *layers.Stack:
		return node.Layers
	}
	return node.Any
}

func pixelsOf(value node.Value) int64 {
	switch v := value.(type) {
	case interface{ Pixels() int64 }:
		return v.Pixels()
	case node.List:
		var most int64
		for _, element := range v {
			most = max(most, pixelsOf(element))
		}
		return most
	}
	return 0
}

// readPassedValue reads a value that an expanded node passed to its expansion. If the value is lost, the run is planned again.
func (c *chain) readPassedValue(ctx context.Context, unit int, ref string) ([]node.Value, bool, error) {
	value, err := c.g.Values.Get(ctx, ref)
	if fault.CodeOf(err) == fault.CodeValueMissing {
		return nil, false, planChanged(otherVersion)
	}
	if err != nil {
		return nil, false, err
	}
	c.values[unit] = []node.Value{value}
	return c.values[unit], true, nil
}

// finishExpanded ends an expanded node with the results of its graph.
func (c *chain) finishExpanded(ctx context.Context, unit int, pn *graph.PlanNode, expanded *expandedNode) (bool, error) {
	class, ok := c.plan.classes.Lookup(pn.Class)
	if !ok {
		return false, fault.New(fault.Invalid, "", "this worker does not have the class %s", pn.Class)
	}
	values, goesOn, err := c.readyInputs(ctx, unit, pn)
	if values == nil {
		return goesOn, err
	}
	c.current, c.log = c.plan.rootOf(unit), &nodeLog{}
	calls := make([]node.Result, len(expanded.doc.Calls))
	for i := range calls {
		calls[i] = node.Result{UI: expanded.uiOutput(i), Message: expanded.doc.Messages[i]}
		for slot := range class.Outputs {
			calls[i].Outputs = append(calls[i].Outputs, values[outputName(i, slot)])
		}
	}
	res := node.Join(class, expanded.doc.Mapped, calls)
	ui, err := c.uiOutput(pn.ID, res, expanded.doc.Files)
	if err != nil {
		return c.failed(ctx, unit, pn, node.Invocation{Class: class}, err)
	}
	event := job.NodeExecutedV1{
		Run: c.params.Run, Node: pn.ID, Class: pn.Class, UI: ui, Files: expanded.doc.Files, Millis: expanded.doc.Millis, Log: expanded.doc.Log,
		Blocked: res.Message, Within: c.plan.positions[unit].expansion(),
	}
	return true, c.executed(ctx, unit, res, event, c.g.cachedFrom())
}

// outputName names an output of a call in the links of an expanded node.
func outputName(call, slot int) string { return strconv.Itoa(call) + "." + strconv.Itoa(slot) }

// decodeExpansion decodes a document that expand stored.
func decodeExpansion(raw []byte) (*expansionDoc, error) {
	var doc expansionDoc
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("decode an expansion: %w", err)
	}
	return &doc, nil
}

// uiOutput returns the UI output of a call before it expanded.
func (n *expandedNode) uiOutput(call int) map[string][]any {
	if call >= len(n.doc.UI) || len(n.doc.UI[call]) == 0 {
		return nil
	}
	out := make(map[string][]any, len(n.doc.UI[call]))
	for key, values := range n.doc.UI[call] {
		for _, value := range values {
			out[key] = append(out[key], value)
		}
	}
	return out
}

// keyless reports whether the result of an expansion must not be cached: a node of it saves or loads files, or has
// different results for equal inputs.
func keyless(classes *node.Registry, nodes []graph.PlanNode) bool {
	return slices.ContainsFunc(nodes, func(n graph.PlanNode) bool {
		class, ok := classes.Lookup(n.Class)
		return n.Given == "" && (!ok || class.Uncached || class.NotIdempotent || class.OutputNode || class.Fingerprint != nil ||
			nodecache.AsksForID(class))
	})
}
