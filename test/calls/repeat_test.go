package calls_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
)

// idempotent returns a call of a model whose provider recognises repeated requests.
func idempotent(account, key, body string) call.Invocation {
	inv := invocation(account, key, body)
	inv.Model, inv.Target = idempotentModel, "/v2/models/"+idempotentModel
	return inv
}

func TestALostAnswerIsRequestedAgainByTheIdempotencyHeader(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.workInProcess(t, false)
	for _, how := range []string{"accepted here", "by its workflow"} {
		if how == "accepted here" {
			s.sendsItself(t)
		}
		inv := idempotent("a", "k "+how, "lose "+how)
		res, err := s.Run(t.Context(), inv)
		require.NoError(t, err, how)
		require.Equal(t, answerTo(how), read(t, res))
		require.Equal(t, 2, s.provider.requests(call.ID(inv.RequestID)))
		require.Equal(t, 1, s.provider.count(how), "it is charged once")
	}
}

func TestARequestIsRepeatedOnce(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.workInProcess(t, false)
	inv := idempotent("a", "k", "drop x")
	_, err := s.Run(t.Context(), inv)
	require.Equal(t, call.ProviderError, refused(t, err).Type)
	c, err := s.calls.Load(t.Context(), "a", call.ID(inv.RequestID))
	require.NoError(t, err)
	require.Equal(t, call.Unknown, c.State)
	require.Equal(t, 2, s.provider.requests(c.ID))
}

func TestARequestOfAProcessThatDiedIsRepeated(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	kill := s.place.spawn(t)
	inv := idempotent("a", "k", "gate x")
	ended := s.begin(t, inv)
	require.Equal(t, "x", <-s.provider.begun)
	kill()
	_, err := s.pool.Exec(t.Context(), `delete from call_workers`) // its death is known at once
	require.NoError(t, err)
	s.workInProcess(t, true)
	require.NoError(t, <-ended)
	require.Equal(t, 2, s.provider.requests(call.ID(inv.RequestID)))
	require.Equal(t, 1, s.provider.count("x"))
	res, err := s.Run(t.Context(), idempotent("a", "k", "gate x"))
	require.NoError(t, err)
	require.Equal(t, answerTo("x"), read(t, res))
}

func TestAnOperatorFreesTheKeyOfACallOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.workInProcess(t, false)
	inv := invocation("a", "k", "drop x")
	_, err := s.Run(t.Context(), inv)
	require.Equal(t, call.ProviderError, refused(t, err).Type)
	_, err = s.Run(t.Context(), invocation("a", "k", "drop x"))
	require.Equal(t, 409, statusOf(refused(t, err)))
	require.NoError(t, s.calls.Reconcile(t.Context(), "a", call.ID(inv.RequestID), callstore.Settlement{
		FreeKey: true, By: eventlog.Meta{Actor: "operator", Reason: "the provider did not receive it"},
	}))
	res, err := s.Run(t.Context(), invocation("a", "k", "fast y"))
	require.NoError(t, err)
	require.Equal(t, answerTo("y"), read(t, res))
}
