package fanout

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

// loadTimeout bounds the reading of an account's unfinished jobs for its first subscriber.
const loadTimeout = 10 * time.Second

// Subscribe returns a subscription to an account's messages and a snapshot of its state. The messages continue the
// snapshot: no message is missing, and none is contained in both.
func (f *Fanout) Subscribe(ctx context.Context, account string) (*stream.Subscription, stream.Snapshot, error) {
	select {
	case <-f.positioned:
	case <-ctx.Done():
		return nil, stream.Snapshot{}, ctx.Err()
	}
	e, mine := f.enter(account)
	defer f.unsubscribe(e)
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

// enter returns the account's entry and protects it from removal until leave. If mine is
// true, the entry is new and the caller must load it.
func (f *Fanout) enter(account string) (e *accountEntry, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e = f.accounts[account]
	if e == nil {
		e = &accountEntry{accountState: newAccountState(f.RuntimeNames, f.previews), ready: make(chan struct{}), loading: true, since: f.position}
		f.accounts[account], mine = e, true
	}
	e.joining++
	return e, mine
}

func (f *Fanout) unsubscribe(e *accountEntry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.joining--
}

// load fills an entry with the account's jobs as they were at position e.since.
func (f *Fanout) load(ctx context.Context, account string, e *accountEntry) {
	defer close(e.ready)
	// Other subscribers wait for this load: it must not end with the first one's connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	waiting, histories, err := f.active(ctx, account, e.since)
	var ended []job.Job
	if err == nil {
		ended, err = f.jobs.JustEnded(ctx, account, time.Now().Add(-endedWithin))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		for _, j := range ended { // later ends are announced, or are in e.pending
			if j.Position <= e.since {
				e.remember(j)
			}
		}
		err = f.fill(account, e, waiting, histories)
	}
	if err != nil {
		e.err = err
		f.dropAccount(account)
	}
}

// active returns the jobs that had not been admitted at position at, and the events up to at of the other jobs: the
// state of a running job does not show which messages were sent.
func (f *Fanout) active(ctx context.Context, account string, at int64) (waiting []job.Job, events []eventlog.Recorded, err error) {
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
		events = append(events, history...)
	}
	return waiting, events, nil
}

// fill adds the loaded jobs to the entry and folds the events that arrived during the load. The caller must hold mu.
func (f *Fanout) fill(account string, e *accountEntry, waiting []job.Job, histories []eventlog.Recorded) error {
	for _, j := range waiting {
		e.adopt(j)
	}
	if err := f.replay(e.accountState, histories); err != nil {
		return err
	}
	e.loading = false
	return f.replay(e.accountState, e.pending)
}
