package calls_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/call"
	"github.com/millrace-dev/millrace/internal/fault"
)

// dying is a process that accepts and sends calls, and dies before it records what came of one: what
// it does on the wire nobody hears of.
type dying struct{ *activities.Models }

func (d dying) Ready(ctx context.Context, r call.Run) (call.Departure, error) {
	departure, err := d.Models.Ready(ctx, r)
	return deaf{departure, r}, err
}

type deaf struct {
	call.Departure
	run call.Run
}

func (deaf) Send() {}

func TestAProcessThatDiesAsItAcceptsLeavesAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	s := newStand(t, openTiers)
	gone := s.place.models(s.parts)
	gone.Beating(true) // and it never gave a sign of life
	s.Sender = dying{gone}
	s.workBeside(t, false)
	_, err := s.Run(t.Context(), invocation("a", "k", "fast x"))
	require.Equal(t, call.InternalError, refused(t, err).Type)
	s.Sender = nil
	_, err = s.Run(t.Context(), invocation("a", "k", "fast x"))
	r := refused(t, err)
	require.Equal(t, 409, r.Status)
	require.Equal(t, call.InvalidInput, r.Type)
	require.Zero(t, s.provider.count("x"))
	var inFlight int
	require.NoError(t, s.pool.QueryRow(t.Context(), `select in_flight from call_lanes where account = 'a'`).Scan(&inFlight))
	require.Zero(t, inFlight)
}

// unsure records calls and says that it could not tell.
type unsure struct{ call.Store }

func (u unsure) Accept(ctx context.Context, n call.NewCall) (call.Admission, error) {
	if _, err := u.Store.Accept(ctx, n); err != nil {
		return call.Admission{}, err
	}
	return call.Admission{}, fault.New(fault.Unavailable, "", "the connection broke at the commit")
}

func TestACallRecordedWithoutOurKnowingIsTakenBack(t *testing.T) {
	t.Parallel()
	s := newStand(t, openTiers)
	s.work(t)
	inv := invocation("a", "k", "fast x")
	_, err := s.Run(t.Context(), inv) // until the worker beats, workflows send
	require.NoError(t, err)
	store := s.Store
	s.Store = unsure{store}
	inv = invocation("a", "k2", "fast y")
	_, err = s.Run(t.Context(), inv)
	require.Equal(t, call.ServiceUnavailable, call.RefusalOf(err).Type)
	s.Store = store
	s.awaitEnd(t, "a", call.ID(inv.RequestID))
	res, err := s.Run(t.Context(), invocation("a", "k2", "fast y"))
	require.NoError(t, err)
	require.False(t, res.Replayed)
	require.Equal(t, 1, s.provider.count("y"))
}
