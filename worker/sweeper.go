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
	// HeldAfter returns up to limit runs that hold a slot and wait for no intent, by their jobs' ids from
	// behind after ("" = the first).
	HeldAfter(ctx context.Context, after job.ID, age time.Duration, limit int) ([]job.RunRef, error)
	// Requeue records that a run is started again, and the intent to do so.
	Requeue(ctx context.Context, id job.ID, actor, reason string) ([]outbox.Intent, error)
	// Requeued returns how often a job was.
	Requeued(ctx context.Context, id job.ID) (int, error)
	// ForgetMarks removes what nodes of runs that are over left behind.
	ForgetMarks(ctx context.Context) error
}

// Lanes knows the accounts whose jobs wait, and admits them.
type Lanes interface {
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
	Lanes  Lanes
	Ender  Ender
	Tiers  job.Tiers
	Kick   func([]outbox.Intent)
	Log    *slog.Logger
	Every  time.Duration // default 30 s
	Age    time.Duration // of a slot before it is looked at; default 30 s
}

// Run sweeps until ctx ends. Several sweepers may run at once: ending a job twice changes nothing.
func (s *Sweeper) Run(ctx context.Context) error {
	s.Age = orElse(s.Age, 30*time.Second)
	both := func(ctx context.Context) error {
		return errors.Join(s.Sweep(ctx), s.Admit(ctx), s.Slots.ForgetMarks(ctx))
	}
	if err := s.Admit(ctx); err != nil && ctx.Err() == nil { // at once: queues may have been opened while no worker was there
		s.Log.Warn("queues not looked at", "error", err)
	}
	return everySo(ctx, orElse(s.Every, 30*time.Second), s.Log, "jobs", both)
}

// Sweep does one round over all held slots.
func (s *Sweeper) Sweep(ctx context.Context) error {
	return walk(ctx, func(after job.ID) ([]job.RunRef, error) {
		return s.Slots.HeldAfter(ctx, after, s.Age, sweepLimit)
	}, func(ref job.RunRef) job.ID { return ref.Job }, func(ref job.RunRef) error { return s.check(ctx, ref) })
}

// Admit hands free slots to jobs that wait, account by account.
func (s *Sweeper) Admit(ctx context.Context) error {
	var failed []error
	for after := ""; ; {
		accounts, err := s.Lanes.Queued(ctx, after, sweepLimit)
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
	intents, err := s.Lanes.Admit(ctx, account, bounds)
	if err != nil {
		return err
	}
	s.Kick(intents)
	return nil
}

func (s *Sweeper) check(ctx context.Context, ref job.RunRef) error {
	at, err := StandingOf(ctx, s.Client, ref.Job.WorkflowID(ref.Run))
	switch {
	case err != nil || at.GoesOn():
		return err
	case !at.Known:
		return s.again(ctx, ref, "the workflow engine does not know its workflow")
	case at.Status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return s.unended(ctx, ref)
	default:
		return s.lost(ctx, ref, "its workflow was closed from outside: "+at.Status.String())
	}
}

// mostRestarts is how often a run whose workflow completes is started again: a log is rewound now and then, and
// what completes again and again without an end has another cause.
const mostRestarts = 3

// unended starts a run again that its workflow has completed: it records the end of the run before it ends itself,
// so the log was rewound meanwhile, as by a failover to a replica that lagged.
func (s *Sweeper) unended(ctx context.Context, ref job.RunRef) error {
	times, err := s.Slots.Requeued(ctx, ref.Job)
	if err != nil {
		return err
	}
	if times >= mostRestarts {
		return s.lost(ctx, ref, "its workflow completes without an end of the run")
	}
	return s.again(ctx, ref, "its workflow has completed, and the log has no end of the run")
}

// again starts a run anew that nothing runs: one that never began, whose workflow went with the engine's
// database, or whose facts went with ours. Its facts keep their ids, so what is recorded is not recorded twice.
func (s *Sweeper) again(ctx context.Context, ref job.RunRef, reason string) error {
	intents, err := s.Slots.Requeue(ctx, ref.Job, "sweeper", reason)
	if fault.Is(err, fault.NotFound) {
		return nil // it ended meanwhile
	}
	if err != nil {
		return err
	}
	s.Log.Warn("starting a job again that nothing runs", "job_id", ref.Job, "reason", reason)
	s.Kick(intents)
	return nil
}

func (s *Sweeper) lost(ctx context.Context, ref job.RunRef, reason string) error {
	bounds, err := s.Tiers.Bounds(ctx, ref.Account)
	if err != nil {
		return err
	}
	ended, err := s.Ender.End(ctx, job.Ending{
		ID: ref.Job, Account: ref.Account, Run: ref.Run, Type: job.TypeFailed, Bounds: bounds, Actor: "sweeper", Reason: reason,
		Fact: job.FailedV1{Run: ref.Run, Failure: job.Failure{
			Code: "upstream_error", Message: "the run was lost; submit the job again", ExceptionType: "ServiceError",
		}},
	})
	if err != nil {
		return err
	}
	if ended.Applied {
		s.Log.Error("job failed: its run was lost", "job_id", ref.Job, "reason", reason)
	}
	s.Kick(ended.Intents)
	return nil
}
