package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

// CallRecords knows the calls in flight and those that are parked.
type CallRecords interface {
	// RunningAfter returns up to limit runs in flight for at least age that wait for no intent, by their calls' ids
	// from behind after ("" = the first).
	RunningAfter(ctx context.Context, after call.ID, age time.Duration, limit int) ([]call.Run, error)
	// Restart records that a call goes on in a new workflow, and the intent to start it.
	Restart(ctx context.Context, r call.Run, actor, reason string) ([]outbox.Intent, error)
	// Stray returns runs in flight for at least age whose job's run is over, oldest first.
	Stray(ctx context.Context, age time.Duration, limit int) ([]call.Run, error)
	// Cancel records that a call is to stop.
	Cancel(ctx context.Context, account string, id call.ID, requestID string) (call.Cancellation, error)
	// Waiting returns accounts whose calls are parked, in order from the one behind after.
	Waiting(ctx context.Context, after string, limit int) ([]string, error)
	// Admit lets parked calls of an account in flight as far as its limits allow.
	Admit(ctx context.Context, account string, limits call.Limits) ([]outbox.Intent, error)
	// TimeOut ends parked calls that have waited for too long.
	TimeOut(ctx context.Context, limit int) (int, error)
	// Forget drops keys and references whose time has passed.
	Forget(ctx context.Context) error
}

// CallSweeper finds calls in flight that nothing runs any more, since their workflow was closed from
// outside or lost with the engine's database, and runs them again: the log says how far each has
// come, and what was sent is not sent again. It also stops the calls of jobs that ended without telling
// them, and ends parked calls that waited for too long.
type CallSweeper struct {
	Client client.Client
	Calls  CallRecords
	Tiers  call.Tiers
	Notify func([]outbox.Intent)
	Log    *slog.Logger
	Every  time.Duration // default 15 s
	Age    time.Duration // of a call in flight before it is looked at; default 30 s

	reviver *Reviver[call.Run, call.ID]
}

// Run sweeps until ctx ends. Several sweepers may run at once.
func (s *CallSweeper) Run(ctx context.Context) error {
	return repeat(ctx, orElse(s.Every, 15*time.Second), s.Log, "calls", s.Sweep)
}

// Sweep does one round.
func (s *CallSweeper) Sweep(ctx context.Context) error {
	if s.reviver == nil {
		s.reviver = s.newReviver()
	}
	_, timedOut := s.Calls.TimeOut(ctx, sweepLimit)
	return errors.Join(s.reviver.Sweep(ctx), s.stopStray(ctx), timedOut, s.admit(ctx), s.Calls.Forget(ctx))
}

func (s *CallSweeper) newReviver() *Reviver[call.Run, call.ID] {
	return &Reviver[call.Run, call.ID]{
		Client: s.Client, What: "calls", Age: orElse(s.Age, 30*time.Second), Notify: s.Notify, Log: s.Log,
		List: s.Calls.RunningAfter,
		Name: func(r call.Run) (call.ID, string) { return r.Call, r.Call.WorkflowID(r.Run) },
		Revive: func(ctx context.Context, r call.Run, _ WorkflowState) ([]outbox.Intent, error) {
			return s.Calls.Restart(ctx, r, "sweeper", "its workflow is gone")
		},
	}
}

// stopStray asks calls to stop whose nodes nobody waits for any more: their job was ended from outside,
// or the process that ended it died before it could stop them.
func (s *CallSweeper) stopStray(ctx context.Context) error {
	stray, err := s.Calls.Stray(ctx, s.Age, sweepLimit)
	if err != nil {
		return err
	}
	var failed []error
	for _, r := range stray {
		done, err := s.Calls.Cancel(ctx, r.Account, r.Call, string(call.NewID()))
		if err != nil {
			failed = append(failed, fmt.Errorf("stop stray call %s: %w", r.Call, err))
			continue
		}
		s.Log.Info("stopping a call whose job has ended", "call_id", r.Call, "job_id", r.For.Job)
		s.Notify(done.Intents)
	}
	return errors.Join(failed...)
}

func (s *CallSweeper) admit(ctx context.Context) error {
	for after := ""; ; {
		accounts, err := s.Calls.Waiting(ctx, after, sweepLimit)
		if err != nil {
			return err
		}
		for _, account := range accounts {
			after = account
			limits, err := s.Tiers.CallLimits(ctx, account)
			if err != nil {
				return err
			}
			intents, err := s.Calls.Admit(ctx, account, limits)
			if err != nil {
				return err
			}
			s.Notify(intents)
		}
		if len(accounts) < sweepLimit {
			return nil
		}
	}
}
