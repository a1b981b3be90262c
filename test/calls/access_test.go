package calls_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
)

func TestCallRespectsAccountPermissions(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	for name, c := range map[string]struct {
		access    account.Access
		enabled   bool
		model     string
		status    int
		errorType string
	}{
		"denied":        {account.Access{Denied: []string{"sim/echo"}}, true, "sim/echo", 403, call.Forbidden},
		"not allowed":   {account.Access{Models: []string{"bfl/*"}}, true, "sim/echo", 403, call.Forbidden},
		"not suggested": {account.Access{Denied: []string{"sim/*"}}, true, "sim/ecko", 404, call.ModelNotFound},
		"off":           {account.Access{}, false, "no/such", 403, call.NotEnabled},
	} {
		r.Tiers = limits(func(string) call.Limits {
			// the rights to use the router are checked before credit
			return call.Limits{Enabled: c.enabled, Steps: []call.Step{{Concurrent: 5}}, Access: c.access, Unfunded: c.errorType == call.NotEnabled}
		})
		inv := call.Invocation{
			Account: "a", RequestID: uuid.NewString(), Method: "POST", Target: "/v2/models/" + c.model, Model: c.model,
			API: call.V2, ContentType: "application/json", Body: []byte(`{"prompt":"x"}`),
		}
		_, err := r.Run(t.Context(), inv)
		refusal := refused(t, err)
		require.Equal(t, c.status, statusOf(refusal), name)
		require.Equal(t, c.errorType, refusal.Type, name)
		require.NotContains(t, refusal.Detail, "did you mean", name)
		inv.RequestID = uuid.NewString()
		_, err = r.RunNode(t.Context(), inv) // a partner node of a job has no identity of its own
		require.Equal(t, refusal.Type, refused(t, err).Type, name)
		inv.RequestID = uuid.NewString()
		_, err = r.Enqueue(t.Context(), inv)
		require.Equal(t, refusal.Type, refused(t, err).Type, name)
	}
	require.Empty(t, r.sim.Charges())
}

// An account whose subscription has lapsed cannot start calls, neither as a caller nor within its jobs (W-63: the
// type of the refusal makes a node fail with InactiveSubscriptionError). It still gets results that were paid for.
func TestInactiveAccountRunsNothing(t *testing.T) {
	t.Parallel()
	var lapsed atomic.Bool
	s := newDeployment(t, limits(func(string) call.Limits {
		return call.Limits{Enabled: true, Lapsed: lapsed.Load(), Steps: []call.Step{{Concurrent: 8}}, Backlog: 8, QueueFor: time.Hour}
	}))
	s.work(t)
	res, err := s.Run(t.Context(), invocation("a", "paid", "fast before"))
	require.NoError(t, err)
	require.Equal(t, answerTo("before"), read(t, res))
	lapsed.Store(true)
	_, err = s.Run(t.Context(), invocation("a", "new", "fast behind"))
	require.Equal(t, []any{403, call.Forbidden}, []any{statusOf(refused(t, err)), refused(t, err).Type})
	_, err = s.Enqueue(t.Context(), invocation("a", "new", "fast behind"))
	require.Equal(t, call.Forbidden, refused(t, err).Type)
	_, err = s.RunNode(t.Context(), invocation("a", "new", "fast behind"))
	require.Equal(t, call.NotEnabled, refused(t, err).Type)
	require.Zero(t, s.provider.count("behind"))
	res, err = s.Run(t.Context(), invocation("a", "paid", "fast before"))
	require.NoError(t, err)
	require.True(t, res.Replayed)
	lapsed.Store(false)
	_, err = s.Run(t.Context(), invocation("a", "new", "fast behind"))
	require.NoError(t, err, "the refusals have claimed no key")
}
