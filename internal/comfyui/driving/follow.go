package driving

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

// follower follows one prompt to its end and reports the events of its nodes.
type follower struct {
	d *Driver
	r *Run
	c *compiled

	began           time.Time // when the prompt began
	since           map[string]time.Time
	current         string                    // the node that runs, as the server reports it
	inner           map[string]*job.Expansion // nodes of expansions that occurred in messages
	values          map[string]comfyui.Output // outputs of the added nodes that export values
	states          map[string]string         // states of nodes in the last progress_state
	recorded        map[string]bool
	watched         map[string]bool // nodes of which no message was missed since they began
	pictures        map[string]*sentPictures
	cached          map[string]bool
	shown           map[string]steps // last progress of nodes that was passed on
	messages        int              // of node packs, that were passed on
	sent            int
	mayExist        bool // the server may have the prompt: it was sent, or a poll found it
	exists          bool // the server had the prompt
	status          comfyui.Status
	progressed      time.Time // when the prompt last sent a message, or was first seen to wait or to run
	storedFiles     int       // number of files that were kept as values
	unreadablePolls int       // polls whose answer could not be read, since the last one that was read
	latePolls       int       // polls without an answer in time, since then
	broken          time.Time // when the connection broke; zero = it is open
	freed           bool
	arriving        bool      // messages of the prompt arrive on the socket that is open
	succeeded       bool      // the server has reported success
	over            bool      // no message of the prompt follows
	ended           time.Time // when a poll first found that the prompt has ended
	attached        *attachment
	files           map[string][]comfyui.File // files of the nodes of the graph that the prompt ran
	copying         chan copied               // capacity 1: receives the files of a node when they have been copied
	buffered        []comfyui.Event           // events that arrived during the copy
}

func newFollower(d *Driver, r *Run, c *compiled) *follower {
	f := &follower{
		d: d, r: r, c: c, began: time.Now(), since: map[string]time.Time{}, recorded: map[string]bool{}, cached: map[string]bool{},
		inner: map[string]*job.Expansion{}, values: map[string]comfyui.Output{}, files: map[string][]comfyui.File{}, exists: r.Began,
		watched: map[string]bool{}, pictures: map[string]*sentPictures{}, shown: map[string]steps{},
	}
	for i := range r.Segment.Nodes {
		if id := r.Segment.Nodes[i].ID; r.Recorder.Recorded(id) {
			f.recorded[id] = true
		}
	}
	return f
}

// run sends the prompt, unless its server has it, and follows it to its end. It waits for the server to confirm the
// end of the socket only if another driver takes over.
func (f *follower) run(ctx context.Context) (*comfyui.Outcome, error) {
	ctx, stop := context.WithCancel(ctx)
	defer f.abandonCopy()
	defer stop()
	f.attached = f.attach(ctx, f.d.opts.SilenceLimit)
	outcome, err := f.follow(ctx)
	if errors.Is(context.Cause(ctx), ErrHandedOver) {
		f.attached.close()
	}
	return outcome, err
}

// attachment is one socket to the server, including the sockets that replace it when its connection breaks.
type attachment struct {
	events       chan comfyui.Event
	ended        chan error // capacity 1
	stop         context.CancelFunc
	lastMessage  time.Time     // when the last message arrived, or the socket was opened
	silenceLimit time.Duration // how long a running prompt may send no message before the socket is opened again
}

