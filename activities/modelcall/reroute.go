package modelcall

import (
	"context"
	"errors"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// The causes of a fallback.
const (
	unreachable = "unreachable"
	declined    = "refused"
)

// untouched returns the reason why a dispatch certainly had no effect at its server, or "" if it may have had an
// effect.
func untouched(out call.Exchange, err error) string {
	switch {
	case errors.Is(err, call.ErrNotSent):
		return unreachable
	case err == nil && out.Phase == call.PhaseFailed && (out.Unsent || out.Declined):
		return declined
	}
	return ""
}

// reroute sends a call that its server certainly did not process to the fallback server, once. It records the event
// call.rerouted first. If the fallback server does not process the call either, or the caller has canceled, the call
// ends with the failure of the first server.
func (m *Activities) reroute(ctx context.Context, r call.Run, cause string, conclude func() (Step, error)) (Step, error) {
	var goOn bool
	step, err := m.untilRecorded(ctx, r, func() (Step, error) {
		var err error
		goOn, err = m.rerouted(ctx, r, cause)
		return Step{}, err
	})
	if err != nil {
		return step, err
	}
	if !goOn {
		return m.untilRecorded(ctx, r, conclude)
	}
	r.Route = call.Route{Server: r.Fallback}
	return m.sendAgain(ctx, r, conclude, func(out *call.Exchange, err error) bool {
		out.Fallback = r.Server
		return untouched(*out, err) == ""
	})
}

// rerouted records that the fallback server takes over, unless the caller has canceled.
func (m *Activities) rerouted(ctx context.Context, r call.Run, cause string) (bool, error) {
	c, err := m.Calls.Load(ctx, r.Account, r.Call)
	if err != nil || c.State != call.Dispatching || c.Canceling {
		return false, err
	}
	m.Log.Info("call sent to its fallback server", "call_id", r.Call, "model", r.Model, "server", r.Fallback, "cause", cause)
	return true, m.append(ctx, r, eventlog.Event{
		ID: call.EventID(r.Call, 0, call.TypeRerouted), Type: call.TypeRerouted, Data: call.ReroutedV1{Server: r.Fallback, Cause: cause},
	})
}
