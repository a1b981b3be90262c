package jobs

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
)

// Changes changes jobs for operators. Each change is recorded as an event with its actor and reason.
type Changes struct {
	Pool    *postgres.Pool
	Types   *eventlog.Registry
	Events  *eventstore.Store
	Jobs    *jobstore.Store
	Retrier job.Retrier
}

// Retry submits an ended job again as a new job.
func (o *Changes) Retry(ctx context.Context, r job.Retry) (Outcome, error) {
	made, err := o.Retrier.Retry(ctx, r)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Job: r.Of, Public: made.Job.Origin.Chosen, Done: "retried", Retry: made.Job.ID}, nil
}

// RetryOnce retries a job, unless it was retried before. It serves commands on many jobs.
func (o *Changes) RetryOnce(ctx context.Context, r job.Retry) (Outcome, error) {
	skip, err := o.skipped(ctx, r.Of)
	if err != nil || skip.Job != "" {
		return skip, err
	}
	return o.Retry(ctx, r)
}

// skipped returns the outcome for a job that was retried before. If the job was not retried, the outcome's Job is "".
func (o *Changes) skipped(ctx context.Context, id job.ID) (Outcome, error) {
	made, err := o.Jobs.Retries(ctx, id)
	if n := len(made); n > 0 {
		return Outcome{Job: id, Done: "skipped", Retry: made[n-1], Detail: "was retried before"}, nil
	}
	return Outcome{}, err
}

// Cancel stops a waiting or running job. A job that has ended is Conflict.
func (o *Changes) Cancel(ctx context.Context, id job.ID, by operate.Attribution) (Outcome, error) {
	state, _, err := o.Retrier.Sources.Read(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	done, err := o.Jobs.Cancel(ctx, job.CancelRequest{
		Account: state.Account, IDs: []job.ID{id}, RequestID: by.RequestID, Actor: by.Actor,
		Reason: by.Reason,
	})
	if err != nil {
		return Outcome{}, err
	}
	if len(done) == 0 {
		return Outcome{}, errEnded(id)
	}
	return Outcome{Job: id, Done: "canceled"}, nil
}

// Requeue starts a job's run again if no workflow runs it.
func (o *Changes) Requeue(ctx context.Context, id job.ID, by operate.Attribution) (Outcome, error) {
	if _, _, err := o.Retrier.Sources.Read(ctx, id); err != nil {
		return Outcome{}, err
	}
	if err := o.Jobs.Requeue(ctx, id, by.Actor, by.Reason); err != nil {
		return Outcome{}, err
	}
	return Outcome{Job: id, Done: "requeued"}, nil
}

// A dry run makes the same checks as the change itself, so that a change is not refused after its dry run
// succeeded. It skips only checks whose result may change before then: space in a queue, credit, and whether a
// running job has ended.

// WouldRetry is the dry run of Retry.
func (o *Changes) WouldRetry(ctx context.Context, r job.Retry) (Outcome, error) {
	return Outcome{Job: r.Of, Done: "would retry"}, o.Retrier.Check(ctx, r)
}

// WouldRetryOnce is the dry run of RetryOnce.
func (o *Changes) WouldRetryOnce(ctx context.Context, r job.Retry) (Outcome, error) {
	skip, err := o.skipped(ctx, r.Of)
	if err != nil {
		return Outcome{}, err
	}
	if skip.Job == "" {
		return o.WouldRetry(ctx, r)
	}
	skip.Done = "would be skipped"
	return skip, nil
}

// WouldCancel is the dry run of Cancel.
func (o *Changes) WouldCancel(ctx context.Context, id job.ID) (Outcome, error) {
	state, _, err := o.Retrier.Sources.Read(ctx, id)
	if err == nil && state.State.Final() {
		err = errEnded(id)
	}
	return Outcome{Job: id, Done: "would cancel"}, err
}

// WouldRequeue is the dry run of Requeue.
func (o *Changes) WouldRequeue(ctx context.Context, id job.ID) (Outcome, error) {
	if _, _, err := o.Retrier.Sources.Read(ctx, id); err != nil {
		return Outcome{}, err
	}
	return Outcome{Job: id, Done: "would requeue"}, o.Jobs.HasSlot(ctx, id)
}

func errEnded(id job.ID) error {
	return fault.New(fault.Conflict, fault.CodeJobFinished, "job %s has ended", id)
}
