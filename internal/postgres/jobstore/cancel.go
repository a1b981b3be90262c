package jobstore

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// queueFullRetry is the Retry-After of queue_full: a full queue moves within seconds.
const queueFullRetry = 5 * time.Second

// Cancel implements job.Store.
func (s *Store) Cancel(ctx context.Context, r job.CancelRequest) ([]job.ID, error) {
	var canceled []job.ID
	var state admissionState
	var waiting, running []job.RunRef
	_, err := s.events.Write(ctx, eventstore.Decision{
		What:    "cancel jobs of account " + r.Account,
		Repeats: true, // of requests to cancel
		Read: func(q *pgx.Batch) {
			queueLockAdmission(q, r.Account, 0, &state)
			s.slots.Withdraw(q, r.Account, ids(r.IDs), &waiting)
			s.slots.OfAccount(q, r.Account, ids(r.IDs), &running)
		},
		Decide: func(ctx context.Context, tx postgres.Tx, c *eventstore.Changes) error {
			canceled = nil
			for _, ref := range waiting {
				canceled = append(canceled, ref.Job)
			}
			if err := s.endWaiting(ctx, tx, c, state, r.Account, waiting,
				func(id job.ID) eventlog.Append { return canceledWaiting(id, r) }); err != nil {
				return err
			}
			for _, ref := range running {
				canceled = append(canceled, ref.Job)
				c.Start(outbox.Intent{WorkflowID: ref.Job.WorkflowID(ref.Run), Kind: outbox.Cancel})
				if err := c.Append(cancelRequested(ref, r)); err != nil {
					return err
				}
			}
			if len(canceled) == 0 {
				return eventstore.ErrNothing
			}
			return nil
		},
	})
	return canceled, err
}

// endWaiting ends jobs that left the queue: their events, sealed credentials and reserved credit.
func (s *Store) endWaiting(ctx context.Context, tx postgres.Tx, c *eventstore.Changes, state admissionState, account string,
	waiting []job.RunRef, end func(job.ID) eventlog.Append,
) error {
	left := make([]job.ID, len(waiting))
	for i, ref := range waiting {
		left[i] = ref.Job
		if err := c.Append(end(ref.Job)); err != nil {
			return err
		}
	}
	c.Queue(`delete from sealed_credentials where job_id = any($1::uuid[])`, ids(left))
	released, err := s.releaseReservations(ctx, tx, state, account, left)
	if err != nil {
		return err
	}
	return c.Append(released...)
}

func canceledWaiting(id job.ID, r job.CancelRequest) eventlog.Append {
	return eventlog.AppendTo(id.Stream(), r.Account, cancelMeta(r),
		eventlog.Event{ID: job.EventID(id, 0, "", 0, job.TypeCanceled), Type: job.TypeCanceled, Data: job.CanceledV1{}}).Closing()
}

// cancelRequested has one event id per run, so that a second request records nothing.
func cancelRequested(of job.RunRef, r job.CancelRequest) eventlog.Append {
	id := job.EventID(of.Job, of.Run, "", 0, job.TypeCancelRequested)
	return eventlog.AppendTo(of.Job.Stream(), r.Account, cancelMeta(r),
		eventlog.Event{ID: id, Type: job.TypeCancelRequested, Data: job.CancelRequestedV1{Run: of.Run}})
}

func cancelMeta(r job.CancelRequest) eventlog.Meta {
	return eventlog.Meta{Actor: cmp.Or(r.Actor, r.Account), RequestID: r.RequestID, Reason: r.Reason}
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
	return postgres.Collect(ctx, s.pool, "list jobs of account "+account, pgx.RowTo[job.ID], query, account)
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
	case fault.CodeOf(err) == fault.CodeMissingAsset, fault.CodeOf(err) == fault.CodeQueueFull,
		fault.CodeOf(err) == fault.CodeIdempotencyKeyReuse:
		return err
	case fault.Is(err, fault.Conflict), eventlog.IsRefused(err):
		return duplicateJob(err)
	default:
		return err
	}
}

func duplicateJob(cause error) error {
	return fault.Wrap(cause, fault.Conflict, fault.CodeDuplicateJob, "a job with this id exists already")
}
