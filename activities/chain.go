package activities

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/telemetry"
)

// slowNode is the cost from which the start of a node is recorded before the node runs, so that watchers see it
// running.
const slowNode = 20 * time.Millisecond

// chain runs the nodes of one batch in order and passes values in memory.
type chain struct {
	g            *Graph
	plan         *planned
	params       RunParams
	attempt      int
	events       *recorder
	values       map[int][]node.Value // by unit and slot, of this batch and its inputs
	refs         map[int][]string     // references of inputs that were not read yet
	keep         map[int]bool
	turn         *turn // nil = no time limit
	current      *job.NodeRef
	log          *nodeLog    // of the current node
	partner      *partnerRun // of the node that ran last; nil = the node calls no model
	result       RunResult
	entries      []nodecache.Entry // entries of finished nodes for the cache
	brief        []nodecache.Entry // those of brief nodes
	expanded     int               // nodes of this batch that expanded
	added        int               // nodes of these expansions
	spent        map[int][]int     // by index in the batch: units that no later node of the batch reads
	done         *doneSegment      // segment whose lease ends with the next append, or nil
	firstSegment bool              // another activity runs a segment that does not get a server at once
}

func newChain(g *Graph, plan *planned, p RunParams, attempt int, events *recorder) *chain {
	c := &chain{
		g: g, plan: plan, params: p, attempt: attempt, events: events,
		values: map[int][]node.Value{}, refs: map[int][]string{}, keep: map[int]bool{},
	}
	for _, in := range p.Inputs {
		if len(in.Values) > 0 {
			c.refs[in.Unit] = in.Values
		}
	}
	for _, unit := range p.Keep {
		c.keep[unit] = true
	}
	c.spent = lastReads(plan, p.Units)
	return c
}

// lastReads returns, by index in a batch, the units whose values no later node of the batch reads. Without it, a
// chain of large pictures would keep all of them in memory until its end.
func lastReads(plan *planned, units []int) map[int][]int {
	last := make(map[int]int, len(units))
	for i, unit := range units {
		last[unit] = i
		for _, link := range plan.Nodes[unit].Links {
			last[link.Unit] = i
		}
	}
	spent := make(map[int][]int, len(units))
	for unit, i := range last {
		spent[i] = append(spent[i], unit)
	}
	return spent
}

// run runs the nodes of the batch until one fails. It skips nodes without an input. The caller must append the last
// events.
func (c *chain) run(ctx context.Context) error {
	for i, unit := range c.params.Units {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if c.over(ctx) {
			return c.storeForRest(ctx, c.params.Units[i:])
		}
		goesOn, err := c.step(ctx, unit)
		if err != nil || !goesOn {
			return err
		}
		for _, done := range c.spent[i] {
			delete(c.values, done)
		}
	}
	return nil
}

// step runs one node and reports whether the chain continues.
func (c *chain) step(ctx context.Context, unit int) (bool, error) {
	pn := &c.plan.Nodes[unit]
	if expanded := c.plan.expanded[unit]; expanded != nil {
		return c.finishExpanded(ctx, unit, pn, expanded)
	}
	if pn.Segment != nil {
		return c.stepSegment(ctx, unit, pn)
	}
	class, ok := c.plan.classes.Lookup(pn.Class)
	if !ok {
		return false, fault.New(fault.Invalid, "", "this worker does not have the class %s", pn.Class)
	}
	inputs, goesOn, err := c.readyInputs(ctx, unit, pn)
	if inputs == nil {
		return goesOn, err
	}
	inv := node.Invocation{Class: class, Inputs: inputs, Lazy: pn.Lazy}
	if needs := inv.Needs(); len(needs) > 0 {
		c.result.Units = append(c.result.Units, graph.UnitResult{Unit: unit, Status: graph.NeedsInputs, Needs: needs})
		return true, nil
	}
	return c.execute(ctx, unit, pn, inv)
}

