package driving

import (
	"context"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

func (f *follower) failed(outcome *comfyui.Outcome) error {
	if outcome == nil || outcome.Err == nil {
		return fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server reports that the prompt failed, without a reason")
	}
	e := *outcome.Err
	id, ok := f.segmentNode(e.Node, "")
	if !ok { // a node that was added, which nobody has seen
		id = f.c.serves[e.Node]
	}
	if n := f.c.node(id); n != nil {
		e.Node, e.Class = id, n.Class
	}
	return &NodeError{e}
}

// segmentNode returns the node of the segment that a node of the prompt stands for.
func (f *follower) segmentNode(id, display string) (string, bool) {
	root, _, _ := strings.Cut(id, ".")
	for _, candidate := range []string{id, display, root} {
		if f.c.node(candidate) != nil {
			return candidate, true
		}
	}
	return "", false
}

// progress tells watchers and the log what goes on.
func (f *follower) progress(ctx context.Context, e comfyui.Event) error {
	switch e := e.(type) {
	case comfyui.Cached:
		if e.Prompt == f.r.Prompt {
			return f.answered(ctx, e.Nodes)
		}
	case comfyui.Executing:
		return f.executing(ctx, e)
	case comfyui.Progressed:
		f.showProgress(e.Node, "", e.Value, e.Max)
	case comfyui.ProgressState:
		for id, n := range e.Nodes {
			if n.State == "running" {
				f.showProgress(id, n.Display, n.Value, n.Max)
			}
		}
	case comfyui.Preview:
		id := e.Node
		if id == "" {
			id = f.current
		}
		if id, ok := f.segmentNode(id, e.Display); ok {
			f.r.Recorder.Preview(id, e.MediaType, e.Image)
		}
	case comfyui.ProgressText:
		if id, ok := f.segmentNode(e.Node, ""); ok {
			f.r.Recorder.Text(id, e.Text)
		}
	case comfyui.Executed:
		f.executed(ctx, e)
	}
	return nil
}

// answered takes what the server answers from its cache. Such nodes count as done; what they show follows.
func (f *follower) answered(ctx context.Context, ids []string) error {
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

// scale is the number of steps in which progress is reported where the server counts in fractions.
const scale = 1000

func (f *follower) showProgress(node, display string, value, most float64) {
	id, ok := f.segmentNode(node, display)
	if !ok || most <= 0 || value < 0 || value > most {
		return
	}
	if most < 1 || most > 1<<30 || most != float64(int(most)) {
		value, most = value/most*scale, scale
	}
	f.r.Recorder.Progress(id, int(value), int(most))
}

// executing ends the node that ran before, unless it has something to show, and begins the next.
func (f *follower) executing(ctx context.Context, e comfyui.Executing) error {
	if e.Prompt != "" && e.Prompt != f.r.Prompt {
		return nil
	}
	id, ok := f.segmentNode(e.Node, e.Display)
	if f.current != "" && f.current != id {
		if err := f.ended(ctx, f.current); err != nil {
			return err
		}
	}
	f.current = id
	if !ok || f.recorded[id] {
		return nil
	}
	if _, running := f.since[id]; running {
		return nil
	}
	f.since[id] = time.Now()
	return f.r.Recorder.Started(ctx, id)
}

// ended records a node that shows nothing. One that may is recorded with what it shows.
func (f *follower) ended(ctx context.Context, id string) error {
	if f.recorded[id] || f.c.shows(f.r.Classes, id) {
		return nil
	}
	return f.recordExecuted(ctx, Executed{Node: id, Took: f.took(id)})
}

// took returns how long a node has run.
func (f *follower) took(id string) time.Duration {
	if began, ok := f.since[id]; ok {
		return time.Since(began)
	}
	return 0
}

func (f *follower) recordExecuted(ctx context.Context, e Executed) error {
	f.recorded[e.Node] = true
	e.Cached = f.cached[e.Node]
	return f.r.Recorder.Executed(ctx, e)
}

// copied is a node whose files were copied.
type copied struct {
	Executed
	err error
}

// executed copies what a node shows while the server still runs the others.
func (f *follower) executed(ctx context.Context, e comfyui.Executed) {
	id, ok := f.segmentNode(e.Node, e.Display)
	if e.Prompt != f.r.Prompt || !ok || f.recorded[id] {
		return
	}
	took := f.took(id)
	done := make(chan copied, 1)
	go func() {
		ui, files, err := f.d.save(ctx, f.r, f.c, id, e.Output)
		done <- copied{Executed{Node: id, UI: ui, Files: files, Took: took}, err}
	}()
	f.copying = done
}

// abandonCopy waits for the end of a copy that nobody needs any more. Its context has ended.
func (f *follower) abandonCopy() {
	if f.copying != nil {
		<-f.copying
	}
}

func (f *follower) collect(ctx context.Context, id string, out comfyui.Output) error {
	took := f.took(id)
	ui, files, err := f.d.save(ctx, f.r, f.c, id, out)
	if err != nil {
		return err
	}
	return f.recordExecuted(ctx, Executed{Node: id, UI: ui, Files: files, Took: took})
}

// complete reports the nodes that no message reported.
func (f *follower) complete(ctx context.Context, outcome *comfyui.Outcome) error {
	if outcome == nil {
		return fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server reports that the prompt is done, without its outputs")
	}
	if err := f.answered(ctx, outcome.Cached); err != nil {
		return err
	}
	for i := range f.r.Segment.Nodes {
		id := f.r.Segment.Nodes[i].ID
		if f.recorded[id] {
			continue
		}
		var err error
		if out, shows := outcome.Outputs[id]; shows {
			err = f.collect(ctx, id, out)
		} else if !f.cached[id] {
			err = f.recordExecuted(ctx, Executed{Node: id, Took: f.took(id)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shows reports whether a node may put out files or texts.
func (c *compiled) shows(classes *node.Registry, id string) bool {
	class, ok := classes.Lookup(c.node(id).Class)
	return !ok || class.OutputNode || class.Intermediate
}
