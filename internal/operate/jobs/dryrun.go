package jobs

import (
	"cmp"
	"context"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
)

// A dry run makes the same checks as the change itself, so that a change is not refused after its dry run
// succeeded. It skips only checks whose result may change before then: space in a queue, credit, and whether a
// running job has ended.

// WouldRetry is the dry run of Retry.
func (o *Service) WouldRetry(ctx context.Context, r job.Retry) (Outcome, error) {
	return Outcome{Job: r.Of, Done: "would retry"}, o.Retrier.Check(ctx, r)
}

// WouldRetryOnce is the dry run of RetryOnce.
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

// WouldCancel is the dry run of Cancel.
func (o *Service) WouldCancel(ctx context.Context, id job.ID) (Outcome, error) {
	state, _, err := o.Retrier.Sources.Read(ctx, id)
	if err == nil && state.State.Final() {
		err = errEnded(id)
	}
	return Outcome{Job: id, Done: "would cancel"}, err
}

// WouldRequeue is the dry run of Requeue.
func (o *Service) WouldRequeue(ctx context.Context, id job.ID) (Outcome, error) {
	if _, _, err := o.Retrier.Sources.Read(ctx, id); err != nil {
		return Outcome{}, err
	}
	return Outcome{Job: id, Done: "would requeue"}, o.Jobs.HasSlot(ctx, id)
}

func errEnded(id job.ID) error {
	return fault.New(fault.Conflict, fault.CodeJobFinished, "job %s has ended", id)
}

// WouldEach is Each for dry runs.
func WouldEach(ctx context.Context, ids []job.ID, step func(done, total int64),
	would func(context.Context, job.ID) (Outcome, error),
) ([]Outcome, error) {
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
	all, err := WouldEach(ctx, ids, nil, func(ctx context.Context, id job.ID) (Outcome, error) {
		switch verb {
		case "retry":
			return o.WouldRetryOnce(ctx, job.Retry{Of: id, Actor: by.Actor, Reason: by.Reason})
		case "cancel":
			return o.WouldCancel(ctx, id)
		default:
			return o.WouldRequeue(ctx, id)
		}
	})
	return all, cmp.Or(err, NameOutcomes(ctx, o.Pool, all))
}
