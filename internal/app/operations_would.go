package app

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	operatejobs "github.com/millrace-dev/millrace/internal/operate/jobs"
)

// A dry run asks the same questions as the change itself, so that it does not promise what is then refused. Only
// what can change until then is left out: room in a queue, credit, and the end of a job that runs.

// wouldRetry is retry without a new job.
func (o *operations) wouldRetry(ctx context.Context, r job.Retry) (operatejobs.Outcome, error) {
	return operatejobs.Outcome{Job: r.Of, Done: "would retry"}, o.retrier.Check(ctx, r)
}

// wouldRetryOnce is retryOnce without a new job.
func (o *operations) wouldRetryOnce(ctx context.Context, r job.Retry) (operatejobs.Outcome, error) {
	skip, err := o.skipped(ctx, r.Of)
	if err != nil {
		return operatejobs.Outcome{}, err
	}
	if skip.Job == "" {
		return o.wouldRetry(ctx, r)
	}
	skip.Done = "would be skipped"
	return skip, nil
}

// wouldCancel is cancel without the cancellation.
func (o *operations) wouldCancel(ctx context.Context, id job.ID) (operatejobs.Outcome, error) {
	state, _, err := o.retrier.Sources.Read(ctx, id)
	if err == nil && state.State.Final() {
		err = errEnded(id)
	}
	return operatejobs.Outcome{Job: id, Done: "would cancel"}, err
}

// wouldRequeue is requeue without a new start.
func (o *operations) wouldRequeue(ctx context.Context, id job.ID) (operatejobs.Outcome, error) {
	if _, _, err := o.retrier.Sources.Read(ctx, id); err != nil {
		return operatejobs.Outcome{}, err
	}
	return operatejobs.Outcome{Job: id, Done: "would requeue"}, o.jobs.HoldsSlot(ctx, id)
}

func errEnded(id job.ID) error {
	return fault.New(fault.Conflict, "job_finished", "job %s has ended", id)
}

// wouldEach is each for steps that change nothing.
func wouldEach(ctx context.Context, ids []job.ID, step func(done, total int64), would func(context.Context, job.ID) (operatejobs.Outcome, error)) ([]operatejobs.Outcome, error) {
	all, err := each(ctx, ids, step, would)
	for i := range all {
		if all[i].Done == "refused" {
			all[i].Done = "would be refused"
		}
	}
	return all, err
}

// Would implements admin.Jobs.
func (o *operations) Would(ctx context.Context, verb string, ids []job.ID, by operate.Attribution) ([]operatejobs.Outcome, error) {
	return wouldEach(ctx, ids, nil, func(ctx context.Context, id job.ID) (operatejobs.Outcome, error) {
		switch verb {
		case "retry":
			return o.wouldRetryOnce(ctx, job.Retry{Of: id, Actor: by.Actor, Reason: by.Reason})
		case "cancel":
			return o.wouldCancel(ctx, id)
		default:
			return o.wouldRequeue(ctx, id)
		}
	})
}
