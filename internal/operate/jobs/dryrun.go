package jobs

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
)

// A dry run asks the same questions as the change itself, so that it does not promise what is then refused. Only
// what can change until then is left out: room in a queue, credit, and the end of a job that runs.

// WouldRetry is retry without a new job.
func (o *Service) WouldRetry(ctx context.Context, r job.Retry) (Outcome, error) {
	return Outcome{Job: r.Of, Done: "would retry"}, o.Retrier.Check(ctx, r)
}

// WouldRetryOnce is retryOnce without a new job.
func (o *Service) WouldRetryOnce(ctx context.Context, r job.Retry) (Outcome, error) {
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

// WouldCancel is cancel without the cancellation.
func (o *Service) WouldCancel(ctx context.Context, id job.ID) (Outcome, error) {
	state, _, err := o.Retrier.Sources.Read(ctx, id)
	if err == nil && state.State.Final() {
		err = errEnded(id)
	}
	return Outcome{Job: id, Done: "would cancel"}, err
}

// WouldRequeue is requeue without a new start.
func (o *Service) WouldRequeue(ctx context.Context, id job.ID) (Outcome, error) {
	if _, _, err := o.Retrier.Sources.Read(ctx, id); err != nil {
		return Outcome{}, err
	}
	return Outcome{Job: id, Done: "would requeue"}, o.Jobs.HoldsSlot(ctx, id)
}

func errEnded(id job.ID) error {
	return fault.New(fault.Conflict, "job_finished", "job %s has ended", id)
}

// WouldEach is each for steps that change nothing.
func WouldEach(ctx context.Context, ids []job.ID, step func(done, total int64), would func(context.Context, job.ID) (Outcome, error)) ([]Outcome, error) {
	all, err := Each(ctx, ids, step, would)
	for i := range all {
		if all[i].Done == "refused" {
			all[i].Done = "would be refused"
		}
	}
	return all, err
}

// Would implements admin.Jobs.
func (o *Service) Would(ctx context.Context, verb string, ids []job.ID, by operate.Attribution) ([]Outcome, error) {
	return WouldEach(ctx, ids, nil, func(ctx context.Context, id job.ID) (Outcome, error) {
		switch verb {
		case "retry":
			return o.WouldRetryOnce(ctx, job.Retry{Of: id, Actor: by.Actor, Reason: by.Reason})
		case "cancel":
			return o.WouldCancel(ctx, id)
		default:
			return o.WouldRequeue(ctx, id)
		}
	})
}