// attach follows the prompt until ctx ends, or the attachment is stopped.
func (f *follower) attach(ctx context.Context, quiet time.Duration) *attachment {
	ctx, stop := context.WithCancel(ctx)
	a := &attachment{
		events: make(chan comfyui.Event, maxBuffered), ended: make(chan error, 1), stop: stop, lastMessage: time.Now(),
		silenceLimit: quiet,
	}
	go func() {
		a.ended <- f.r.Server.Follow(ctx, string(f.r.Prompt), func(e comfyui.Event) error {
			select {
			case a.events <- e:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	return a
}

// close ends the socket and waits until the server has confirmed the end. A server that notices the end later would
// forget the next socket of the same name.
func (a *attachment) close() {
	a.stop()
	<-a.ended //nolint:errcheck // the error no longer matters
}

// maxSilence bounds the time between two sockets for a prompt that sends no messages, such as one that loads a
// large model.
const maxSilence = time.Minute

// reattach replaces a socket that has received no message for long although the prompt runs. A server sends the
// messages of a prompt to the newest socket of its client, and forgets the client when any of its sockets ends, even
// the socket of a lost driver that ends late.
func (f *follower) reattach(ctx context.Context) {
	a := f.attached
	if len(a.events) > 0 || time.Since(a.lastMessage) < a.silenceLimit {
		return
	}
	a.close()
	delete(f.watched, f.current)
	f.arriving = false
	f.attached = f.attach(ctx, min(2*a.silenceLimit, maxSilence))
}

// noteMessage records that the server knows the socket, and that the prompt progresses.
func (f *follower) noteMessage(e comfyui.Event) {
	repeated := false
	switch e := e.(type) {
	case comfyui.Connected, comfyui.Disconnected:
		return
	case comfyui.QueueChanged, comfyui.Interrupted, comfyui.Unrecognized:
		repeated = true // it may concern other prompts
	case comfyui.Executing:
		repeated = e.Prompt == "" // the server repeats it to every new socket
	}
	f.attached.lastMessage = time.Now()
	if !repeated {
		f.exists, f.progressed = true, time.Now()
	}
}

// ran returns the node of the segment that runs, or for which the server does something, or "".
func (f *follower) ran() string {
	if within := f.inner[f.current]; within != nil {
		return within.Real
	}
	return f.current
}

const (
	// flushDelay is the longest delay after which watching clients see the records of a node. Records that end a
	// segment are visible at once.
	flushDelay = 150 * time.Millisecond
	// maxBuffered bounds the messages that are buffered while files are copied.
	maxBuffered = 256
)

// follow handles the server's messages until the outcome is known.
func (f *follower) follow(ctx context.Context) (*comfyui.Outcome, error) {
	poll, settle := time.NewTicker(f.d.opts.Poll/4), time.NewTicker(flushDelay)
	defer poll.Stop()
	defer settle.Stop()
	polled := time.Now()
	for {
		ask, err := false, error(nil)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case err := <-f.attached.ended:
			f.attached.ended <- err
			return nil, err
		case e := <-f.receivable(f.attached.events):
			f.noteMessage(e)
			ask, err = f.handleOrBuffer(ctx, e)
		case c := <-f.copying:
			ask, err = f.copied(ctx, c)
		case <-settle.C:
			err = f.r.Recorder.Flush(ctx)
		case <-poll.C:
			ask = f.copying == nil && (!f.broken.IsZero() || f.mayExist && time.Since(polled) >= f.d.opts.Poll)
		}
		if err != nil {
			return nil, err
		}
		if f.succeeded && f.complete() {
			return &comfyui.Outcome{Outputs: f.values}, nil
		}
		if !ask {
			continue
		}
		polled = time.Now()
		if outcome, err := f.poll(ctx); outcome != nil || err != nil {
			return outcome, err
		}
	}
}

// receivable returns the channel of the server's messages, or nil while the buffer is full.
func (f *follower) receivable(events <-chan comfyui.Event) <-chan comfyui.Event {
	if len(f.buffered) >= maxBuffered {
		return nil
	}
	return events
}

// handleOrBuffer handles a message, or buffers it while files are copied, so that the events of nodes are recorded in order.
// The end of the prompt does not wait.
func (f *follower) handleOrBuffer(ctx context.Context, e comfyui.Event) (bool, error) {
	if e, ok := e.(comfyui.Succeeded); ok && e.Prompt == f.r.Prompt {
		f.freeServer()
	}
	if f.copying != nil {
		f.buffered = append(f.buffered, e)
		return false, nil
	}
	return f.handle(ctx, e)
}

// copied records a node whose files were copied, and handles the buffered messages.
func (f *follower) copied(ctx context.Context, c copied) (ask bool, err error) {
	f.copying = nil
	if c.err != nil {
		f.current = c.Node
		return false, c.err
	}
	if err := f.recordExecuted(ctx, c.Executed); err != nil {
		return false, err
	}
	for len(f.buffered) > 0 && f.copying == nil {
		e := f.buffered[0]
		f.buffered = f.buffered[1:]
		again, err := f.handle(ctx, e)
		if err != nil {
			return false, err
		}
		ask = ask || again
	}
	return ask && f.copying == nil, nil
}

// freeServer reports, once, that the server can run another prompt.
func (f *follower) freeServer() {
	if f.r.Ended != nil && !f.freed {
		f.freed = true
		f.r.Ended()
	}
}

// handle handles one message and reports whether to poll the prompt.
func (f *follower) handle(ctx context.Context, e comfyui.Event) (bool, error) {
	switch e := e.(type) {
	case comfyui.Connected:
		f.broken = time.Time{}
		if !e.Reconnected {
			return f.submitOrPoll(ctx)
		}
		return true, nil
	case comfyui.Disconnected:
		delete(f.watched, f.current)
		f.arriving = false
		if f.broken.IsZero() {
			f.broken = time.Now()
		}
		return true, nil
	case comfyui.Succeeded:
		f.succeeded = f.succeeded || e.Prompt == f.r.Prompt
		return false, nil
	case comfyui.Finished:
		return f.endsWith(e.Prompt), nil
	case comfyui.Errored:
		return f.endsWith(e.Prompt), nil
	case comfyui.Interrupted:
		return f.endsWith(e.Prompt), nil
	default:
		return false, f.progress(ctx, e)
	}
}

// endsWith notes the last message of the prompt. It reports whether the message is one of the prompt.
func (f *follower) endsWith(id comfyui.PromptID) bool {
	f.over = f.over || id == f.r.Prompt
	return id == f.r.Prompt
}

// submitOrPoll sends a new prompt as soon as the socket receives messages. For a prompt that an earlier driver may have
// sent, it polls.
func (f *follower) submitOrPoll(ctx context.Context) (bool, error) {
	if !f.r.NewPrompt || f.sent > 0 {
		return true, nil
	}
	return false, f.send(ctx)
}

func (f *follower) send(ctx context.Context) error {
	if f.sent > resends {
		return fault.New(fault.Unavailable, fault.CodeServerGivenUp, "the server does not have the prompt, which was sent %d times", f.sent)
	}
	err := f.submit(ctx)
	if f.c.listFiles(err) {
		err = f.submit(ctx)
	}
	err = f.c.attributeRefusal(err)
	switch fault.CodeOf(err) {
	case fault.CodeServerLost, fault.CodeServerError: // the prompt may have arrived; the next poll shows it
		return nil
	}
	return err
}

// submitGrace is how long sending a prompt may continue after its driver was asked to end. If the request were
// aborted, the prompt could arrive after the next driver has polled for it, or after it was cancelled.
const submitGrace = 500 * time.Millisecond

// outlasting returns a context that ends some time after ctx. The caller must call cancel.
func outlasting(ctx context.Context, grace time.Duration) (later context.Context, cancel func()) {
	later, end := context.WithCancel(context.WithoutCancel(ctx))
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-ctx.Done():
		case <-later.Done():
			return
		}
		select {
		case <-time.After(grace):
			end()
		case <-later.Done():
		}
	})
	return later, func() { end(); waiting.Wait() }
}

