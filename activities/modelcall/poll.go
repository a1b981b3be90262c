package modelcall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// pollRetryPause is the interval of polling if neither the provider nor the catalog sets one.
const pollRetryPause = 2 * time.Second

// Poll requests the result of a call with a handle from the provider, once, and records the result if it is ready. A
// failed poll is repeated. The call fails if the generation takes longer than its model allows.
func (m *Activities) Poll(ctx context.Context, r call.Run) (Step, error) {
	step, err := m.poll(ctx, r)
	return step, attempt.Error(err)
}

func (m *Activities) poll(ctx context.Context, r call.Run) (Step, error) {
	c, err := m.Calls.Load(ctx, r.Account, r.Call)
	if err != nil {
		return Step{}, err
	}
	if c.State != call.Running {
		return m.resolve(ctx, r)
	}
	r.Server = c.Server
	step, err := m.pollOnce(ctx, r, c)
	if err != nil {
		m.Log.Warn("poll failed; trying again", "call_id", r.Call, "model", r.Model, "error", err)
		step = Step{Next: NextPoll, After: pollRetryPause}
	}
	// An outage of this service ends no generation: the provider may have the result.
	if step.Next == NextPoll && !attempt.IsOutage(err) && c.SentAt != nil && time.Since(*c.SentAt) > m.Provider.Total(r.Model) {
		return m.unknown(ctx, r, call.Failure{
			Type: call.ProviderTimeout, Detail: "the provider did not finish the generation within its deadline",
		})
	}
	if step.Next == NextPoll && step.After <= 0 {
		step.After = pollRetryPause
	}
	step.Stop = step.Next == NextPoll && c.Canceling
	return step, nil
}

// pollOnce polls once and records the result. An error of the provider is logged; the returned errors are of this
// service.
func (m *Activities) pollOnce(ctx context.Context, r call.Run, c call.Call) (Step, error) {
	return m.ask(ctx, r, c, func(out call.Exchange, err error, a *answer) (Step, error) {
		if err != nil {
			m.Log.Warn("poll failed; trying again", "call_id", r.Call, "model", r.Model, "error", err)
			return Step{Next: NextPoll, After: pollRetryPause}, nil
		}
		return m.outcome(ctx, r, out, a)()
	})
}

// ask asks the provider for the result of an accepted call, and passes its answer to conclude. An answer that this service
// cannot store is an error, since the provider can be asked again.
func (m *Activities) ask(ctx context.Context, r call.Run, c call.Call,
	conclude func(call.Exchange, error, *answer) (Step, error),
) (Step, error) {
	conv, err := m.conversation(ctx, r, c)
	if err != nil {
		return Step{}, err
	}
	a, err := m.newAnswer(ctx, nil)
	defer closeConversation(conv, a)
	if err != nil {
		return Step{}, err
	}
	out, err := m.Provider.Poll(ctx, conv, a)
	if a.lost != nil {
		return Step{}, a.lost
	}
	out.Served = c.Served
	return conclude(out, err, a)
}

// Stop requests that the provider cancel a generation. A result that is ready nevertheless is recorded and charged.
// If the provider cannot cancel, polling continues.
func (m *Activities) Stop(ctx context.Context, r call.Run) (Step, error) {
	n := activity.GetInfo(ctx).Attempt
	step, err := m.stop(ctx, r, n < maxStopTries)
	return step, attempt.Error(err)
}

// maxStopTries bounds the cancel requests to a provider that does not answer them. After that, polling continues, and
// the generation is charged when it finishes.
const maxStopTries = 5

func (m *Activities) stop(ctx context.Context, r call.Run, again bool) (Step, error) {
	c, err := m.Calls.Load(ctx, r.Account, r.Call)
	if err != nil {
		return Step{}, err
	}
	if c.State != call.Running {
		return m.resolve(ctx, r)
	}
	r.Server = c.Server
	err = m.Provider.Cancel(ctx, call.Conversation{Call: r.Call, Model: r.Model, Handle: c.Handle, Catalog: r.Catalog, Route: r.Route})
	switch {
	case errors.Is(err, call.ErrNoCancel):
		return Step{Next: NextPoll}, nil
	case err != nil && again:
		return Step{}, fault.Wrap(err, fault.Unavailable, "", "the provider does not cancel call %s yet", r.Call)
	case err != nil:
		m.Log.Warn("provider did not cancel; polling continues", "call_id", r.Call, "model", r.Model, "error", err)
		return Step{Next: NextPoll}, nil
	}
	step, err := m.lastPoll(ctx, r, c)
	if err != nil || step.Next != NextPoll {
		return step, err
	}
	return m.end(ctx, r, call.Ending{Type: call.TypeCanceled, Data: call.CanceledV1{Model: r.Model}})
}

// lastPoll polls once more after a cancellation, so that a result that was ready before is recorded. A failure at
// this point ends the call as canceled.
func (m *Activities) lastPoll(ctx context.Context, r call.Run, c call.Call) (Step, error) {
	return m.ask(ctx, r, c, func(out call.Exchange, err error, a *answer) (Step, error) {
		if err != nil || out.Phase != call.PhaseAnswered {
			return Step{Next: NextPoll}, nil //nolint:nilerr // the provider confirmed the cancellation, so there is no result
		}
		return m.storeAnswer(ctx, r, out, a)
	})
}

// Host copies the assets that the model's rules name, each as best effort, and ends the call.
func (m *Activities) Host(ctx context.Context, r call.Run) (Step, error) {
	step, err := m.host(ctx, r)
	return step, attempt.Error(err)
}

func (m *Activities) host(ctx context.Context, r call.Run) (Step, error) {
	c, err := m.Calls.Load(ctx, r.Account, r.Call)
	if err != nil {
		return Step{}, err
	}
	if c.State != call.Answered {
		return m.resolve(ctx, r)
	}
	hosted, err := m.Hosts.Host(ctx, c)
	if err != nil {
		return Step{}, fmt.Errorf("copy the assets of call %s: %w", r.Call, err)
	}
	event := eventlog.Event{ID: call.EventID(r.Call, 0, call.TypeHosted), Type: call.TypeHosted, Data: hosted}
	return m.succeed(ctx, r, c, hosted.Answer, []eventlog.Event{event}, hosted.Failed == 0 && (len(hosted.Assets) > 0 || !c.Linked))
}

// Deliver ends an answered call without copying its assets, after copying failed.
func (m *Activities) Deliver(ctx context.Context, r call.Run) (Step, error) {
	c, err := m.Calls.Load(ctx, r.Account, r.Call)
	if err == nil && c.State != call.Answered {
		return m.Resolve(ctx, r)
	}
	if err != nil {
		return Step{}, attempt.Error(err)
	}
	step, err := m.succeed(ctx, r, c, *c.Answer, nil, !c.Linked)
	return step, attempt.Error(err)
}

func (m *Activities) succeed(ctx context.Context, r call.Run, c call.Call, answer call.Body, before []eventlog.Event,
	replayable bool,
) (Step, error) {
	return m.end(ctx, r, call.Ending{
		Before: before, Type: call.TypeSucceeded, Charged: c.Price, Keep: []call.Body{answer},
		Data: call.SucceededV1{Model: r.Model, Answer: answer, Replayable: replayable, Charged: c.Price, Served: c.Served},
	})
}
