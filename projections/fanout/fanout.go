// Package fanout turns the events of jobs, exports and downloads into the messages for WebSocket and SSE clients. It
// runs on every replica with clients, follows the log from its current end, and has no checkpoint, because clients
// can read the same state by GET. It promises that every subscriber of an account, on every replica, receives the
// same messages in the same order, with live frames in their place between the events.
package fanout

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

// ActiveJobs lists the unfinished jobs of an account, and those that have just ended. The result is not older than the log at the
// time of the call.
type ActiveJobs interface {
	Active(ctx context.Context, account string) ([]job.Job, error)
	// JustEnded lists those of the account's newest jobs that have ended since a time, oldest first.
	JustEnded(ctx context.Context, account string, since time.Time) ([]job.Job, error)
}

// Fanout follows the log and live frames, and publishes messages to a hub. It keeps state
// only for accounts with subscribers.
type Fanout struct {
	// RuntimeNames replaces exception types by the names that the self-hosted runtime uses. It must be set before
	// Begin.
	RuntimeNames bool

	jobs       ActiveJobs
	events     eventlog.Streams
	registry   *eventlog.Registry
	hub        *stream.Hub
	log        *slog.Logger
	positioned chan struct{} // closed when position is known

	mu       sync.Mutex          // guards the fields below; events are folded and published under it, in one order
	position int64               // of the last job event that was handled
	tasks    map[task.Kind]int64 // of the last event of each kind that was handled
	accounts map[string]*accountEntry
	previews *previews // of the accounts
}

// accountEntry is the state of an account, or one that is being loaded.
type accountEntry struct {
	*accountState
	ready   chan struct{} // closed when the state is loaded, or err is set
	loading bool
	joining int                 // calls of Subscribe that wait for the state
	since   int64               // the loaded state includes the events up to this position
	pending []eventlog.Recorded // events that arrived during the load
	err     error
}

// New returns a Fanout that publishes to hub. Subscribe waits until Begin is called.
func New(jobs ActiveJobs, events eventlog.Streams, registry *eventlog.Registry, hub *stream.Hub, log *slog.Logger) *Fanout {
	return &Fanout{
		jobs: jobs, events: events, registry: registry, hub: hub, log: log,
		positioned: make(chan struct{}), accounts: map[string]*accountEntry{}, tasks: map[task.Kind]int64{}, previews: newPreviews(),
	}
}

// Begin sets the position in the log from which the fan-out starts: the caller passes every
// later event to Handle. It must be called once.
func (f *Fanout) Begin(position int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.position = position
	close(f.positioned)
}

// Handle takes events in the order of the log. It skips events that it has handled, and all
// events before Begin. If an event cannot be folded, the subscriptions of its account are
// closed, so that clients reconnect and reload; other accounts are not affected.
func (f *Fanout) Handle(ctx context.Context, batch []eventlog.Recorded) error {
	for _, rec := range batch {
		if err := f.handle(ctx, rec); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f.log.Error("fan-out cannot fold an event; the account's subscribers are disconnected",
				"position", rec.Position, "event_type", rec.Type, "error", err)
			f.abandon(rec)
		}
	}
	return nil
}

func (f *Fanout) handle(ctx context.Context, rec eventlog.Recorded) error {
	entry, ok := f.admit(rec)
	if !ok {
		return nil
	}
	history, err := f.missing(ctx, entry, rec)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.replay(entry.accountState, history); err != nil {
		return err
	}
	data, err := f.registry.DecodeKnown(rec)
	if err != nil {
		return err
	}
	f.hub.Publish(rec.Account, entry.apply(rec, data)...)
	f.position = rec.Position
	return nil
}

// abandon discards the state of an account, one of whose events could not be folded, and
// closes the account's subscriptions.
func (f *Fanout) abandon(rec eventlog.Recorded) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.position = rec.Position
	f.dropAccount(rec.Account)
	f.hub.Cut(rec.Account, stream.CloseLost)
}

// dropAccount discards the state of an account. The caller must hold mu.
func (f *Fanout) dropAccount(account string) {
	if e := f.accounts[account]; e != nil {
		f.previews.remove(e.accountState)
	}
	delete(f.accounts, account)
}

// admit reports whether to fold an event now, and returns the state of its account. An event
// is not folded when it was handled before, when its account has no subscribers, or when the
// account's state is still being loaded; then the event is kept until the load ends.
func (f *Fanout) admit(rec eventlog.Recorded) (*accountEntry, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.following() || rec.Position <= f.position {
		return nil, false
	}
	e := f.accounts[rec.Account]
	if _, isJob := job.IDOfStream(rec.Stream); e == nil || !isJob {
		f.position = rec.Position
		return nil, false
	}
	if e.loading {
		e.pending = append(e.pending, rec)
		f.position = rec.Position
		return nil, false
	}
	if e.joining == 0 && f.hub.Watched(rec.Account) == 0 {
		f.dropAccount(rec.Account)
		f.position = rec.Position
		return nil, false
	}
	return e, true
}

// following reports whether Begin was called. The caller must hold mu.
func (f *Fanout) following() bool {
	select {
	case <-f.positioned:
		return true
	default:
		return false
	}
}

// missing reads the earlier events of rec's job if the account's state does not have the job:
// the load does not list a job that ended between the log's position and the load.
func (f *Fanout) missing(ctx context.Context, e *accountEntry, rec eventlog.Recorded) ([]eventlog.Recorded, error) {
	id, _ := job.IDOfStream(rec.Stream)
	f.mu.Lock()
	known := e.jobs[id] != nil
	f.mu.Unlock()
	if known || rec.Version == 1 {
		return nil, nil
	}
	return f.stream(ctx, rec.Stream, rec.Position-1)
}

// stream reads a whole stream up to a position.
func (f *Fanout) stream(ctx context.Context, name string, upTo int64) ([]eventlog.Recorded, error) {
	var all []eventlog.Recorded
	for rec, err := range eventlog.Read(ctx, f.events, name, 0) {
		if err != nil {
			return nil, fmt.Errorf("read stream %s: %w", name, err)
		}
		if rec.Position > upTo {
			break
		}
		all = append(all, rec)
	}
	return all, nil
}

// replay folds events without publishing messages. The caller must hold mu.
func (f *Fanout) replay(r *accountState, history []eventlog.Recorded) error {
	for _, rec := range history {
		data, err := f.registry.DecodeKnown(rec)
		if err != nil {
			return err
		}
		r.apply(rec, data)
	}
	return nil
}

// HandleFrame publishes the messages of a live frame.
func (f *Fanout) HandleFrame(frame stream.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.accounts[frame.Account]
	if e == nil || e.loading {
		return
	}
	if frame.Kind == stream.FrameTask {
		f.hub.Publish(frame.Account, e.taskProgress(*frame.Task)...)
	} else {
		f.hub.Publish(frame.Account, e.frame(frame)...)
	}
}
