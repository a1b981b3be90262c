package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Slots lists the jobs that have a slot, and ends or restarts those without a workflow.
type Slots interface {
	// RunningAfter returns up to limit runs that have a slot and no start intent pending, ordered by job id and
	// after the id after ("" = from the first).
	RunningAfter(ctx context.Context, after job.ID, age time.Duration, limit int) ([]job.RunRef, error)
	// Requeue restarts a run.
	Requeue(ctx context.Context, id job.ID, actor, reason string) error
	// ForgetMarks removes the marks of ended runs.
	ForgetMarks(ctx context.Context) error
}

// Queues lists the accounts with waiting jobs, and admits their jobs.
type Queues interface {
	// Queued returns at most limit accounts with waiting jobs, in order, after the account after.
	Queued(ctx context.Context, after string, limit int) ([]string, error)
	// Admit gives free slots of an account to its waiting jobs.
	Admit(ctx context.Context, account string, bounds job.Bounds) error
}

// Ender ends a run.
type Ender interface {
	End(ctx context.Context, e job.Ending) (job.Ended, error)
}

// JobSweeper ends jobs whose workflow was closed from outside. It restarts jobs whose workflow was lost with Temporal's
// database, or whose end the log has lost. It also admits jobs to slots that became free without the end of a job,
// for example by a better tier.
type JobSweeper struct {
	Client client.Client
	Slots  Slots
	Queues Queues
	Ender  Ender
	Tiers  job.Tiers
	Log    *slog.Logger
	Every  time.Duration // default 30 s
	Age    time.Duration // minimum age of a slot before it is checked; default 30 s
	Late   *atomic.Int64 // set to the number of checked jobs whose workflow task is late; nil = not counted

	reviver *Reviver[job.RunRef, job.ID]
}

// Run sweeps until ctx ends. Several sweepers may run at once: ending a job twice changes nothing.
func (s *JobSweeper) Run(ctx context.Context) error {
	round := func(ctx context.Context) error {
		return errors.Join(s.Sweep(ctx), s.Admit(ctx), s.Slots.ForgetMarks(ctx))
	}
	if err := s.Admit(ctx); err != nil && ctx.Err() == nil { // first at once: queues may have been opened while no worker ran
		s.Log.Warn("queued job admission failed", "error", err)
	}
	interval := func() time.Duration { return s.reviver.interval(cmp.Or(s.Every, 30*time.Second)) }
	return repeat(ctx, interval, s.Log, "jobs", round)
}

// Sweep checks all slots once.
func (s *JobSweeper) Sweep(ctx context.Context) error {
	if s.reviver == nil {
		s.reviver = &Reviver[job.RunRef, job.ID]{
			Client: s.Client, What: "jobs", Age: cmp.Or(s.Age, 30*time.Second), Log: s.Log,
			List:   s.Slots.RunningAfter,
			Name:   func(ref job.RunRef) (job.ID, string) { return ref.Job, ref.Job.WorkflowID(ref.Run) },
			Revive: s.revive,
		}
	}
	err := s.reviver.Sweep(ctx)
	if s.Late != nil {
		s.Late.Store(s.reviver.late)
	}
	return err
}

// Admit gives free slots to waiting jobs, account by account.
func (s *JobSweeper) Admit(ctx context.Context) error {
	return admitAll(ctx, s.Queues.Queued, s.admit)
}

// admitAll admits waiting work, account by account. A failure of one account does not stop the others.
func admitAll(ctx context.Context, list func(ctx context.Context, after string, limit int) ([]string, error),
	admit func(ctx context.Context, account string) error,
) error {
	var failed []error
	for after := ""; ; {
		accounts, err := list(ctx, after, sweepLimit)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, account := range accounts {
			after = account
			if err := admit(ctx, account); err != nil {
				failed = append(failed, err)
			}
			if ctx.Err() != nil || len(failed) == sweepFailures {
				return errors.Join(failed...)
			}
		}
		if len(accounts) < sweepLimit {
			return errors.Join(failed...)
		}
	}
}

// Open admits waiting jobs of accounts whose queues were opened. gate.All means every account. The next sweep retries
// failures.
func (s *JobSweeper) Open(ctx context.Context, accounts []string) error {
	var failed []error
	for _, account := range accounts {
		if account == gate.All {
			failed = append(failed, s.Admit(ctx))
		} else {
			failed = append(failed, s.admit(ctx, account))
		}
	}
	return errors.Join(failed...)
}

func (s *JobSweeper) admit(ctx context.Context, account string) error {
	bounds, err := s.Tiers.Bounds(ctx, account)
	if err != nil {
		return fmt.Errorf("slots of account %s: %w", account, err)
	}
	return s.Queues.Admit(ctx, account, bounds)
}

// revive restarts a run without a workflow. Its events keep their ids, so that none is recorded twice. A run whose
// workflow was closed from outside is ended instead.
func (s *JobSweeper) revive(ctx context.Context, ref job.RunRef, state WorkflowState) (bool, error) {
	var reason string
	switch {
	case !state.Known:
		reason = "Temporal does not have its workflow"
	case state.EndedByItself():
		// The workflow recorded the end of the run before it ended, so the log has lost that event, for example
		// by a failover to a lagging replica.
		reason = "its workflow has ended, but the log has no end of the run: " + state.String()
	case state.Status == enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		reason = "its workflow did not end by itself: " + state.String()
	default:
		return false, s.endLost(ctx, ref, "its workflow was closed from outside: "+state.String())
	}
	err := s.Slots.Requeue(ctx, ref.Job, "sweeper", reason)
	if fault.Is(err, fault.NotFound) {
		return false, nil // the job has ended
	}
	return err == nil, err
}

// endLost ends a run whose workflow was closed.
func (s *JobSweeper) endLost(ctx context.Context, ref job.RunRef, reason string) error {
	bounds, err := s.Tiers.Bounds(ctx, ref.Account)
	if err != nil {
		return err
	}
	ended, err := s.Ender.End(ctx, job.Ending{
		ID: ref.Job, Account: ref.Account, Run: ref.Run, Type: job.TypeFailed, Bounds: bounds, Actor: "sweeper", Reason: reason,
		Data: job.FailedV1{Run: ref.Run, Failure: job.Failure{
			Code: fault.CodeUpstreamError, Message: "the run was lost; submit the job again", ExceptionType: "ServiceError",
		}},
	})
	if err != nil {
		return err
	}
	if ended.Applied {
		s.Log.Error("job failed: its run was lost", "job_id", ref.Job, "reason", reason)
	}
	return nil
}
