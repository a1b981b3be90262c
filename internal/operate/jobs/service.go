// Package jobs implements the operators' commands on jobs: search, histories, retries, cancellations, requeues and
// replays. A dry run makes the same checks as the change itself, and every change is recorded with its actor and
// reason.
package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
)

// Service implements the operators' changes to jobs for the command line and the admin API. Each change is
// recorded as an event with its actor and reason.
type Service struct {
	Pool    *postgres.Pool
	Types   *eventlog.Registry
	Events  *eventstore.Store
	Jobs    *jobstore.Store
	Retrier job.Retrier
}

// Retry submits an ended job again as a new job.
func (o *Service) Retry(ctx context.Context, r job.Retry) (Outcome, error) {
	made, err := o.Retrier.Retry(ctx, r)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Job: r.Of, Public: made.Job.Origin.Chosen, Done: "retried", Retry: made.Job.ID}, nil
}

// RetryOnce retries a job, unless it was retried before. It serves commands on many jobs.
func (o *Service) RetryOnce(ctx context.Context, r job.Retry) (Outcome, error) {
	skip, err := o.skipped(ctx, r.Of)
	if err != nil || skip.Job != "" {
		return skip, err
	}
	return o.Retry(ctx, r)
}

// skipped returns the outcome for a job that was retried before. If the job was not retried, the outcome's Job is "".
func (o *Service) skipped(ctx context.Context, id job.ID) (Outcome, error) {
	made, err := o.Jobs.Retries(ctx, id)
	if n := len(made); n > 0 {
		return Outcome{Job: id, Done: "skipped", Retry: made[n-1], Detail: "was retried before"}, nil
	}
	return Outcome{}, err
}

// Cancel stops a waiting or running job. A job that has ended is Conflict.
func (o *Service) Cancel(ctx context.Context, id job.ID, by operate.Attribution) (Outcome, error) {
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
func (o *Service) Requeue(ctx context.Context, id job.ID, by operate.Attribution) (Outcome, error) {
	if _, _, err := o.Retrier.Sources.Read(ctx, id); err != nil {
		return Outcome{}, err
	}
	if err := o.Jobs.Requeue(ctx, id, by.Actor, by.Reason); err != nil {
		return Outcome{}, err
	}
	return Outcome{Job: id, Done: "requeued"}, nil
}

// firstProblem returns the first problem of an invalid graph.
func firstProblem(err *graph.PromptError) string {
	for _, node := range err.NodeErrors {
		if len(node.Errors) > 0 {
			e := node.Errors[0]
			return terminal.Clean(fmt.Sprintf("node %s (%s): %s: %s", node.Node, node.Class, e.Message, e.Details))
		}
	}
	return terminal.Clean(err.Error())
}

// publicLine returns the public message of an error on one line, without the errors it wraps.
func publicLine(err error) string {
	var public *fault.Error
	if errors.As(err, &public) && public.Message != "" {
		return terminal.Clean(public.Message)
	}
	return operate.ErrorLine(err)
}

// Each applies one step to many jobs. A refusal is the outcome of its job; any other error stops Each.
func Each(ctx context.Context, ids []job.ID, step func(done, total int64),
	do func(context.Context, job.ID) (Outcome, error),
) ([]Outcome, error) {
	all := make([]Outcome, 0, len(ids))
	for i, id := range ids {
		out, err := do(ctx, id)
		var invalid *graph.PromptError
		switch kind := fault.KindOf(err); {
		case err == nil:
		case errors.As(err, &invalid):
			out = Outcome{Job: id, Done: "refused", Code: fault.Code(invalid.Type), Detail: firstProblem(invalid)}
		case kind == fault.Unavailable || kind == fault.Internal || kind == fault.Canceled:
			return all, err
		default:
			out = Outcome{Job: id, Done: "refused", Code: fault.CodeOf(err), Detail: publicLine(err)}
		}
		all = append(all, out)
		if step != nil {
			step(int64(i+1), int64(len(ids)))
		}
	}
	return all, nil
}
