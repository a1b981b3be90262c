package callstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// RunningAfter returns up to limit runs of calls that have been in flight for at least age and wait for no intent, in
// order of the calls' ids from the first one after the given id ("" = from the start). Paging visits every call.
func (s *Store) RunningAfter(ctx context.Context, after call.ID, age time.Duration, limit int) ([]call.Run, error) {
	units, err := s.slots.RunningAfter(ctx, s.pool, string(after), age, limit)
	runs := make([]call.Run, len(units))
	for i, u := range units {
		if err := json.Unmarshal(u.payload, &runs[i]); err != nil {
			return nil, fmt.Errorf("read the run of call %s: %w", u.id, err)
		}
	}
	return runs, err
}

func scanRun(row pgx.CollectableRow) (call.Run, error) {
	var payload []byte
	var r call.Run
	if err := row.Scan(&payload); err != nil {
		return r, err
	}
	return r, json.Unmarshal(payload, &r)
}

// Restart continues a call in a new workflow, and records it. The workflow reads the call's progress from the log. Restart does
// not change a call that was restarted or has ended meanwhile, and returns false.
func (s *Store) Restart(ctx context.Context, r call.Run, actor, reason string) (restarted bool, err error) {
	next := r
	next.Run++
	has, err := s.slots.Restart(ctx, s.events, string(r.Call), func(c *eventstore.Changes, u unit) error {
		if restarted = u.run == r.Run; !restarted {
			return eventstore.ErrNothing
		}
		u.run, u.payload = next.Run, payloadOf(next)
		c.Queue(`update call_slots set run = $2, payload = payload || $3 where call_id = $1`, r.Call, u.run, u.payload)
		c.Start(kind.Start(u))
		again := eventlog.Event{
			ID: call.EventID(r.Call, next.Run, call.TypeRequeued), Type: call.TypeRequeued,
			Data: call.RequeuedV1{Run: next.Run},
		}
		return c.Append(eventlog.AppendTo(r.Call.Stream(), r.Account, eventlog.Meta{Actor: actor, Reason: reason}, again))
	})
	return restarted && has && err == nil, err
}

// Stray returns the calls, in flight or queued, of nodes whose job run has ended, oldest first. It leaves out calls
// whose cancellation was requested.
func (s *Store) Stray(ctx context.Context, age time.Duration, limit int) ([]call.Run, error) {
	return postgres.Collect(ctx, s.pool, "read calls of jobs that ended", scanRun,
		`select payload from (
			select payload, admitted_at from call_slots where payload ? 'for' and not payload ? 'canceling' and admitted_at <= now() - $1::interval
			union all
			select payload, '-infinity' from call_queue where payload ? 'for') c
		where not exists (select from job_slots j
			where j.job_id = (c.payload->'for'->>'job')::uuid and j.run = (c.payload->'for'->>'run')::int)
		order by admitted_at limit $2`, age, limit)
}

// OfJob implements call.Store.
func (s *Store) OfJob(ctx context.Context, account string, of call.JobRun) ([]call.ID, error) {
	return postgres.Collect(ctx, s.pool, "read the calls of a job", pgx.RowTo[call.ID],
		`select call_id::text from (
			select call_id, account, payload from call_slots union all select call_id, account, payload from call_queue) c
		where account = $1 and payload->'for'->>'job' = $2 and payload->'for'->>'run' = $3::int::text`, account, of.Job, of.Run)
}

// Waiting returns up to limit accounts with queued calls, in order, from the first one after the given account.
func (s *Store) Waiting(ctx context.Context, after string, limit int) ([]string, error) {
	return s.slots.Accounts(ctx, s.pool, after, limit)
}

// TimeOut ends queued calls whose time in the queue has expired, and returns how many it ended.
func (s *Store) TimeOut(ctx context.Context, limit int) (int, error) {
	overdue, err := postgres.Collect(ctx, s.pool, "read queued calls", scanRun,
		`select payload from call_queue where expires_at <= now() order by expires_at limit $1`, limit)
	if err != nil {
		return 0, err
	}
	done := 0
	var failed []error
	for _, r := range overdue {
		event := call.FailedV1{Unsent: true, Failure: call.Failure{
			Type: call.QueueTimeout, Detail: "the request waited too long for a slot and was not run",
		}}
		ended, err := s.endQueued(ctx, r.Account, r.Call, call.TypeFailed, event, eventlog.Meta{Actor: "sweeper"})
		switch {
		case err != nil && (ctx.Err() != nil || fault.Is(err, fault.Unavailable)):
			return done, errors.Join(append(failed, err)...)
		case err != nil: // continue, so that later calls do not wait
			failed = append(failed, err)
		case ended:
			done++
		}
	}
	return done, errors.Join(failed...)
}

// Forget deletes expired keys and blob references. Every reader already ignores expired rows.
func (s *Store) Forget(ctx context.Context) error {
	var batch pgx.Batch // one transaction: a service with nothing to do forgets as often as a busy one
	for _, statement := range []string{
		`delete from call_keys where expires_at <= now()`,
		`delete from call_blobs where keep_until <= now()`,
		`delete from call_workers where seen_at <= now() - interval '1 day'`,
		`delete from call_windows where started <= now() - interval '32 days'`,
	} {
		batch.Queue(statement)
	}
	return postgres.Classify(s.pool.SendBatch(ctx, &batch).Close(), "forget what calls no longer need")
}

// Heartbeat records a heartbeat of a dispatching process.
func (s *Store) Heartbeat(ctx context.Context, worker string) error {
	_, err := s.pool.Exec(ctx, `insert into call_workers (id, seen_at) values ($1, now()) on conflict (id) do update set seen_at = now()`,
		worker)
	if err == nil {
		s.heartbeats.Reached()
	}
	return postgres.Classify(err, "record a heartbeat")
}

// Alive reports whether a dispatching process still sends heartbeats, as call.Heartbeats decides. A process without a
// heartbeat in the last day is not alive.
func (s *Store) Alive(ctx context.Context, worker string) (bool, error) {
	var sign time.Time
	ok, err := postgres.Find(ctx, s.pool, "read a heartbeat", []any{&sign}, `select seen_at from call_workers where id = $1`, worker)
	if err != nil || !ok {
		return false, err
	}
	return s.heartbeats.Alive(worker, sign), nil
}

// ForgetWorkers deletes the heartbeats of ended processes: those whose name ends with mark, except one.
func (s *Store) ForgetWorkers(ctx context.Context, mark, except string) error {
	_, err := s.pool.Exec(ctx, `delete from call_workers where right(id, length($1)) = $1 and id <> $2`, mark, except)
	return postgres.Classify(err, "forget the heartbeats of ended processes")
}

// Referenced implements asset.References for the bodies of calls.
func (s *Store) Referenced(ctx context.Context, refs []blob.Ref) (map[blob.Ref]bool, error) {
	raw := make([][]byte, len(refs))
	for i := range refs {
		raw[i] = refs[i][:]
	}
	used, err := postgres.Collect(ctx, s.pool, "look for references of calls", pgx.RowTo[[]byte],
		`select distinct ref from call_blobs where ref = any($1::bytea[]) and keep_until > now()`, raw)
	if err != nil {
		return nil, err
	}
	found := make(map[blob.Ref]bool, len(used))
	for _, ref := range used {
		if len(ref) != len(blob.Ref{}) {
			return nil, fmt.Errorf("a blob reference of %d bytes", len(ref))
		}
		found[blob.Ref(ref)] = true
	}
	return found, nil
}
