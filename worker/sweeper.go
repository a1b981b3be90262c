package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Slots knows the jobs that hold a slot, and ends or restarts those that nothing runs any more.
type Slots interface {
	// RunningAfter returns up to limit runs that hold a slot and wait for no intent, by their jobs' ids from
	// behind after ("" = the first).
	RunningAfter(ctx context.Context, after job.ID, age time.Duration, limit int) ([]job.RunRef, error)
	// Requeue records that a run is started again, and the intent to do so.
	Requeue(ctx context.Context, id job.ID, actor, reason string) ([]outbox.Intent, error)
	// ForgetMarks removes what nodes of runs that are over left behind.
	ForgetMarks(ctx context.Context) error
}

// Queues knows the accounts whose jobs wait, and admits jobs of them.
type Queues interface {
	// Queued returns accounts whose jobs wait, at most limit, in order from the one behind after.
	Queued(ctx context.Context, after string, limit int) ([]string, error)
	// Admit gives the slots that an account has free to jobs that wait.
	Admit(ctx context.Context, account string, bounds job.Bounds) ([]outbox.Intent, error)
}

// Ender ends a run.
type Ender interface {
	End(ctx context.Context, e job.Ending) (job.Ended, error)
}

// Sweeper finds jobs whose workflow was closed from outside and gives them an end, and jobs whose
// workflow was lost with the engine's database, or whose end was lost with ours, and starts them again. It also
// admits jobs to slots that no ending handed on, such as those of a better tier.
type Sweeper struct {
	Client client.Client
	Slots  Slots
	Queues Queues
	Ender  Ender
	Tiers  job.Tiers
	Notify func([]outbox.Intent)
	Log    *slog.Logger
	Every  time.Duration // default 30 s
	Age    time.Duration // of a slot before it is looked at; default 30 s

	reviver *Reviver[job.RunRef, job.ID]
}

// Run sweeps until ctx ends. Several sweepers may run at once: ending a job twice changes nothing.
func (s *Sweeper) Run(ctx context.Context) error {
	round := func(ctx context.Context) error {
		return errors.Join(s.Sweep(ctx), s.Admit(ctx), s.Slots.ForgetMarks(ctx))
	}
	if err := s.Admit(ctx); err != nil && ctx.Err() == nil { // at once: queues may have been opened while no worker was there
		s.Log.Warn("admission of queued jobs failed", "error", err)
	}
	return repeat(ctx, orElse(s.Every, 30*time.Second), s.Log, "jobs", round)
}

// Sweep does one round over all slots.
func (s *Sweeper) Sweep(ctx context.Context) error {
	if s.reviver == nil {
		s.reviver = &Reviver[job.RunRef, job.ID]{
			Client: s.Client, What: "jobs", Age: orElse(s.Age, 30*time.Second), Notify: s.Notify, Log: s.Log,
			List:   s.Slots.RunningAfter,
			Name:   func(ref job.RunRef) (job.ID, string) { return ref.Job, ref.Job.WorkflowID(ref.Run) },
			Revive: s.revive,
		}
	}
	return s.reviver.Sweep(ctx)
}

// Admit hands free slots to jobs that wait, account by account.
func (s *Sweeper) Admit(ctx context.Context) error {
	var failed []error
	for after := ""; ; {
		accounts, err := s.Queues.Queued(ctx, after, sweepLimit)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, account := range accounts {
			after = account
			if err := s.admit(ctx, account); err != nil { // must not keep those behind it waiting
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

// Open hands slots to the jobs of accounts whose queues were opened; gate.All stands for every account.
// What fails is left to the next round of the sweep.
func (s *Sweeper) Open(ctx context.Context, accounts []string) error {
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

func (s *Sweeper) admit(ctx context.Context, account string) error {
	bounds, err := s.Tiers.Bounds(ctx, account)
	if err != nil {
		return fmt.Errorf("slots of account %s: %w", account, err)
	}
	intents, err := s.Queues.Admit(ctx, account, bounds)
	if err != nil {
		return err
	}
	s.Notify(intents)
	return nil
}

// revive starts a run again that nothing runs. Its events keep their ids, so what is recorded is not recorded twice.
// Only one that somebody closed from outside is ended.
func (s *Sweeper) revive(ctx context.Context, ref job.RunRef, state WorkflowState) ([]outbox.Intent, error) {
	var reason string
	switch {
	case !state.Known:
		reason = "Temporal does not know its workflow"
	case state.Status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		// It records the end of the run before it ends itself: the log was rewound meanwhile, as by a failover to a
		// replica that lagged.
		reason = "its workflow has completed, and the log has no end of the run"
	case state.Status == enums.WORKFLOW_EXECUTION_STATUS_FAILED, state.Status == enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		reason = "its workflow came to no end of its own: " + state.String()
	default:
		return s.lost(ctx, ref, "its workflow was closed from outside: "+state.String())
	}
	intents, err := s.Slots.Requeue(ctx, ref.Job, "sweeper", reason)
	if fault.Is(err, fault.NotFound) {
		return nil, nil // it ended meanwhile
	}
	return intents, err
}

// lost ends a run that somebody closed, and returns the starts of those that waited for its slot.
func (s *Sweeper) lost(ctx context.Context, ref job.RunRef, reason string) ([]outbox.Intent, error) {
	bounds, err := s.Tiers.Bounds(ctx, ref.Account)
	if err != nil {
		return nil, err
	}
	ended, err := s.Ender.End(ctx, job.Ending{
		ID: ref.Job, Account: ref.Account, Run: ref.Run, Type: job.TypeFailed, Bounds: bounds, Actor: "sweeper", Reason: reason,
		Fact: job.FailedV1{Run: ref.Run, Failure: job.Failure{
			Code: "upstream_error", Message: "the run was lost; submit the job again", ExceptionType: "ServiceError",
		}},
	})
	if err != nil {
		return nil, err
	}
	if ended.Applied {
		s.Log.Error("job failed: its run was lost", "job_id", ref.Job, "reason", reason)
	}
	return ended.Intents, nil
}