func (c *chain) execute(ctx context.Context, unit int, pn *graph.PlanNode, inv node.Invocation) (bool, error) {
	c.current, c.log = c.plan.rootOf(unit), &nodeLog{}
	begun, err := c.recordedStarts(ctx, pn)
	if err != nil {
		return false, err
	}
	c.events.addNth(pn.ID, begun, job.TypeNodeStarted, job.NodeStartedV1{
		Run: c.params.Run, Node: pn.ID, Class: pn.Class, Attempt: begun + 1, Within: c.plan.positions[unit].expansion(),
	})
	if err := c.events.flushIfDue(ctx, pn.Cost >= slowNode); err != nil {
		return false, err
	}
	unmark, err := c.mark(ctx, pn, inv.Class)
	if fault.CodeOf(err) == fault.CodeWorkerLost {
		return c.failed(ctx, unit, pn, inv, err)
	}
	if err != nil {
		return false, err
	}
	defer unmark()
	files := c.g.Files(c.params.RunRef, pn.ID)
	began := time.Now()
	res, err := c.invoke(ctx, pn, inv, files)
	switch {
	case err != nil && ctx.Err() != nil: // interrupted, whatever error the node returned
		return false, context.Cause(ctx)
	case err != nil:
		return c.failed(ctx, unit, pn, inv, err)
	case len(res.Calls) > 0:
		return c.expand(ctx, unit, pn, inv, res, expansionDoc{Files: files.Saved(), Log: c.log.lines(), Millis: time.Since(began).Milliseconds()})
	}
	if err := c.saveTexts(ctx, res.UI, files); err != nil {
		return false, err
	}
	took := time.Since(began)
	ui, err := c.uiOutput(pn.ID, res, files.Saved())
	if err != nil {
		return c.failed(ctx, unit, pn, inv, err)
	}
	event := job.NodeExecutedV1{
		Run: c.params.Run, Node: pn.ID, Class: pn.Class, UI: ui, Files: files.Saved(), Millis: took.Milliseconds(), Log: c.log.lines(),
		Blocked: res.Message,
		Waited:  c.waited().Milliseconds(),
		Within:  c.plan.positions[unit].expansion(),
	}
	return true, c.executed(ctx, unit, res, event, took)
}

// invoke runs a node, in a span of its own if traces are recorded.
func (c *chain) invoke(ctx context.Context, pn *graph.PlanNode, inv node.Invocation, files node.Files) (node.Result, error) {
	ctx, span := telemetry.Begin(ctx, "node "+pn.Class, trace.SpanKindInternal,
		attribute.String("millrace.job", string(c.params.Job)), attribute.Int("millrace.run", c.params.Run),
		attribute.String("millrace.node", pn.ID), attribute.String("millrace.class", pn.Class))
	res, err := c.inTime(ctx, inv.Class, func(ctx context.Context) (node.Result, error) { return inv.Run(ctx, c.call(ctx, pn, files)) })
	failure := ""
	if err != nil {
		failure = "failed"
	}
	telemetry.End(span, failure)
	return res, err
}

// errTooLong is the cause of the context of a node that exceeded its time limit.
var errTooLong = errors.New("the node ran too long")

// inTime runs a node with the operator's time limit. A node that calls partner models has none: its calls have limits of their own, and
// wait for a slot of the account, and for this service while it is busy or down, which is no failure of the node.
func (c *chain) inTime(
	ctx context.Context, class *node.Class, run func(context.Context) (node.Result, error),
) (node.Result, error) {
	if c.g.NodeTimeout <= 0 || class.Partner {
		return run(ctx)
	}
	timed, cancel := context.WithTimeoutCause(ctx, c.g.NodeTimeout, errTooLong)
	defer cancel()
	res, err := run(timed)
	if err != nil && errors.Is(context.Cause(timed), errTooLong) && ctx.Err() == nil {
		return res, fault.Wrap(err, fault.Exhausted, fault.CodeNodeTimeout, "the node ran longer than its limit of %s", c.g.NodeTimeout)
	}
	return res, err
}

const (
	// countedNode is the cost from which the starts of a node are counted: one read of the log costs little in comparison.
	countedNode = time.Second
	// maxRecordedBegins bounds the recorded starts of one node in one run. During a long outage a node starts again
	// every few seconds.
	maxRecordedBegins = 100
)

// recordedStarts returns the number of recorded starts of the node, 0 for a cheap node. It is less than maxRecordedBegins.
func (c *chain) recordedStarts(ctx context.Context, pn *graph.PlanNode) (int, error) {
	if pn.Cost < countedNode {
		return 0, nil
	}
	events := eventlog.Read(ctx, c.g.Events, c.params.Job.Stream(), 0)
	count, err := eventlog.Fold(c.g.Types, events, 0, func(count int, _ eventlog.Recorded, data any) int {
		if e, ok := data.(job.NodeStartedV1); ok && e.Node == pn.ID && e.Run == c.params.Run {
			count++
		}
		return count
	})
	if err != nil {
		return 0, fmt.Errorf("read job %s: %w", c.params.Job, err)
	}
	return min(count, maxRecordedBegins-1), nil
}

// saveTexts saves the texts that a node shows as files, for jobs of the v2 surface: its outputs are files, and no
// text must be lost. The cloud surface returns the texts unchanged.
func (c *chain) saveTexts(ctx context.Context, ui map[string][]any, files NodeFiles) error {
	if c.plan.surface != job.SurfaceV2 || len(files.Saved()) > 0 {
		return nil
	}
	for i, value := range ui["text"] {
		text, ok := value.(string)
		if !ok {
			continue
		}
		save := node.Save{Folder: node.FolderTemp, Prefix: "text", Suffix: "_.txt", ContentType: "text/plain; charset=utf-8", Index: i}
		_, err := files.Save(ctx, save, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			return fmt.Errorf("save a text: %w", err)
		}
	}
	return nil
}

