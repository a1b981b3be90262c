package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
)

// Search implements admin.Jobs.
func (o *Service) Search(ctx context.Context, f Filter) ([]job.Job, error) {
	now, err := operate.Now(ctx, o.Pool)
	if err != nil {
		return nil, err
	}
	names, err := operate.AccountNames(ctx, o.Pool)
	if err != nil {
		return nil, err
	}
	f.Limit = cmp.Or(f.Limit, 100)
	found, err := Search(ctx, o.Pool, names, now, f)
	if fault.KindOf(err) == fault.Internal && err != nil { // the filter is malformed
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s", operate.ErrorLine(err))
	}
	return found, err
}

// State implements admin.Jobs.
func (o *Service) State(ctx context.Context, id job.ID) (job.Job, []job.ID, error) {
	state, _, err := o.Retrier.Sources.Read(ctx, id)
	if err != nil {
		return job.Job{}, nil, err
	}
	raw, err := json.Marshal(state)
	if err != nil {
		return job.Job{}, nil, err
	}
	if err := json.Unmarshal(inspect.Redact(raw), &state); err != nil {
		return job.Job{}, nil, fmt.Errorf("redact job %s: %w", id, err)
	}
	made, err := o.Jobs.Retries(ctx, id)
	return state, made, err
}

// Each implements admin.Jobs.
func (o *Service) Each(ctx context.Context, verb string, ids []job.ID, by operate.Attribution) ([]Outcome, error) {
	all, err := Each(ctx, ids, nil, func(ctx context.Context, id job.ID) (Outcome, error) {
		switch verb {
		case "retry":
			return o.RetryOnce(ctx, job.Retry{Of: id, Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID})
		case "cancel":
			return o.Cancel(ctx, id, by)
		default:
			return o.Requeue(ctx, id, by)
		}
	})
	return all, cmp.Or(err, NameOutcomes(ctx, o.Pool, all))
}
