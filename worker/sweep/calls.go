package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/domain/call"
)

// CallRecords reads and changes the records of calls in flight and of queued calls.
type CallRecords interface {
	// RunningAfter returns up to limit runs that have been in flight for at least age and have no start intent
	// pending, ordered by call id and after the id after ("" = from the first).
	RunningAfter(ctx context.Context, after call.ID, age time.Duration, limit int) ([]call.Run, error)
	// Restart continues a call in a new workflow. It returns false for a call that was restarted or has ended meanwhile.
	Restart(ctx context.Context, r call.Run, actor, reason string) (bool, error)
	// Stray returns calls that have been in flight or queued for at least age although the run of their job has ended,
	// oldest first.
	Stray(ctx context.Context, age time.Duration, limit int) ([]call.Run, error)
	// Cancel records a request to cancel a call.
	Cancel(ctx context.Context, account string, id call.ID, requestID string) (active bool, err error)
	// Waiting returns accounts with queued calls, in order, from the first one after the given account.
	Waiting(ctx context.Context, after string, limit int) ([]string, error)
	// Admit admits queued calls of an account up to its limits.
	Admit(ctx context.Context, account string, limits call.Limits) error
	// TimeOut ends queued calls that have waited too long.
	TimeOut(ctx context.Context, limit int) (int, error)
	// Forget deletes expired keys and references.
	Forget(ctx context.Context) error
}

// CallSweeper restarts calls in flight whose workflow was closed from outside or lost with Temporal's database. A
// restarted call continues from its state in the log, and a sent request is not sent again. CallSweeper also cancels
// calls whose job has ended, and ends queued calls that have waited too long.
type CallSweeper struct {
	Client client.Client
	Calls  CallRecords
	Tiers  call.Tiers
	Log    *slog.Logger
	Every  time.Duration // default 15 s
	Age    time.Duration // minimum age of a call before it is checked or canceled; default 30 s

	reviver *Reviver[call.Run, call.ID]
}

// Run sweeps until ctx ends. Several sweepers may run at once.
func (s *CallSweeper) Run(ctx context.Context) error {
	interval := func() time.Duration { return s.reviver.interval(cmp.Or(s.Every, 15*time.Second)) }
	return repeat(ctx, interval, s.Log, "calls", s.Sweep)
}

// Sweep checks all calls once.
func (s *CallSweeper) Sweep(ctx context.Context) error {
	if s.reviver == nil {
		s.reviver = s.newReviver()
	}
	_, timedOut := s.Calls.TimeOut(ctx, sweepLimit)
	return errors.Join(s.reviver.Sweep(ctx), s.cancelOrphaned(ctx), timedOut, admitAll(ctx, s.Calls.Waiting, s.admit), s.Calls.Forget(ctx))
}

func (s *CallSweeper) age() time.Duration { return cmp.Or(s.Age, 30*time.Second) }

func (s *CallSweeper) newReviver() *Reviver[call.Run, call.ID] {
	return &Reviver[call.Run, call.ID]{
		Client: s.Client, What: "calls", Age: s.age(), Log: s.Log,
		List: s.Calls.RunningAfter,
		Name: func(r call.Run) (call.ID, string) { return r.Call, r.Call.WorkflowID(r.Run) },
		Revive: func(ctx context.Context, r call.Run, _ WorkflowState) (bool, error) {
			return s.Calls.Restart(ctx, r, "sweeper", "its workflow was lost")
		},
	}
}

// cancelOrphaned cancels calls whose job has ended: it was ended from outside, or the process that ended it died before
// canceling them.
func (s *CallSweeper) cancelOrphaned(ctx context.Context) error {
	stray, err := s.Calls.Stray(ctx, s.age(), sweepLimit)
	if err != nil {
		return err
	}
	var failed []error
	for _, r := range stray {
		if _, err := s.Calls.Cancel(ctx, r.Account, r.Call, string(call.NewID())); err != nil {
			failed = append(failed, fmt.Errorf("stop stray call %s: %w", r.Call, err))
			continue
		}
		s.Log.Info("canceling a call whose job has ended", "call_id", r.Call, "job_id", r.For.Job)
	}
	return errors.Join(failed...)
}

func (s *CallSweeper) admit(ctx context.Context, account string) error {
	return s.Calls.Admit(ctx, account, s.Tiers.CallBounds(account))
}