// readyInputs returns the inputs of a node that can run now. Otherwise they are nil, and goesOn reports whether the chain continues.
func (c *chain) readyInputs(ctx context.Context, unit int, pn *graph.PlanNode) (inputs node.Args, goesOn bool, err error) {
	inputs, ready, err := c.inputs(ctx, pn)
	switch {
	case fault.CodeOf(err) == fault.CodeValueMissing:
		return nil, false, nil // the workflow runs the producer again
	case err != nil:
		return nil, false, err
	case ready:
		return inputs, true, nil
	case c.expanded > 0: // the node may wait for an expansion, in another batch
		err = c.storeForRest(ctx, []int{unit})
	}
	return nil, true, err
}

// inputs gathers a node's constants and linked values. It returns false if a linked node has not run: the node was
// skipped, waits for its own lazy inputs, or is blocked.
func (c *chain) inputs(ctx context.Context, pn *graph.PlanNode) (node.Args, bool, error) {
	args := make(node.Args, len(pn.Constants)+len(pn.Links))
	for name, value := range pn.Constants {
		args[name] = value
	}
	for name, link := range pn.Links {
		values, ok, err := c.valuesOf(ctx, link.Unit)
		if err != nil {
			return nil, false, err
		}
		switch {
		case ok:
			args[name] = values[link.Slot]
		case !pn.IsLazy(name):
			return nil, false, nil
		}
	}
	return args, true, nil
}

// valuesOf returns the outputs of a unit of this batch, or the stored outputs of a unit of another batch.
func (c *chain) valuesOf(ctx context.Context, unit int) ([]node.Value, bool, error) {
	if values, ok := c.values[unit]; ok {
		return values, true, nil
	}
	if ref := c.plan.Nodes[unit].Given; ref != "" {
		return c.readPassedValue(ctx, unit, ref)
	}
	refs, ok := c.refs[unit]
	if !ok {
		return nil, false, nil
	}
	values := make([]node.Value, len(refs))
	for i, ref := range refs {
		value, err := c.g.Values.Get(ctx, ref)
		if fault.CodeOf(err) == fault.CodeValueMissing {
			c.result.Lost = append(c.result.Lost, unit)
		}
		if err != nil {
			return nil, false, err
		}
		values[i] = value
	}
	c.values[unit] = values
	return values, true, nil
}

func (c *chain) call(ctx context.Context, pn *graph.PlanNode, files node.Files) node.Call {
	l := &live{ctx: ctx, chain: c, node: pn.ID, announced: pn.Cost >= slowNode}
	return node.Call{
		Models: c.models(pn),
		NodeID: pn.ID, Prompt: c.plan.source.Prompt, ExtraPNGInfo: c.plan.source.PNGInfo(),
		SubmittedAt: c.plan.submitted, MaxPixels: c.g.MaxPixels, Files: files,
		Live: l, Ran: c.previews(l, pn),
	}
}

// executed records a finished node, and its values if a node outside the batch reads them.
func (c *chain) executed(ctx context.Context, unit int, res node.Result, event job.NodeExecutedV1, took time.Duration) error {
	out := graph.UnitResult{Unit: unit, Status: graph.Done}
	c.values[unit] = res.Outputs
	var err error
	if out.Values, err = c.retain(ctx, unit, res, event.UI, event.Files, took); err != nil {
		return err
	}
	if c.keep[unit] && out.Values == nil {
		if out.Values, err = c.store(ctx, res.Outputs); err != nil {
			return err
		}
	}
	c.result.Units = append(c.result.Units, out)
	c.events.add(event.Node, job.TypeNodeExecuted, event)
	c.current = nil
	return c.events.flushIfDue(ctx, false)
}

// store stores values for other batches.
func (c *chain) store(ctx context.Context, values []node.Value) (refs []string, err error) {
	for _, value := range values {
		ref, err := c.g.Values.Put(ctx, c.params.Job, value)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// models returns the models that a node of a partner class may call, or nil for other nodes.
func (c *chain) models(pn *graph.PlanNode) node.Models {
	c.partner = nil
	class, ok := c.plan.classes.Lookup(pn.Class)
	if !ok || !class.Partner || c.g.Partners == nil {
		return nil
	}
	c.partner = c.g.Partners.of(c.params.RunRef, pn.ID)
	return c.partner
}

// waited returns the part of the last node's time in which its calls of partner models waited.
func (c *chain) waited() time.Duration {
	if c.partner == nil {
		return 0
	}
	return c.partner.waited
}
