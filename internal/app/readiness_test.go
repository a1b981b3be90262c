package app_test

import (
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/app"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// /readyz is 503 for the same reasons for which submissions are refused.
func TestReadinessKnowsAFullDiskAndAReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	require.NoError(t, app.RoomIn(t.TempDir(), 1, 0))
	require.ErrorContains(t, app.RoomIn(t.TempDir(), 1<<60, 0), "no space left")
	require.ErrorContains(t, app.RoomIn(t.TempDir(), 1, 1<<60), "no space left")
	require.Error(t, app.RoomIn(filepath.Join(t.TempDir(), "gone"), 1, 0))

	pool, err := postgres.Open(t.Context(), pgtest.Migrated(t, postgres.Migrate), postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, app.Writable(t.Context(), pool))
	_, err = pool.Exec(t.Context(),
		`alter database `+pgx.Identifier{pool.Config().ConnConfig.Database}.Sanitize()+` set default_transaction_read_only = on`)
	require.NoError(t, err)
	pool.Reset()
	require.ErrorContains(t, app.Writable(t.Context(), pool), "read-only")
}

// /readyz reports at once that no worker runs, and how many jobs wait for one.
func TestReadinessReportsMissingWorkers(t *testing.T) {
	t.Parallel()
	pool, err := postgres.Open(t.Context(), pgtest.Migrated(t, postgres.Migrate), postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	part := app.WorkersPart(t.Context(), pool)
	require.False(t, part.OK)
	require.False(t, part.Required, "accepted jobs wait")
	require.Equal(t, "0 admitted jobs, no worker", part.Detail)
	_, err = pool.Exec(t.Context(), `insert into workers values ('host/1', now())`)
	require.NoError(t, err)
	require.True(t, app.WorkersPart(t.Context(), pool).OK)
}
