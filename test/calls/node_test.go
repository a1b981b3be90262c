package calls_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
)

// onePlace holds the limits of an account with a single call in flight.
var onePlace = limits(func(string) call.Limits {
	return call.Limits{Enabled: true, Steps: []call.Step{{Concurrent: 1}}, Backlog: 10, QueueFor: time.Hour}
})

// awaitQueued waits until the given number of calls is queued.
func (s *deployment) awaitQueued(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var queued int
		require.NoError(t, s.pool.QueryRow(t.Context(), `select count(*) from call_queue`).Scan(&queued))
		return queued == n
	}, patience, 10*time.Millisecond)
}

// full occupies the only slot of account a with the call x, and queues the call b after it.
func (s *deployment) full(t *testing.T) {
	t.Helper()
	for _, name := range []string{"x", "b"} {
		_, err := s.Enqueue(t.Context(), invocation("a", "", "gate "+name))
		require.NoError(t, err)
	}
	require.Equal(t, "x", <-s.provider.begun)
	s.awaitQueued(t, 1)
}

// ofNode returns the invocation of a node of a running job.
func ofNode(body string) call.Invocation {
	inv := invocation("a", "node", body)
	inv.For = &call.JobRun{Job: string(call.NewID()), Run: 1}
	return inv
}

// Every slot that becomes free is given to the queue. A node outside the queue would wait as long as requests are
// queued, and occupy the slot of its job. Therefore its call precedes them: its job has begun.
func TestACallOfANodePassesTheQueuedRequests(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, onePlace)
	s.work(t)
	s.full(t)
	answered := make(chan *call.Result, 1)
	go func() {
		res, err := s.RunNode(t.Context(), ofNode("fast n"))
		if err != nil {
			t.Error(err)
		}
		answered <- res
	}()
	s.awaitQueued(t, 2)
	_, err := s.Enqueue(t.Context(), invocation("a", "", "gate c"))
	require.NoError(t, err)
	s.awaitQueued(t, 3)
	close(s.provider.gate("x"))
	res := <-answered // while b and c are queued
	require.NotNil(t, res)
	require.Equal(t, answerTo("n"), read(t, res))
	require.Equal(t, 1, s.provider.count("n"))
	close(s.provider.gate("b"))
	close(s.provider.gate("c"))
}

// If a worker dies or stops while the call of its node is queued, the node finds the same call again. No event is
// recorded before the call is admitted.
func TestAQueuedCallOfANodeIsFoundAgain(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, onePlace)
	s.work(t)
	s.full(t)
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	first := ofNode("fast n")
	go func() {
		_, err := s.RunNode(ctx, first)
		stopped <- err
	}()
	s.awaitQueued(t, 2)
	stop()
	require.Equal(t, call.ClientDisconnected, refused(t, <-stopped).Type)
	again := first
	again.RequestID = string(call.NewID())
	_, err := s.RunNode(t.Context(), again)
	require.Equal(t, call.ConcurrencyLimit, refused(t, err).Type, "it asks again after a while")
	s.awaitQueued(t, 2)
	close(s.provider.gate("x"))
	close(s.provider.gate("b"))
	s.awaitEnd(t, "a", call.ID(first.RequestID))
	res, err := s.RunNode(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, call.ID(first.RequestID), res.Call)
	require.Equal(t, 1, s.provider.count("n"))
	var second string
	require.NoError(t, s.pool.QueryRow(t.Context(), `select type from events where stream = $1 and version = 2`,
		res.Call.Stream()).Scan(&second))
	require.Equal(t, call.TypeAdmitted, second)
}

// The queued calls of a job that ended are canceled, and never sent.
func TestQueuedCallsOfAnEndedJobAreCanceled(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, onePlace)
	s.work(t)
	s.full(t)
	stopped := make(chan error, 2)
	for _, name := range []string{"n", "m"} {
		inv := ofNode("fast " + name)
		inv.Key = name
		go func() {
			_, err := s.RunNode(t.Context(), inv)
			stopped <- err
		}()
		if name == "n" {
			s.awaitQueued(t, 2)
			require.NoError(t, s.StopJob(t.Context(), "a", *inv.For, "r"))
			require.Error(t, <-stopped)
			s.awaitQueued(t, 1)
		}
	}
	s.awaitQueued(t, 2) // the call of m, whose job has no slot: the sweep finds it
	sweeper := s.sweeper()
	sweeper.Tiers = onePlace
	require.NoError(t, sweeper.Sweep(t.Context()))
	require.Error(t, <-stopped)
	s.awaitQueued(t, 1)
	close(s.provider.gate("x"))
	close(s.provider.gate("b"))
	require.Zero(t, s.provider.count("n")+s.provider.count("m"))
}
