package driving

import (
	"context"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// follower follows one prompt to its end and tells its story.
type follower struct {
	d *Driver
	r *Run
	c *compiled

	began    time.Time // of the prompt
	since    map[string]time.Time
	current  string // the node that runs, by the server's word
	recorded map[string]bool
	cached   map[string]bool
	sent     int
	own      bool      // this driver sent the prompt
	kept     int       // files that were kept as values
	misread  int       // looks in a row whose answer could not be read
	broken   time.Time // since when the connection is; zero = it is not
}

func newFollower(d *Driver, r *Run, c *compiled) *follower {
	f := &follower{d: d, r: r, c: c, began: time.Now(), since: map[string]time.Time{}, recorded: map[string]bool{}, cached: map[string]bool{}}
	for i := range r.Segment.Nodes {
		if id := r.Segment.Nodes[i].ID; r.Recorder.Recorded(id) {
			f.recorded[id] = true
		}
	}
	return f
}

// run sends the prompt, unless its server has it, and follows it to its end. It does not wait for the server to confirm the
// end of the socket.
func (f *follower) run(ctx context.Context) (*comfyui.Outcome, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	events, ended := make(chan comfyui.Event, 256), make(chan error, 1)
	go func() {
		ended <- f.r.Server.Follow(ctx, string(f.r.Prompt), func(e comfyui.Event) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	return f.follow(ctx, events, ended)
}

// settleEvery is how late a watcher learns at most what is recorded of a node. What ends a segment is recorded at once.
const settleEvery = 150 * time.Millisecond

// follow handles what the server says until the outcome is known.
func (f *follower) follow(ctx context.Context, events <-chan comfyui.Event, ended chan error) (*comfyui.Outcome, error) {
	look, settle := time.NewTicker(f.d.opts.Look/4), time.NewTicker(settleEvery)
	defer look.Stop()
	defer settle.Stop()
	looked := time.Now()
	for {
		ask := false
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case err := <-ended:
			ended <- err
			return nil, err
		case e := <-events:
			var err error
			if ask, err = f.handle(ctx, e); err != nil {
				return nil, err
			}
		case <-settle.C:
			if err := f.r.Recorder.Settle(ctx); err != nil {
				return nil, err
			}
		case <-look.C:
			ask = !f.broken.IsZero() || f.sent > 0 && time.Since(looked) >= f.d.opts.Look
		}
		if !ask {
			continue
		}
		looked = time.Now()
		if outcome, err := f.look(ctx); outcome != nil || err != nil {
			return outcome, err
		}
	}
}

// handle takes one message and reports whether the prompt is worth a look.
func (f *follower) handle(ctx context.Context, e comfyui.Event) (bool, error) {
	switch e := e.(type) {
	case comfyui.Connected:
		f.broken = time.Time{}
		if !e.Again {
			return f.first(ctx)
		}
		return true, nil
	case comfyui.Disconnected:
		if f.broken.IsZero() {
			f.broken = time.Now()
		}
		return true, nil
	case comfyui.Finished:
		return e.Prompt == f.r.Prompt, nil
	case comfyui.Errored:
		return e.Prompt == f.r.Prompt, nil
	case comfyui.Interrupted:
		return e.Prompt == f.r.Prompt, nil
	default:
		return false, f.progress(ctx, e)
	}
}

// first sends a prompt that nobody can have sent before, as soon as its messages will be heard; otherwise it is
// looked for.
func (f *follower) first(ctx context.Context) (bool, error) {
	if !f.r.Fresh || f.sent > 0 {
		return true, nil
	}
	return false, f.send(ctx)
}

func (f *follower) send(ctx context.Context) error {
	if f.sent > resends {
		return fault.New(fault.Unavailable, fault.CodeServerGivenUp, "the server has forgotten the prompt %d times", f.sent-1)
	}
	prompt, err := f.c.complete(ctx)
	if err != nil {
		return err
	}
	f.sent++
	f.began = time.Now()
	f.own = true
	_, err = f.r.Server.Submit(ctx, comfyui.Prompt{ID: f.r.Prompt, Client: string(f.r.Prompt), Graph: prompt, Extra: f.r.Extra})
	err = f.c.owned(err)
	switch fault.CodeOf(err) {
	case fault.CodeServerLost, fault.CodeServerError: // it may have arrived: the next look tells
		return nil
	}
	return err
}

// maxUnreadable bounds the looks in a row that a server answers with what cannot be read.
const maxUnreadable = 5

// look asks the server for the prompt and acts on what it says.
func (f *follower) look(ctx context.Context) (*comfyui.Outcome, error) {
	within, cancel := context.WithTimeout(ctx, f.d.opts.LostAfter)
	defer cancel()
	state, err := f.r.Server.Find(within, f.r.Prompt)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		if f.broken.IsZero() && fault.CodeOf(err) == fault.CodeServerUnreachable {
			f.broken = time.Now()
		}
		if f.misread++; fault.CodeOf(err) != fault.CodeServerLost && f.misread > maxUnreadable {
			return nil, fault.Wrap(err, fault.Unavailable, fault.CodeServerGivenUp, "the server does not report the state of the prompt: %s", err.Error())
		}
		if !f.broken.IsZero() && time.Since(f.broken) >= f.d.opts.LostAfter {
			return nil, fault.Wrap(err, fault.Unavailable, fault.CodeServerGivenUp, "the server is lost: %s", err.Error())
		}
		return nil, nil //nolint:nilnil // not known yet
	}
	f.broken, f.misread = time.Time{}, 0
	switch state.Status {
	case comfyui.Unknown:
		return nil, f.send(ctx)
	case comfyui.Completed:
		return state.Outcome, f.complete(ctx, state.Outcome)
	case comfyui.Failed:
		return nil, f.failed(state.Outcome)
	case comfyui.Cancelled:
		return nil, fault.New(fault.Unavailable, fault.CodeServerInterrupted, "the prompt was interrupted on its server")
	case comfyui.Pending, comfyui.Running:
		f.sent = max(f.sent, 1)
	}
	return nil, nil //nolint:nilnil // it goes on
}

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
		return f.executed(ctx, e)
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
	return f.recordExecuted(ctx, Executed{Node: id})
}

func (f *follower) recordExecuted(ctx context.Context, e Executed) error {
	f.recorded[e.Node] = true
	if began, ok := f.since[e.Node]; ok {
		e.Took = time.Since(began)
	}
	e.Cached = f.cached[e.Node]
	return f.r.Recorder.Executed(ctx, e)
}

// executed copies what a node shows while the server still runs the others.
func (f *follower) executed(ctx context.Context, e comfyui.Executed) error {
	id, ok := f.segmentNode(e.Node, e.Display)
	if e.Prompt != f.r.Prompt || !ok || f.recorded[id] {
		return nil
	}
	return f.collect(ctx, id, e.Output)
}

func (f *follower) collect(ctx context.Context, id string, out comfyui.Output) error {
	ui, files, err := f.d.save(ctx, f.r, f.c, id, out)
	if err != nil {
		return err
	}
	return f.recordExecuted(ctx, Executed{Node: id, UI: ui, Files: files})
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
			err = f.recordExecuted(ctx, Executed{Node: id})
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
