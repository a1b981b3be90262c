//go:build linux

package postgres_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// Many connections share few sessions of the server: no statement relies on what a session keeps.
func TestAPoolWorksBehindATransactionPooler(t *testing.T) {
	t.Parallel()
	direct := pgtest.Database(t)
	pooler := pgtest.NewPooler(t, direct)
	require.NoError(t, postgres.Migrate(t.Context(), direct, nil))
	require.NoError(t, postgres.PrepareForPooler(t.Context(), direct))
	require.NoError(t, postgres.PrepareForPooler(t.Context(), direct), "again changes nothing")
	pool, err := postgres.Open(t.Context(), pooler, postgres.PoolOptions{MaxConns: 24, Direct: direct})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	for name, want := range map[string]string{
		"lock_timeout": "10s", "idle_in_transaction_session_timeout": "15s", "enable_seqscan": "off", "jit": "off", "TimeZone": "UTC",
	} {
		var got string
		require.NoError(t, pool.QueryRow(t.Context(), `select current_setting($1)`, name).Scan(&got))
		require.Equal(t, want, got, name)
	}
	events := eventstore.New(pool, eventlog.NewRegistry(), nil)
	var group errgroup.Group
	for client := range 24 {
		group.Go(func() error {
			for n := range 20 {
				_, err := events.Write(t.Context(), eventstore.Decision{
					Read: func(q *pgx.Batch) { q.Queue(`select pg_advisory_xact_lock_shared($1, $2)`, 1, client) },
					Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
						c.Queue(`insert into checkpoints (name, position) values ($1, $2)
							on conflict (name) do update set position = excluded.position`, fmt.Sprint(client), n)
						return nil
					},
				})
				if err != nil {
					return err
				}
				var last int
				if err := pool.QueryRow(t.Context(), `select position from checkpoints where name = $1`, fmt.Sprint(client)).Scan(&last); err != nil ||
					last != n {
					return fmt.Errorf("position %d of %d: %w", last, n, err)
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
}

// Who names a pooler alone reads what to set.
func TestAPoolerWithoutADirectAddressIsNamed(t *testing.T) {
	t.Parallel()
	direct := pgtest.Database(t)
	pooler := pgtest.NewPooler(t, direct)
	_, opened := postgres.Open(t.Context(), pooler, postgres.PoolOptions{})
	for _, err := range []error{opened, postgres.Migrate(t.Context(), pooler, nil)} {
		require.Error(t, err)
		text, ok := postgres.Unreachable(err)
		require.True(t, ok, "%v", err)
		require.Contains(t, text, "set DATABASE_DIRECT_URL to the address of PostgreSQL itself")
	}
	_, err := postgres.Open(t.Context(), pooler+"&search_path=other", postgres.PoolOptions{Direct: direct})
	require.ErrorContains(t, err, "search_path in DATABASE_URL does not pass a pooler")
}
