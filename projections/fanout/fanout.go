// Package fanout turns the facts of jobs into the messages that WebSocket and SSE
// clients receive. It runs on every replica that has clients, follows the log from
// now on, and keeps no checkpoint: what it says is also readable by GET. Its one
// promise is that every watcher of an account, on every replica, sees the same
// messages in the same order, with live frames in their place between the facts.
package fanout

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/job"
	"github.com/millrace-dev/millrace/internal/stream"
)

// ActiveJobs lists the unfinished jobs of an account, no older than the log at the time of the call.
type ActiveJobs interface {
	Active(ctx context.Context, account string) ([]job.Job, error)
}

// StreamReader reads an event stream; eventlog.Store is one.
type StreamReader interface {
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventlog.Recorded, error)
}

// loadTimeout bounds the reading of an account's unfinished jobs for its first watcher.
const loadTimeout = 10 * time.Second

// Fanout follows the log and live frames, and publishes to a hub. Only accounts with
// watchers cost anything.
type Fanout struct {
	jobs     ActiveJobs
	events   StreamReader
	registry *eventlog.Registry
	hub      *stream.Hub

	mu       sync.Mutex // guards the fields below, and keeps folding and publishing in one order
	position int64      // of the last fact seen
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

// New returns a fan-out that has seen the log up to position; the facts behind it must
// be given to Handle without a gap.
func New(position int64, jobs ActiveJobs, events StreamReader, registry *eventlog.Registry, hub *stream.Hub) *Fanout {
	return &Fanout{
		jobs: jobs, events: events, registry: registry, hub: hub, position: position, rooms: map[string]*entry{},
	}
}

// Handle takes facts in the order of the log. Facts that it has seen are passed over.
func (f *Fanout) Handle(ctx context.Context, batch []eventlog.Recorded) error {
	for _, rec := range batch {
		if err := f.handle(ctx, rec); err != nil {
			return fmt.Errorf("fan out event %d: %w", rec.Position, err)
		}
	}
	return nil
}

func (f *Fanout) handle(ctx context.Context, rec eventlog.Recorded) error {
	room, ok := f.admit(rec)
	if !ok {
		return nil
	}
	data, err := f.registry.Decode(rec.Type, rec.Data)
	if err != nil {
		return err
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
	f.hub.Publish(rec.Account, room.apply(rec, data)...)
	f.position = rec.Position
	return nil
}

// admit decides whether a fact is to be folded now. It is not when it was seen before,
// when nobody watches its account, or when the account's room is still being loaded.
func (f *Fanout) admit(rec eventlog.Recorded) (*entry, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rec.Position <= f.position {
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
	const page = 500
	var all []eventlog.Recorded
	for {
		after := int64(len(all)) // versions count from 1 without gaps
		recs, err := f.events.ReadStream(ctx, name, after, page)
		if err != nil {
			return nil, fmt.Errorf("read stream %s: %w", name, err)
		}
		for _, rec := range recs {
			if rec.Position > upTo {
				return all, nil
			}
			all = append(all, rec)
		}
		if len(recs) < page {
			return all, nil
		}
	}
}

// replay folds facts without telling anybody. The caller holds mu.
func (f *Fanout) replay(r *room, history []eventlog.Recorded) error {
	for _, rec := range history {
		data, err := f.registry.Decode(rec.Type, rec.Data)
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
	f.hub.Publish(frame.Account, e.frame(frame)...)
}

// Watches reports whether anybody on this replica watches the account.
func (f *Fanout) Watches(account string) bool { return f.hub.Watched(account) > 0 }

// Subscribe returns a subscription to an account's messages and the state that they
// continue: no message is missing between the two, none is in both.
func (f *Fanout) Subscribe(ctx context.Context, account string) (*stream.Subscription, stream.Snapshot, error) {
	e, mine := f.enter(account)
	defer f.leave(e)
	if mine {
		f.load(ctx, account, e)
	}
	select {
	case <-e.ready:
	case <-ctx.Done():
		return nil, stream.Snapshot{}, ctx.Err()
	}
	if e.err != nil {
		return nil, stream.Snapshot{}, fmt.Errorf("load the jobs of account %s: %w", account, e.err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hub.Subscribe(account), e.snapshot(), nil
}

// enter returns the account's room and keeps it from being given up; the caller must
// load one that did not exist.
func (f *Fanout) enter(account string) (e *entry, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e = f.rooms[account]
	if e == nil {
		e = &entry{room: newRoom(), ready: make(chan struct{}), loading: true, since: f.position}
		f.rooms[account], mine = e, true
	}
	e.joining++
	return e, mine
}

func (f *Fanout) leave(e *entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.joining--
}

// load furnishes a room with the account's jobs as they were at the position where the
// room's own facts begin.
func (f *Fanout) load(ctx context.Context, account string, e *entry) {
	defer close(e.ready)
	// Others wait for this load too: it does not end with the first one's connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	waiting, histories, err := f.active(ctx, account, e.since)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		err = f.furnish(account, e, waiting, histories)
	}
	if err != nil {
		e.err = err
		delete(f.rooms, account)
	}
}

// active returns the jobs that had not been admitted at the position, and the facts up
// to there of the others: what was said about a running job is more than its state holds.
func (f *Fanout) active(ctx context.Context, account string, at int64) (waiting []job.Job, facts []eventlog.Recorded, err error) {
	jobs, err := f.jobs.Active(ctx, account)
	if err != nil {
		return nil, nil, err
	}
	for _, j := range jobs {
		if j.Position <= at && j.AdmittedAt == nil {
			waiting = append(waiting, j)
			continue
		}
		history, err := f.stream(ctx, j.ID.Stream(), at)
		if err != nil {
			return nil, nil, err
		}
		facts = append(facts, history...)
	}
	return waiting, facts, nil
}

// furnish fills the room and catches up with what came meanwhile. The caller holds mu.
func (f *Fanout) furnish(account string, e *entry, waiting []job.Job, histories []eventlog.Recorded) error {
	for _, j := range waiting {
		e.adopt(j)
	}
	if err := f.replay(e.room, histories); err != nil {
		return err
	}
	e.loading = false
	return f.replay(e.room, e.pending)
}