// maxUnreadable bounds the polls whose answers cannot be read, and maxLate those that get no answer in time. A server that loads a large
// model may answer nothing for many seconds; the socket notices the loss of a server earlier than a minute.
const maxUnreadable, maxLate = 5, 30

// poll reads the state of the prompt and acts on it.
func (f *follower) poll(ctx context.Context) (*comfyui.Outcome, error) {
	f.mayExist = true
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
		if within.Err() != nil {
			f.latePolls++
		} else if fault.CodeOf(err) != fault.CodeServerLost {
			f.unreadablePolls++
		}
		if f.unreadablePolls > maxUnreadable || f.latePolls > maxLate {
			return nil, givenUp(err, "the server does not report the state of the prompt")
		}
		if !f.broken.IsZero() && time.Since(f.broken) >= f.d.opts.LostAfter {
			return nil, givenUp(err, "the server is lost")
		}
		return nil, nil //nolint:nilnil // not known yet
	}
	f.broken, f.unreadablePolls, f.latePolls = time.Time{}, 0, 0
	switch state.Status {
	case comfyui.Unknown:
		if f.exists { // the server was restarted
			return nil, fault.New(fault.Unavailable, fault.CodeServerGivenUp, "the server has forgotten the prompt")
		}
		return nil, f.send(ctx)
	case comfyui.Completed:
		f.freeServer()
		if f.awaitsMessages() {
			return nil, nil //nolint:nilnil // the message of its end asks again
		}
		return state.Outcome, f.recordOutcome(ctx, state.Outcome)
	case comfyui.Failed:
		if f.awaitsMessages() {
			return nil, nil //nolint:nilnil // see above
		}
		return nil, f.failed(state.Outcome)
	case comfyui.Cancelled:
		return nil, fault.New(fault.Unavailable, fault.CodeServerInterrupted, "the prompt was interrupted on its server")
	case comfyui.Running:
		f.reattach(ctx)
	case comfyui.Pending:
	}
	return nil, f.checkProgress(state.Status)
}

// awaitsMessages reports whether messages of a prompt that has ended may still come, such as the pictures of its last node: those that
// have arrived wait while a picture is stored. Until the last one is there, it reports true for at most LostAfter.
func (f *follower) awaitsMessages() bool {
	if f.ended.IsZero() {
		f.ended = time.Now()
	}
	arriving := f.arriving || f.sent > 0 && len(f.attached.events) > 0
	return arriving && !f.succeeded && !f.over && time.Since(f.ended) < f.d.opts.LostAfter
}

// ErrNotBegun reports a prompt that waited in the queue of its server for the time limit of a node. The server may be busy with
// another program's prompt.
var ErrNotBegun = errors.New("the prompt was not begun")

// checkProgress returns an error if the prompt has waited, or has run without a message, for too long.
func (f *follower) checkProgress(status comfyui.Status) error {
	f.exists = true
	if f.status != status {
		f.status, f.progressed = status, time.Now()
	}
	limit := f.d.opts.NodeTimeout
	switch {
	case limit <= 0 || time.Since(f.progressed) < limit:
		return nil
	case status == comfyui.Pending:
		return fault.Wrap(ErrNotBegun, fault.Unavailable, fault.CodeServerGivenUp, "the server did not begin the prompt within %s", limit)
	}
	return fault.New(fault.Exhausted, fault.CodeNodeTimeout, "the node sent no sign of progress for %s", limit)
}
