package modelcall

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/telemetry"
)

// settle records the outcome of an exchange. If the outcome is unknown and the provider recognises a repeated request, the
// request is repeated first.
func (m *Activities) settle(ctx context.Context, r call.Run, conv call.Conversation, out call.Exchange, err error, a *answer,
) (Step, error) {
	record := m.outcomeRecorder(ctx, r, out, err, a)
	unknown := err != nil && !errors.Is(err, call.ErrNotSent) || err == nil && out.Phase == call.PhaseFailed && out.Unknown
	if unknown && !a.gone() && m.Provider.Idempotent(conv) {
		return m.repeat(ctx, r, record)
	}
	return m.untilRecorded(ctx, r, record)
}

// repeatAfter is the pause before a request of unknown outcome is repeated.
const repeatAfter = time.Second

// repeat sends the request of a call of unknown outcome once more, to a provider that recognises it by its idempotency header.
// It records the event call.repeated first. Only an answer or an acceptance settles the call: a refusal of the second request
// does not tell what became of the first, so after it conclude records the unknown outcome.
func (m *Activities) repeat(ctx context.Context, r call.Run, conclude func() (Step, error)) (Step, error) {
	var c call.Call
	token := uuid.NewString()
	step, err := m.untilRecorded(ctx, r, func() (Step, error) {
		var err error
		c, err = m.claimRepeat(ctx, r, token)
		return Step{}, err
	})
	switch {
	case err != nil:
		return step, err
	case c.Repeated && c.Token != token: // by a process that believed this one dead
		return Step{Next: NextWait, After: waitElsewhere}, nil
	case !c.Repeated:
		return m.untilRecorded(ctx, r, conclude)
	}
	if err := pause.For(ctx, repeatAfter); err != nil {
		return Step{}, err
	}
	m.Log.Info("request of a call repeated, because its outcome is unknown", "call_id", r.Call, "model", r.Model)
	r.Server = c.Server
	return m.sendAgain(ctx, r, conclude, func(out *call.Exchange, err error) bool {
		out.Fallback = c.Fallback
		return err == nil && (out.Phase == call.PhaseAnswered || out.Phase == call.PhaseAccepted)
	})
}

// claimRepeat records that this process repeats the request, unless the request was repeated before, the caller has canceled,
// or the call has ended. It returns the state of the call.
func (m *Activities) claimRepeat(ctx context.Context, r call.Run, token string) (call.Call, error) {
	c, err := m.Calls.Load(ctx, r.Account, r.Call)
	if err != nil || c.State != call.Dispatching || c.Canceling || c.Repeated {
		return c, err
	}
	_, err = m.Events.Append(ctx, eventlog.Append{
		Stream: r.Call.Stream(), Account: r.Account, Expected: c.Version, Meta: eventlog.Meta{Actor: m.Worker},
		Events: []eventlog.Event{{
			ID: call.EventID(r.Call, 0, call.TypeRepeated), Type: call.TypeRepeated, Data: call.RepeatedV1{Token: token, Worker: m.Worker},
		}},
	})
	if err != nil {
		return c, err
	}
	return m.Calls.Load(ctx, r.Account, r.Call)
}

// takeOver repeats the request of a call whose sending process died. The outcome stays unknown if the provider does not recognise
// a repeated request.
func (m *Activities) takeOver(ctx context.Context, r call.Run, c call.Call, conclude func(context.Context) (Step, error)) (Step, error) {
	route := r.Route
	route.Server = c.Server
	if c.Repeated || c.Canceling || !m.Provider.Idempotent(call.Conversation{Call: r.Call, Model: r.Model, Catalog: r.Catalog, Route: route}) {
		return conclude(ctx)
	}
	x, mine := m.exchanges.claim(r.Call)
	if mine {
		m.exchanges.run(x, func(own context.Context) (Step, error) {
			own = telemetry.Along(own, ctx)
			return m.repeat(own, r, func() (Step, error) { return conclude(own) })
		})
	}
	return x.wait(ctx)
}

// sendAgain sends the request of a call a second time. If the outcome does not settle the call, conclude ends it.
func (m *Activities) sendAgain(ctx context.Context, r call.Run, conclude func() (Step, error),
	settles func(*call.Exchange, error) bool,
) (Step, error) {
	conv, a, err := m.open(ctx, r)
	if err != nil {
		m.Log.Error("sending a call again failed", "call_id", r.Call, "server", r.Server, "error", err)
		return m.untilRecorded(ctx, r, conclude)
	}
	defer closeConversation(conv, a)
	out, err := m.dispatchRecovering(ctx, conv, a)
	if !settles(&out, err) {
		return m.untilRecorded(ctx, r, conclude)
	}
	return m.settle(ctx, r, conv, out, err, a)
}
