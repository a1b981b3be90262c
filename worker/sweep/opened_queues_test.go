package sweep_test

import (
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/worker/sweep"
)

func TestOpenedQueues(t *testing.T) {
	t.Parallel()
	var events []eventlog.Recorded
	for _, e := range [][2]string{
		{"a", gate.TypePaused},
		{"b", gate.TypeResumed},
		{"c", gate.TypeStopped},
		{"d", account.TypeTierChanged},
		{"b", gate.TypeDrainStarted},
		{gate.All, gate.TypeResumed},
		{"e", account.TypeUnsubscribed},
	} {
		events = append(events, eventlog.Recorded{Account: e[0], Type: e[1]})
	}
	require.Equal(t, []string{"b", "d", gate.All}, sweep.OpenedQueues(events))
	require.Empty(t, sweep.OpenedQueues(nil))
}

func TestOpenedQueuesAdmitWaitingJobs(t *testing.T) {
	t.Parallel()
	l := &queues{waiting: []string{"a", "b"}, given: map[string]int{}}
	sweeper := sweep.JobSweeper{Queues: l, Tiers: &slots{}}
	require.NoError(t, sweeper.Open(t.Context(), []string{"c"}))
	require.Equal(t, map[string]int{"c": 1}, l.given)
	require.NoError(t, sweeper.Open(t.Context(), []string{gate.All}))
	require.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1}, l.given)
}

// A queue may have been opened while no worker was there to see it.
func TestStartingWorkerAdmitsQueuedJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &queues{waiting: []string{"a"}, given: map[string]int{}}
		sweeper := sweep.JobSweeper{Queues: l, Tiers: &slots{}, Slots: &slots{}, Log: slog.New(slog.DiscardHandler)}
		go func() { _ = sweeper.Run(t.Context()) }()
		synctest.Wait()
		require.Equal(t, map[string]int{"a": 1}, l.given)
	})
}
