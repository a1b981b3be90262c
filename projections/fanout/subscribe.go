package fanout

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

// loadTimeout bounds the reading of an account's unfinished jobs for its first watcher.
const loadTimeout = 10 * time.Second

// Subscribe returns a subscription to an account's messages and the state that they
// continue: no message is missing between the two, none is in both.
func (f *Fanout) Subscribe(ctx context.Context, account string) (*stream.Subscription, stream.Snapshot, error) {
	select {
	case <-f.begun:
	case <-ctx.Done():
		return nil, stream.Snapshot{}, ctx.Err()
	}
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
		e = &entry{room: newRoom(f.RuntimeNames), ready: make(chan struct{}), loading: true, since: f.position}
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
