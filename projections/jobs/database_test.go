package jobs_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// newDatabase returns the connection string of a fresh, migrated database.
func newDatabase(t testing.TB) string {
	t.Helper()
	return pgtest.Migrated(t, postgres.Migrate)
}

func openPool(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), dsn, postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}
