package stats_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/projections/projectiontest"
	"github.com/millrace-dev/millrace/projections/stats"
)

func registry(tb testing.TB) *eventlog.Registry {
	tb.Helper()
	types := eventlogtest.Registry(tb)
	require.NoError(tb, job.Register(types))
	require.NoError(tb, call.Register(types))
	return types
}

func jobStream(n int) string { return fmt.Sprintf("job-00000000-0000-4000-8000-%012d", n) }

// of is an event of a job of an account.
func of(n int, account, kind string, data any) projectiontest.Given {
	return projectiontest.Given{Stream: jobStream(n), Account: account, Type: kind, Data: data}
}

// history is two accounts' jobs and a call, a second between two events.
func history() []projectiontest.Given {
	return []projectiontest.Given{
		of(1, "acme", job.TypeSubmitted, job.SubmittedV1{}),
		of(2, "acme", job.TypeSubmitted, job.SubmittedV1{}),
		of(3, "beta", job.TypeSubmitted, job.SubmittedV1{}),
		of(1, "acme", job.TypeStarted, job.StartedV1{Run: 1}),
		of(1, "acme", job.TypeNodesCached, job.NodesCachedV1{Run: 1, Nodes: []string{"1", "2"}}),
		of(1, "acme", job.TypeNodeExecuted, job.NodeExecutedV1{Run: 1, Node: "3", Millis: 40}),
		of(1, "acme", job.TypeSegmentEnded, job.SegmentEndedV1{URL: "http://gpu", Millis: 700}),
		of(1, "acme", job.TypeSucceeded, job.SucceededV1{Run: 1}),
		of(2, "acme", job.TypeFailed, job.FailedV1{Failure: job.Failure{Code: "x", Message: "tensor 3 of 'a.png' has 12 rows"}}),
		of(3, "beta", job.TypeCanceled, job.CanceledV1{}),
		{
			Stream: "call-00000000-0000-4000-8000-000000000001", Account: "acme", Type: call.TypeSucceeded,
			Data: call.SucceededV1{Model: "sim/echo", Charged: 1500},
		},
	}
}

func TestRowsDependOnEventsOnly(t *testing.T) {
	t.Parallel()
	types := registry(t)
	projectiontest.Golden(t, projectiontest.NewPool, stats.NewProjection(types), "stats", projectiontest.Record(t, types, history()...))
}

func TestTheViewIsTheSameWhenRebuilt(t *testing.T) {
	t.Parallel()
	types := registry(t)
	view := stats.NewProjection(types)
	projectiontest.RebuildsSame(t, projectiontest.Live(t, types, view, history()...), view)
}

func TestARangeSaysWhatHappened(t *testing.T) {
	t.Parallel()
	types := registry(t)
	pool := projectiontest.NewPool(t)
	events := projectiontest.Record(t, types, history()...)
	projectiontest.Apply(t, pool, stats.NewProjection(types), events...)
	end := events[len(events)-1].RecordedAt
	acme, err := stats.NewReader(pool).Between(t.Context(), "acme", end.Add(-15*time.Minute), end)
	require.NoError(t, err)
	require.Equal(t, stats.Minute, acme.Grain)
	require.Equal(t, []stats.Total{{Key: "tensor N of … has N rows", N: 1}}, acme.Totals(stats.Failure),
		"what differs from job to job is left out")
	require.Equal(t, stats.Total{Key: "sim/echo", N: 1, Total: 1500}, acme.Sum(stats.Calls, "sim/echo"))
	require.Equal(t, stats.Total{Key: stats.Cached, N: 2}, acme.Sum(stats.Nodes, stats.Cached))
	require.Equal(t, stats.Total{Key: stats.Executed, N: 1, Total: 40}, acme.Sum(stats.Nodes, stats.Executed))
	require.Equal(t, stats.Total{Key: "http://gpu", N: 1, Total: 700}, acme.Sum(stats.Server, "http://gpu"))
	require.InEpsilon(t, 7*time.Second, acme.Quantile(stats.Took, 0.5), 0.1)
	require.InEpsilon(t, 3*time.Second, acme.Quantile(stats.Waited, 0.95), 0.1)
	points := acme.Series(stats.Submitted, "")
	require.Len(t, points, 16, "a point for each minute, also where nothing happened")
	require.Equal(t, int64(2), points[15].N)

	all, err := stats.NewReader(pool).Between(t.Context(), "", end.Add(-30*24*time.Hour), end)
	require.NoError(t, err)
	require.Equal(t, stats.Hour, all.Grain)
	require.Equal(t, int64(3), all.Sum(stats.Submitted, "").N, "of all accounts")
	require.Equal(t, int64(1), all.Sum(stats.Ended, "canceled").N)
}

func TestOldBucketsAreRemoved(t *testing.T) {
	t.Parallel()
	types := registry(t)
	pool, view := projectiontest.NewPool(t), stats.NewProjection(types)
	events := projectiontest.Record(t, types, history()...)
	events[len(events)-1].RecordedAt = events[0].RecordedAt.Add(72 * time.Hour)
	projectiontest.Apply(t, pool, view, events...)
	var minutes, hours int
	require.NoError(t, pool.QueryRow(t.Context(), `select count(*) filter (where grain = 0 and bucket < $1), count(*) filter (where grain = 1
		and bucket < $1) from stats_v1`,
		events[0].RecordedAt.Add(time.Hour)).Scan(&minutes, &hours))
	require.Zero(t, minutes)
	require.NotZero(t, hours)
}

// BenchmarkApply is what the view costs for a job of ten nodes.
func BenchmarkApply(b *testing.B) {
	types := registry(b)
	pool, view := projectiontest.NewPool(b), stats.NewProjection(types)
	var given []projectiontest.Given
	for n := range b.N {
		account := fmt.Sprintf("account-%d", n%10)
		given = append(given, of(n, account, job.TypeSubmitted, job.SubmittedV1{}), of(n, account, job.TypeStarted, job.StartedV1{Run: 1}))
		for node := range 10 {
			given = append(given, of(n, account, job.TypeNodeExecuted, job.NodeExecutedV1{Run: 1, Node: fmt.Sprint(node), Millis: int64(node)}))
		}
		given = append(given, of(n, account, job.TypeSucceeded, job.SucceededV1{Run: 1}))
	}
	events := projectiontest.Record(b, types, given...)
	for i := range events {
		events[i].RecordedAt = events[0].RecordedAt.Add(time.Duration(i) * time.Millisecond)
	}
	b.ResetTimer()
	for len(events) > 0 {
		n := min(500, len(events))
		require.NoError(b, pgx.BeginFunc(context.Background(), pool,
			func(tx pgx.Tx) error { return view.Apply(context.Background(), tx, events[:n]) }))
		events = events[n:]
	}
}
