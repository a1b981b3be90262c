package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Validator checks graphs against a set of classes.
type Validator struct{ Classes *node.Registry }

// Validate checks a graph by ComfyUI's rules, in ComfyUI's order and with its messages. files are the files of the
// caller's account. targets, if not nil, restricts the outputs to run. The error is nil if at least one output can run,
// a *PromptError if none can, and any other error if a check could not be made.
func (v *Validator) Validate(ctx context.Context, g *Graph, files node.Files, targets []string) (*Accepted, error) {
	if refused := v.checkClasses(g); refused != nil {
		return nil, refused
	}
	outputs := v.outputs(g, targets)
	if len(outputs) == 0 {
		return nil, noOutputs()
	}
	w := &walk{ctx: ctx, v: v, g: g, files: remember(files), results: map[string]*result{}, places: map[string]int{}}
	var good, bad []string
	for _, id := range outputs {
		if w.output(id) {
			good = append(good, id)
		} else {
			bad = append(bad, id)
		}
	}
	if w.failed != nil {
		return nil, w.failed
	}
	errs := w.errors(bad)
	if len(good) == 0 {
		return nil, outputsFailed(bad, errs)
	}
	return &Accepted{Graph: g, Outputs: good, NodeErrors: errs, count: len(w.reachable(good))}, nil
}

func (v *Validator) checkClasses(g *Graph) *PromptError {
	for _, n := range g.Nodes {
		if n.Class == "" {
			return missingType(n)
		}
		switch class, known := v.Classes.Lookup(n.Class); {
		case !known:
			return unknownType(n)
		case len(class.Lacks) > 0:
			return lackingType(n, class.Lacks)
		}
	}
	return nil
}

