// Package fanout turns the facts of jobs, and of exports, into the messages that WebSocket and SSE
// clients receive. It runs on every replica that has clients, follows the log from
// now on, and keeps no checkpoint: what it says is also readable by GET. Its one
// promise is that every watcher of an account, on every replica, sees the same
// messages in the same order, with live frames in their place between the facts.
package fanout

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

// ActiveJobs lists the unfinished jobs of an account, no older than the log at the time of the call.
type ActiveJobs interface {
	Active(ctx context.Context, account string) ([]job.Job, error)
}

// Fanout follows the log and live frames, and publishes to a hub. Only accounts with
// watchers cost anything.
type Fanout struct {
	// RuntimeNames makes exception types those of the self-hosted runtime (W-64). It is set before Begin.
	RuntimeNames bool

	jobs     ActiveJobs
	events   eventlog.Streams
	registry *eventlog.Registry
	hub      *stream.Hub
	log      *slog.Logger
	begun    chan struct{} // closed when position is known

	mu       sync.Mutex // guards the fields below, and keeps folding and publishing in one order
	position int64      // of the last fact of a job that was seen
	exported int64      // of the last fact of an export
	rooms    map[string]*entry
}

// entry is a room, or one that is being furnished.
type entry struct {
	*room
	ready   chan struct{} // closed when room can be used, or err is set
	loading bool
	joining int                 // subscribers on their way in
	since   int64               // facts up to here are in the room as loaded
	pending []eventlog.Recorded // facts that came meanwhile
	err     error
}

// New returns a fan-out that publishes to hub. It serves nobody before Begin.
func New(jobs ActiveJobs, events eventlog.Streams, registry *eventlog.Registry, hub *stream.Hub, log *slog.Logger) *Fanout {
	return &Fanout{
		jobs: jobs, events: events, registry: registry, hub: hub, log: log,
		begun: make(chan struct{}), rooms: map[string]*entry{},
	}
}

// Begin says from where on the fan-out follows the log: every fact behind position is
// given to Handle from now on. It is called once.
func (f *Fanout) Begin(position int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.position = position
	close(f.begun)
}

// Handle takes facts in the order of the log. Those that it has seen are passed over, and
// so is everything before Begin. A fact that cannot be followed costs its account's watchers
// their subscriptions, which makes them look again, and never holds up the others.
func (f *Fanout) Handle(ctx context.Context, batch []eventlog.Recorded) error {
	for _, rec := range batch {
		if err := f.handle(ctx, rec); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f.log.Error("fan-out lost an account's jobs, its watchers are cut off",
				"position", rec.Position, "event_type", rec.Type, "error", err)
			f.abandon(rec)
		}
	}
	return nil
}

func (f *Fanout) handle(ctx context.Context, rec eventlog.Recorded) error {
	room, ok := f.admit(rec)
	if !ok {
		return nil
	}
	history, err := f.missing(ctx, room, rec)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.replay(room.room, history); err != nil {
		return err
	}
	data, err := f.registry.DecodeKnown(rec)
	if err != nil {
		return err
	}
	f.hub.Publish(rec.Account, room.apply(rec, data)...)
	f.position = rec.Position
	return nil
}

// abandon gives up an account's room at a fact that could not be followed.
func (f *Fanout) abandon(rec eventlog.Recorded) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.position = rec.Position
	delete(f.rooms, rec.Account)
	f.hub.Cut(rec.Account, stream.CloseLost)
}

// admit decides whether a fact is to be folded now. It is not when it was seen before,
// when nobody watches its account, or when the account's room is still being loaded.
func (f *Fanout) admit(rec eventlog.Recorded) (*entry, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.following() || rec.Position <= f.position {
		return nil, false
	}
	e := f.rooms[rec.Account]
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
		delete(f.rooms, rec.Account)
		f.position = rec.Position
		return nil, false
	}
	return e, true
}

// following reports whether Begin was called. The caller holds mu.
func (f *Fanout) following() bool {
	select {
	case <-f.begun:
		return true
	default:
		return false
	}
}

// missing reads the facts before rec of a job that the room does not know: one that the
// load could not see, because it ended between the log's position and the load.
func (f *Fanout) missing(ctx context.Context, e *entry, rec eventlog.Recorded) ([]eventlog.Recorded, error) {
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

// replay folds facts without telling anybody. The caller holds mu.
func (f *Fanout) replay(r *room, history []eventlog.Recorded) error {
	for _, rec := range history {
		data, err := f.registry.DecodeKnown(rec)
		if err != nil {
			return err
		}
		r.apply(rec, data)
	}
	return nil
}

// HandleFrame takes a live frame.
func (f *Fanout) HandleFrame(frame stream.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.rooms[frame.Account]
	if e == nil || e.loading {
		return
	}
	if frame.Kind == stream.FrameExport {
		f.hub.Publish(frame.Account, e.exportProgress(*frame.Export)...)
		return
	}
	f.hub.Publish(frame.Account, e.frame(frame)...)
}

// Watches reports whether anybody on this replica watches the account.
func (f *Fanout) Watches(account string) bool { return f.hub.Watched(account) > 0 }
