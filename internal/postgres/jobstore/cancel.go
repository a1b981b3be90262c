package jobstore

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/outboxstore"
)

// queueFullRetry is the Retry-After of queue_full: a full queue moves within seconds.
const queueFullRetry = 5 * time.Second

// claimKey claims an idempotency key, or an expired one again, for a job. It returns no row if the key is in use. The
// key names the job until the job's first answer was given.
const claimKey = `insert into idempotency_keys (account, operation, key, expires_at, holder)
	values ($1, $2, $3, now() + interval '24 hours', $4)
	on conflict (account, operation, key) do update set expires_at = excluded.expires_at, holder = excluded.holder
	where idempotency_keys.expires_at <= now()`

// claimed returns keyReused if no row was written.
func claimed(tag pgconn.CommandTag) error {
	if tag.RowsAffected() == 1 {
		return nil
	}
	return keyReused()
}

func keyReused() error {
	return fault.New(fault.Conflict, fault.CodeIdempotencyKeyReuse, "this Idempotency-Key was already used in the last 24 hours")
}

// Cancel implements job.Store.
func (s *Store) Cancel(ctx context.Context, r job.CancelRequest) (job.Cancellation, error) {
	var out job.Cancellation
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		out = job.Cancellation{}
		l, err := lockAdmission(ctx, tx, r.Account)
		if err != nil {
			return err
		}
		waiting, err := s.unqueue(ctx, tx, r.Account, r.IDs)
		if err != nil {
			return err
		}
		withSlot, err := s.runsWithSlot(ctx, tx, r.Account, r.IDs)
		if err != nil {
			return err
		}
		appends := make([]eventlog.Append, 0, len(waiting)+len(withSlot))
		for _, id := range waiting {
			appends = append(appends, canceledWaiting(id, r))
			out.IDs = append(out.IDs, id)
		}
		for _, h := range withSlot {
			appends = append(appends, cancelRequested(h, r))
			out.IDs = append(out.IDs, h.Job)
			out.Intents = append(out.Intents, outbox.Intent{WorkflowID: h.Job.WorkflowID(h.Run), Kind: outbox.Cancel})
		}
		if len(appends) == 0 {
			return nil
		}
		if out.Intents, err = outboxstore.Insert(ctx, tx, out.Intents); err != nil {
			return err
		}
		released, err := s.releaseReservations(ctx, tx, l, r.Account, waiting)
		if err != nil {
			return err
		}
		_, err = s.events.AppendAll(ctx, tx, append(appends, released...))
		return err
	})
	if err != nil {
		return job.Cancellation{}, postgres.Classify(err, "cancel jobs of account "+r.Account)
	}
	s.events.Wake()
	return out, nil
}

func canceledWaiting(id job.ID, r job.CancelRequest) eventlog.Append {
	return eventlog.Append{
		Stream: id.Stream(), Account: r.Account, Expected: eventlog.AnyVersion, Close: true,
		Events: []eventlog.Event{{ID: job.EventID(id, 0, "", 0, job.TypeCanceled), Type: job.TypeCanceled, Data: job.CanceledV1{}}},
		Meta:   eventlog.Meta{Actor: cmp.Or(r.Actor, r.Account), RequestID: r.RequestID, Reason: r.Reason},
	}
}

// cancelRequested has one event id per run, so that a second request records nothing.
func cancelRequested(h job.RunRef, r job.CancelRequest) eventlog.Append {
	return eventlog.Append{
		Stream: h.Job.Stream(), Account: r.Account, Expected: eventlog.AnyVersion,
		Events: []eventlog.Event{{
			ID:   job.EventID(h.Job, h.Run, "", 0, job.TypeCancelRequested),
			Type: job.TypeCancelRequested, Data: job.CancelRequestedV1{Run: h.Run},
		}},
		Meta: eventlog.Meta{Actor: cmp.Or(r.Actor, r.Account), RequestID: r.RequestID, Reason: r.Reason},
	}
}

// unqueue removes the named jobs from the account's queue, and returns those that were in it.
func (s *Store) unqueue(ctx context.Context, tx pgx.Tx, account string, named []job.ID) ([]job.ID, error) {
	var gone []job.RunRef
	q := &pgx.Batch{}
	s.slots.Withdraw(q, account, ids(named), &gone)
	if err := run(ctx, tx, q); err != nil {
		return nil, err
	}
	left := make([]job.ID, len(gone))
	for i, ref := range gone {
		left[i] = ref.Job
	}
	_, err := tx.Exec(ctx, `delete from sealed_credentials where job_id = any($1::uuid[])`, ids(left))
	return left, postgres.Classify(err, "take jobs out of the queue")
}

func (s *Store) runsWithSlot(ctx context.Context, tx pgx.Tx, account string, only []job.ID) ([]job.RunRef, error) {
	rows, err := tx.Query(ctx, `select job_id::text, account, run from job_slots
		where account = $1 and job_id = any($2::uuid[]) order by admitted_at, job_id`, account, ids(only))
	if err != nil {
		return nil, postgres.Classify(err, "read slots")
	}
	return pgx.CollectRows(rows, kind.Scan)
}

// Waiting implements job.Store.
func (s *Store) Waiting(ctx context.Context, account string) ([]job.ID, error) {
	return s.list(ctx, `select job_id::text from job_queue where account = $1 order by number, seq`, account)
}

// WithSlot implements job.Store.
func (s *Store) WithSlot(ctx context.Context, account string) ([]job.ID, error) {
	return s.list(ctx, `select job_id::text from job_slots where account = $1 order by admitted_at, job_id`, account)
}

func (s *Store) list(ctx context.Context, query, account string) ([]job.ID, error) {
	return postgres.Collect(ctx, s.pool, "list jobs of account "+account, pgx.RowTo[job.ID],
		query, account)
}

func ids(in []job.ID) []string {
	out := make([]string, len(in))
	for i, id := range in {
		out[i] = string(id)
	}
	return out
}

// classifySubmit returns the error for the rule that a submission violated.
func classifySubmit(err error) error {
	switch err = postgres.Classify(err, "submit a job"); {
	case fault.CodeOf(err) == fault.CodeMissingAsset, fault.CodeOf(err) == fault.CodeQueueFull, fault.CodeOf(err) == fault.CodeIdempotencyKeyReuse:
		return err
	case fault.Is(err, fault.Conflict), eventstore.IsRefused(err):
		return duplicateJob(err)
	default:
		return err
	}
}

func duplicateJob(cause error) error {
	return fault.Wrap(cause, fault.Conflict, fault.CodeDuplicateJob, "a job with this id exists already")
}