func (v *Validator) outputs(g *Graph, targets []string) []string {
	wanted := map[string]bool{}
	for _, id := range targets {
		if _, ok := g.byID[id]; ok {
			wanted[id] = true
		}
	}
	var ids []string
	for _, n := range g.Nodes {
		class, _ := n.classIn(v.Classes)
		if class.OutputNode && (targets == nil || wanted[n.ID]) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// result is the verdict on a node. errs are the node's own errors; valid is also false if a node that it reads is
// invalid.
type result struct {
	valid bool
	errs  []InputError
}

// walk validates nodes depth first, each once. It keeps its own stack, so that a chain may have any length.
type walk struct {
	ctx     context.Context //nolint:containedctx // lives for one call of Validate
	v       *Validator
	g       *Graph
	files   node.Files
	results map[string]*result
	order   []string // in which the nodes were settled
	stack   []*frame
	places  map[string]int // index on the stack, by node
	cyclic  int            // nodes in the reported cycles
	failed  error          // error of a check that could not be made; it replaces the verdict
}

// frame is a node on the path from an output.
type frame struct {
	node   *Node
	class  *node.Class
	links  []linked // in the order of the declared inputs
	next   int
	result *result
	raised error // the exception that ComfyUI raises for this node; nil = none
	cyclic bool  // the node is part of a reported cycle
}

// linked is a valid link of an input.
type linked struct {
	input node.Input
	value any
	from  string
}

// output validates an output node and all nodes that it needs.
func (w *walk) output(id string) bool {
	if r, done := w.results[id]; done {
		return r.valid
	}
	w.push(id)
	for len(w.stack) > 0 {
		f := w.stack[len(w.stack)-1]
		if f.next == len(f.links) {
			w.pop()
			continue
		}
		link := f.links[f.next]
		f.next++
		w.follow(f, link)
	}
	return w.results[id].valid
}

func (w *walk) push(id string) {
	n := w.g.byID[id]
	class, _ := n.classIn(w.v.Classes)
	f := &frame{node: n, class: class, result: &result{valid: true}}
	w.places[id] = len(w.stack)
	w.stack = append(w.stack, f)
	w.checkInputs(f)
}

// follow goes to the node of a link, unless its verdict is known or it is on the path already.
func (w *walk) follow(f *frame, link linked) {
	if r, done := w.results[link.from]; done {
		f.result.valid = f.result.valid && r.valid
		return
	}
	if place, open := w.places[link.from]; open {
		w.cycle(place)
		return
	}
	w.push(link.from)
}

// Bounds of the reports of cycles. Without them, the reports of many long cycles could grow with the square of the
// size of the graph.
const (
	maxCyclic   = 10_000 // nodes listed in all reports of a graph; further reports list
	shortCyclic = 3      // this number of nodes and leave out the others
	maxBlamed   = 32     // a cycle of up to so many nodes is reported at each of them, a longer one at its first node
)

// cycle reports the cycle that begins at an index of the path, unless the node at that index is already part of a
// reported cycle.
func (w *walk) cycle(from int) {
	path := w.stack[from:]
	path[len(path)-1].result.valid = false
	if path[0].cyclic {
		return
	}
	for _, f := range path {
		f.result.valid, f.cyclic = false, true
	}
	listed := path
	if w.cyclic += len(path); w.cyclic > maxCyclic {
		listed = path[:min(shortCyclic, len(path))]
	}
	var names, ids []string
	for _, f := range listed {
		names = append(names, fmt.Sprintf("%s (%s)", f.node.ID, f.node.Class))
		ids = append(ids, f.node.ID)
	}
	if len(listed) < len(path) {
		names = append(names, "…")
	}
	blamed := path
	if len(path) > maxBlamed {
		blamed = path[:1]
	}
	details := strings.Join(append(names, names[0]), " -> ")
	for _, f := range blamed {
		f.result.errs = append(f.result.errs, InputError{
			Type: "dependency_cycle", Message: "Dependency cycle detected", Details: details,
			ExtraInfo: map[string]any{"node_id": f.node.ID, "cycle_nodes": ids},
		})
	}
}

// pop decides on the node on top of the stack and passes the verdict to the node below.
func (w *walk) pop() {
	f := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	delete(w.places, f.node.ID)
	if f.raised == nil {
		w.custom(f)
	}
	var below *frame
	if len(w.stack) > 0 {
		below = w.stack[len(w.stack)-1]
	}
	if f.raised != nil {
		f.result.valid, f.result.errs = false, []InputError{raisedError(f, below)}
	}
	w.results[f.node.ID] = f.result
	w.order = append(w.order, f.node.ID)
	if below != nil && !f.result.valid {
		below.result.valid = false
	}
}

func (f *frame) fail(e InputError) {
	f.result.valid = false
	f.result.errs = append(f.result.errs, e)
}

// raisedError returns the error for a link to a node or slot that does not exist. For an inner node, the error names
// the link by which the walk reached the node.
func raisedError(f, below *frame) InputError {
	kind, _, _ := strings.Cut(f.raised.Error(), ": ")
	text := strings.TrimPrefix(f.raised.Error(), kind+": ")
	extra := map[string]any{"exception_type": kind, "traceback": []string{}}
	if below == nil {
		return InputError{Type: "exception_during_validation", Message: "Exception when validating node", Details: text, ExtraInfo: extra}
	}
	link := below.links[below.next-1]
	extra["input_name"], extra["linked_node"] = link.input.Name, link.value
	extra["input_config"], extra["exception_message"] = below.config(link.input, link.input.Options), text
	return InputError{
		Type: "exception_during_inner_validation", Message: "Exception when validating inner node", Details: text,
		ExtraInfo: extra,
	}
}

// custom runs the class's own check of the constants.
func (w *walk) custom(f *frame) {
	if f.class.Check == nil || len(f.result.errs) > 0 {
		return
	}
	args := node.Args{}
	for _, in := range f.node.declared(f.class) {
		raw, given := f.node.Input(in.Name)
		if _, isList, _ := asReference(raw); !given || isList {
			continue
		}
		if list, ok := wrapped(raw); ok {
			raw = list
		}
		if value, err := convert(in.Type, raw); err == nil {
			args[in.Name] = value
		}
	}
	err := f.class.Check(w.ctx, w.files, args)
	if err == nil {
		return
	}
	var public *fault.Error
	if k := fault.KindOf(err); !errors.As(err, &public) || k == fault.Internal || k == fault.Unavailable || k == fault.Canceled {
		w.failed = fmt.Errorf("check node %s: %w", f.node.ID, err)
		return
	}
	if public.Exception != "" {
		sentence, _, _ := strings.Cut(public.Message, "\n")
		f.raised = fmt.Errorf("%s: %s", public.Exception, sentence)
		return
	}
	for _, name := range f.checked() {
		f.fail(InputError{
			Type: "custom_validation_failed", Message: "Custom validation failed for node",
			Details: name + " - " + public.Message, ExtraInfo: map[string]any{"input_name": name},
		})
	}
}

// checked names the inputs that a failed check is reported for: those that the check reads and the node gives.
func (f *frame) checked() []string {
	var names []string
	for _, name := range f.class.Checked {
		if _, given := f.node.Input(name); given {
			names = append(names, name)
		}
	}
	if len(names) == 0 && len(f.class.Inputs) > 0 {
		names = []string{f.class.Inputs[0].Name}
	}
	return names
}

// Bounds of dependent_outputs in errors.
const (
	maxDependents    = 100    // for each node
	maxAllDependents = 50_000 // in total, but at least one for each node
)

// errors lists the nodes with errors that the failed outputs need, in the order in which they were found.
func (w *walk) errors(bad []string) NodeErrors {
	var errs NodeErrors
	for _, id := range w.order {
		if r := w.results[id]; len(r.errs) > 0 {
			errs = append(errs, &NodeError{Node: id, Class: w.g.byID[id].Class, Errors: r.errs})
		}
	}
	if len(errs) == 0 {
		return nil
	}
	dependents := w.dependents(bad, min(maxDependents, max(1, maxAllDependents/len(errs))))
	for _, e := range errs {
		e.DependentOutputs = dependents[e.Node]
	}
	return slices.DeleteFunc(errs, func(e *NodeError) bool { return len(e.DependentOutputs) == 0 })
}

// dependents returns, by node, the first failed outputs that need it, at most limit. A node that has reached the
// limit is not visited again, since the nodes that it needs have reached the limit too.
func (w *walk) dependents(bad []string, limit int) map[string][]string {
	needs := make(map[string][]string, len(w.order))
	for _, id := range w.order {
		needs[id] = w.dependencies(id)
	}
	out := make(map[string][]string, len(w.order))
	for _, output := range bad {
		for pending := []string{output}; len(pending) > 0; {
			id := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			known := out[id]
			if len(known) == limit || len(known) > 0 && known[len(known)-1] == output {
				continue
			}
			out[id] = append(known, output)
			pending = append(pending, needs[id]...)
		}
	}
	return out
}

// dependencies returns the nodes that a node reads.
func (w *walk) dependencies(id string) []string {
	n, ok := w.g.byID[id]
	if !ok {
		return nil
	}
	class, _ := n.classIn(w.v.Classes)
	var ids []string
	for _, in := range n.declared(class) {
		raw, _ := n.Input(in.Name)
		if ref, _, good := asReference(raw); good {
			ids = append(ids, ref.node)
		}
	}
	return ids
}

// reachable returns the set of the given nodes and all nodes that they need.
func (w *walk) reachable(ids []string) map[string]bool {
	seen := map[string]bool{}
	for pending := slices.Clone(ids); len(pending) > 0; {
		id := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if _, ok := w.g.byID[id]; ok && !seen[id] {
			seen[id] = true
			pending = append(pending, w.dependencies(id)...)
		}
	}
	return seen
}
