package app

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// A transaction that has appended does not end. A command does not wait for it, because it reads no tail; a service waits for a
// bounded time, and then says what is wrong.
func TestAServiceWaitsABoundedTimeForTheEndOfTheLogAndACommandDoesNot(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	pool, err := postgres.Open(t.Context(), dsn, postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	appending, err := pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = appending.Rollback(context.Background()) }) // it has ended, unless the test failed
	const appendLockClass = 0x6d696c6c
	_, err = appending.Exec(t.Context(), `select pg_advisory_xact_lock_shared($1, hashtext(current_schema()))`, appendLockClass)
	require.NoError(t, err)
	cfg := config.Default()
	cfg.DatabaseURL = dsn
	opened := func(within time.Duration, roles ...Role) (*eventstore.Tailer, error) {
		quiet := slog.New(slog.DiscardHandler)
		in := &Instance{cfg: cfg, pool: pool, roles: roles, log: quiet, wake: eventstore.NewWake(dsn, quiet)}
		err := in.openTail(t.Context(), within)
		return in.tail, err
	}
	tail, err := opened(time.Nanosecond)
	require.NoError(t, err, "a command")
	require.Nil(t, tail)

	_, err = opened(50*time.Millisecond, API)
	require.ErrorContains(t, err, "millrace doctor")

	require.NoError(t, appending.Rollback(t.Context()))
	tail, err = opened(findEndWithin, API)
	require.NoError(t, err)
	require.NotNil(t, tail)
}
