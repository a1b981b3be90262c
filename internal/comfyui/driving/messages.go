package driving

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

func (f *follower) failed(outcome *comfyui.Outcome) error {
	if outcome == nil || outcome.Err == nil {
		return fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server reports that the prompt failed, but gives no reason")
	}
	e := *outcome.Err
	id := e.Node
	within, ok := f.locate(id, job.Expansion{})
	switch {
	case !ok: // an added node, which clients do not see
		id, e.Inputs = f.c.serves[id], nil
	case within != nil:
		id, e.Inputs = within.Real, nil
	}
	if n := f.c.node(id); n != nil {
		e.Node, e.Class = id, n.Class
	}
	return &NodeError{e}
}

// locate reports whether a node of the prompt is a node of the graph, or of an expansion of one. within is the
// position of a node of an expansion: the position that the server reported, or the one that follows from the id,
// which begins with the parent's.
func (f *follower) locate(id string, said job.Expansion) (within *job.Expansion, ok bool) {
	if f.c.node(id) != nil {
		return nil, true
	}
	if known := f.inner[id]; known != nil && (said.Parent == "" || *known == said) {
		return known, true
	}
	parent, root := f.ancestors(id)
	if root == "" && f.c.node(said.Real) != nil {
		root = said.Real
	}
	if root == "" && f.c.node(said.Display) != nil {
		root = said.Display
	}
	if root == "" {
		return nil, false // an added node, or a node of its expansion
	}
	within = &job.Expansion{Parent: cmp.Or(said.Parent, parent, root), Display: said.Display, Real: root}
	if f.c.node(within.Display) == nil && f.inner[within.Display] == nil && within.Display != id {
		within.Display = root
	}
	f.inner[id] = within
	f.recorded[id] = f.recorded[id] || f.r.Recorder.Recorded(id)
	return within, true
}

// ancestors returns the ids of the node that expanded to a node, and of the node of the graph from which both come.
func (f *follower) ancestors(id string) (parent, root string) {
	for at := strings.LastIndexByte(id, '.'); at > 0; at = strings.LastIndexByte(id[:at], '.') {
		above := id[:at]
		if parent == "" && (f.inner[above] != nil || f.c.node(above) != nil) {
			parent = above
		}
		if f.c.node(above) != nil {
			return parent, above
		}
	}
	return "", ""
}

// progress records the progress of nodes and sends it to watching clients.
func (f *follower) progress(ctx context.Context, e comfyui.Event) error {
	switch e := e.(type) {
	case comfyui.Cached:
		if e.Prompt == f.r.Prompt {
			return f.recordCached(ctx, e.Nodes)
		}
	case comfyui.Executing:
		return f.executing(ctx, e)
	case comfyui.Progressed:
		f.showProgress(e.Node, e.Value, e.Max)
	case comfyui.ProgressState:
		return f.progressState(ctx, e)
	case comfyui.Preview:
		return f.preview(ctx, e)
	case comfyui.ProgressText:
		if _, ok := f.locate(e.Node, job.Expansion{}); ok {
			f.r.Recorder.Text(e.Node, e.Text)
		}
	case comfyui.Executed:
		f.executed(ctx, e)
	case comfyui.Unrecognized:
		f.message(e)
	}
	return nil
}

// maxMessages bounds the messages of node packs that are passed on during a prompt.
const maxMessages = 1000

// ownMessages are the types of messages that ComfyUI itself sends about nothing that a prompt does.
var ownMessages = []string{"feature_flags", "logs", "notification"}

// message passes a message of a node pack on. Servers send such messages to all of their clients: those that name another prompt, or
// arrive while no node of the prompt runs, may concern other accounts.
func (f *follower) message(e comfyui.Unrecognized) {
	_, ok := f.locate(f.current, job.Expansion{})
	if f.current == "" || !ok || f.succeeded || len(e.Data) == 0 || slices.Contains(ownMessages, e.Type) || f.messages >= maxMessages {
		return
	}
	var data any
	if json.Unmarshal(e.Data, &data) != nil || f.namesAnother(data) {
		return
	}
	f.messages++
	f.r.Recorder.Message(f.current, e.Type, e.Data)
}

