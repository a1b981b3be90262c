// Package storetest provides the test of a store with a migrated PostgreSQL database of its own. It promises that the
// database is new for each test and dropped afterwards. Each test creates its own data.
package storetest

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// NewDatabase returns the connection string of a fresh, migrated database.
func NewDatabase(t testing.TB) string {
	t.Helper()
	return pgtest.Migrated(t, postgres.Migrate)
}

// OpenPool opens a pool on the database of dsn, which is closed when the test ends.
func OpenPool(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), dsn, postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}
