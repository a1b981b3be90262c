package projectiontest

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/projections"
)

// NewDatabase returns the connection string of a fresh, migrated database.
func NewDatabase(tb testing.TB) string {
	tb.Helper()
	return pgtest.Migrated(tb, postgres.Migrate)
}

// OpenPool connects to a database until the test ends.
func OpenPool(tb testing.TB, dsn string) *pgxpool.Pool {
	tb.Helper()
	pool, err := postgres.Open(tb.Context(), dsn, postgres.PoolOptions{})
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	return pool
}

// NewPool connects to a fresh, migrated database.
func NewPool(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	return OpenPool(tb, NewDatabase(tb))
}

// Append appends a history to the log and returns what was recorded, the last event last.
func Append(tb testing.TB, store eventlog.Store, history ...Given) []eventlog.Recorded {
	tb.Helper()
	var out []eventlog.Recorded
	for _, g := range history {
		recorded, err := store.Append(tb.Context(), eventlog.Append{
			Stream: g.Stream, Account: g.Account, Expected: eventlog.AnyVersion,
			Events: []eventlog.Event{{ID: uuid.New(), Type: g.Type, Data: g.Data}},
		})
		require.NoError(tb, err)
		out = append(out, recorded...)
	}
	return out
}

// Position returns the position of the last event delivered.
func Position(events []eventlog.Recorded) int64 {
	if len(events) == 0 {
		return 0
	}
	return events[len(events)-1].Position
}

// Live appends a history to a log whose view a runner keeps up to date, waits for the view, and checks that it equals
// its rebuild. It returns a pool on the database.
func Live(tb testing.TB, types *eventlog.Registry, view projections.Projection, history ...Given) *pgxpool.Pool {
	tb.Helper()
	dsn, quiet := NewDatabase(tb), slog.New(slog.DiscardHandler)
	pool, wake := OpenPool(tb, dsn), eventstore.NewWake(dsn, quiet)
	tail := OpenTail(tb, pool, dsn, wake, eventstore.TailerOptions{})
	checkpoints := eventstore.NewCheckpoints(pool, dsn, quiet)
	runner, err := projections.NewRunner(pool, tail, checkpoints, projections.Options{}, view)
	require.NoError(tb, err)
	Background(tb, wake.Run, tail.Run, checkpoints.Run, runner.Run)
	got := Append(tb, eventstore.New(pool, types, wake), history...)
	WaitFor(tb, pool, view, Position(got))
	RebuildsSame(tb, pool, view)
	return pool
}

// OpenTail opens a tailer at the end of the log of dsn.
func OpenTail(tb testing.TB, pool *pgxpool.Pool, dsn string, wake *eventstore.Wake, opts eventstore.TailerOptions) *eventstore.Tailer {
	tb.Helper()
	tail, err := eventstore.OpenTailer(tb.Context(), pool, dsn, wake, opts)
	require.NoError(tb, err)
	return tail
}

// Background runs tasks until the test ends or stop is called, which waits for them.
func Background(tb testing.TB, tasks ...func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, task := range tasks {
		wg.Go(func() { _ = task(ctx) })
	}
	stop = func() { cancel(); wg.Wait() }
	tb.Cleanup(stop)
	return stop
}

// RefusesAGap checks that a view does not fold an event whose predecessor in the stream is missing. events[behind]
// must not be the first event of its stream.
func RefusesAGap(tb testing.TB, view projections.Projection, events []eventlog.Recorded, behind int) {
	tb.Helper()
	pool := NewPool(tb)
	tx, err := pool.Begin(tb.Context())
	require.NoError(tb, err)
	defer tx.Rollback(tb.Context()) //nolint:errcheck // the end of the test
	require.ErrorContains(tb, view.Apply(tb.Context(), tx, []eventlog.Recorded{events[0], events[behind]}), "follows version 1")
}