// namesAnother reports whether the data of a message contain the id of another prompt, at any depth.
func (f *follower) namesAnother(data any) bool {
	switch data := data.(type) {
	case map[string]any:
		for name, value := range data {
			if id, ok := value.(string); ok && name == "prompt_id" && id != "" && id != string(f.r.Prompt) || f.namesAnother(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(data, f.namesAnother)
	}
	return false
}

// progressState handles the states of all nodes. A node has ended when its state is finished; a node that expanded
// may end after nodes that began later.
func (f *follower) progressState(ctx context.Context, e comfyui.ProgressState) error {
	if e.Prompt != "" && e.Prompt != f.r.Prompt {
		return nil
	}
	was := f.states
	f.states = make(map[string]string, len(e.Nodes))
	for id, n := range e.Nodes {
		f.states[id] = n.State
		if _, ok := f.locate(id, job.Expansion{Parent: n.Parent, Display: n.Display, Real: n.Real}); !ok {
			continue
		}
		if n.State == stateRunning && (n.Value != 0 || n.Max != 1) { // servers say 0 of 1 for a node that has not reported steps
			f.showProgress(id, n.Value, n.Max)
		}
		if _, begun := f.since[id]; begun && was[id] == stateRunning && n.State == stateFinished {
			if err := f.recordWithoutOutputs(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// States of nodes in a comfyui.ProgressState.
const (
	stateRunning  = "running"
	stateFinished = "finished"
)

// recordCached handles the nodes that the server takes from its cache. They count as done; their outputs follow.
func (f *follower) recordCached(ctx context.Context, ids []string) error {
	var cached []string
	for _, id := range ids {
		if f.c.node(id) == nil || f.cached[id] || f.recorded[id] {
			continue
		}
		f.cached[id] = true
		cached = append(cached, id)
		if !f.c.shows(f.r.Classes, id) {
			f.recorded[id] = true
		}
	}
	if len(cached) == 0 {
		return nil
	}
	return f.r.Recorder.Cached(ctx, cached)
}

// scale is the number of steps in which progress is reported if the server reports fractions.
const scale = 1000

// steps is the progress of a node.
type steps struct{ value, most float64 }

// showProgress passes progress on. Servers report each step in two messages; the second one is left out.
func (f *follower) showProgress(id string, value, most float64) {
	if _, ok := f.locate(id, job.Expansion{}); !ok || most <= 0 || value < 0 || value > most {
		return
	}
	if f.shown[id] == (steps{value, most}) {
		return
	}
	f.shown[id] = steps{value, most}
	if most < 1 || most > 1<<30 || most != float64(int(most)) {
		value, most = value/most*scale, scale
	}
	f.r.Recorder.Progress(id, int(value), int(most))
}

// executing ends the previous node, unless it has outputs to report or waits for its expansion, and begins the next
// one.
func (f *follower) executing(ctx context.Context, e comfyui.Executing) error {
	if e.Prompt != "" && e.Prompt != f.r.Prompt {
		return nil
	}
	f.arriving = f.arriving || e.Prompt != "" // the server repeats the node without the prompt to a socket that was opened later
	within, ok := f.locate(e.Node, job.Expansion{Display: e.Display})
	if f.current != "" && f.current != e.Node && f.states[f.current] != stateRunning && (within == nil || within.Parent != f.current) {
		if err := f.recordWithoutOutputs(ctx, f.current); err != nil {
			return err
		}
	}
	f.current = ""
	if !ok {
		return nil
	}
	f.current = e.Node
	f.watched[e.Node] = e.Prompt != ""
	if _, running := f.since[e.Node]; running || f.recorded[e.Node] {
		return nil
	}
	f.since[e.Node] = time.Now()
	return f.r.Recorder.Started(ctx, e.Node, within)
}

// recordWithoutOutputs records a node without outputs. A node that may have outputs is recorded with them.
func (f *follower) recordWithoutOutputs(ctx context.Context, id string) error {
	if f.recorded[id] || f.c.shows(f.r.Classes, id) {
		return nil
	}
	return f.recordExecuted(ctx, Executed{Node: id, Took: f.nodeDuration(id)})
}

// nodeDuration returns how long a node has run.
func (f *follower) nodeDuration(id string) time.Duration {
	if began, ok := f.since[id]; ok {
		return time.Since(began)
	}
	return 0
}

func (f *follower) recordExecuted(ctx context.Context, e Executed) error {
	f.recorded[e.Node] = true
	e.Cached, e.Within = f.cached[e.Node], f.inner[e.Node]
	return f.r.Recorder.Executed(ctx, e)
}

// copied is a node whose files were copied.
type copied struct {
	Executed
	err error
}

// executed copies the outputs of a node while the server runs the other nodes.
func (f *follower) executed(ctx context.Context, e comfyui.Executed) {
	id := e.Node
	if e.Prompt != f.r.Prompt {
		return
	}
	_, ok := f.locate(id, job.Expansion{Display: e.Display})
	if !ok {
		f.values[id] = e.Output
	}
	f.keepFiles(id, e.Output)
	if !ok || f.recorded[id] {
		return
	}
	took, sent := f.nodeDuration(id), f.pictures[id]
	missed := f.checkPictures(id)
	done := make(chan copied, 1)
	go func() {
		ui, files, err := f.d.save(ctx, f.r, f.c, id, e.Output, sent)
		err = cmp.Or(missed, err)
		done <- copied{Executed{Node: id, UI: ui, Files: files, Took: took}, err}
	}()
	f.copying = done
}

// abandonCopy waits for the end of a copy that is no longer needed. Its context has ended.
func (f *follower) abandonCopy() {
	if f.copying != nil {
		<-f.copying
	}
}

func (f *follower) collect(ctx context.Context, id string, out comfyui.Output) error {
	took := f.nodeDuration(id)
	if err := f.checkPictures(id); err != nil {
		return err
	}
	ui, files, err := f.d.save(ctx, f.r, f.c, id, out, f.pictures[id])
	if err != nil {
		f.current = id
		return err
	}
	return f.recordExecuted(ctx, Executed{Node: id, UI: ui, Files: files, Took: took})
}

// complete reports whether every node is recorded and every value is known, so that the outcome contains nothing new.
func (f *follower) complete() bool {
	for i := range f.r.Segment.Nodes {
		if !f.recorded[f.r.Segment.Nodes[i].ID] {
			return false
		}
	}
	for _, p := range f.c.outputs {
		_, put := f.values[p.id]
		_, sized := f.values[p.sizes]
		if !put || p.sizes != "" && !sized {
			return false
		}
	}
	return f.copying == nil
}

// recordOutcome records the nodes that no message reported.
func (f *follower) recordOutcome(ctx context.Context, outcome *comfyui.Outcome) error {
	if outcome == nil {
		return fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server reports that the prompt is done, but gives no outputs")
	}
	if err := f.recordCached(ctx, outcome.Cached); err != nil {
		return err
	}
	for _, id := range f.all(outcome) {
		f.keepFiles(id, outcome.Outputs[id])
		if f.recorded[id] {
			continue
		}
		var err error
		if out, shows := outcome.Outputs[id]; shows || f.sends(id) {
			err = f.collect(ctx, id, out)
		} else if !f.cached[id] {
			err = f.recordExecuted(ctx, Executed{Node: id, Took: f.nodeDuration(id)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// all returns the nodes that must be recorded when the prompt has ended: the nodes of the graph, each after the nodes
// of its expansion that began or have outputs.
func (f *follower) all(outcome *comfyui.Outcome) []string {
	var inner, ids []string
	for id := range f.since {
		if f.c.node(id) == nil {
			inner = append(inner, id)
		}
	}
	for id := range outcome.Outputs {
		if within, ok := f.locate(id, job.Expansion{}); ok && within != nil && !slices.Contains(inner, id) {
			inner = append(inner, id)
		}
	}
	slices.Sort(inner)
	for i := range f.r.Segment.Nodes {
		ids = append(ids, f.r.Segment.Nodes[i].ID)
	}
	return append(inner, ids...)
}

// shows reports whether a node of the graph may output files or texts. The outputs of a node of an expansion arrive
// before the next node begins.
func (c *compiled) shows(classes *node.Registry, id string) bool {
	n := c.node(id)
	if n == nil {
		return false
	}
	class, ok := classes.Lookup(n.Class)
	return !ok || class.OutputNode || class.Intermediate
}
