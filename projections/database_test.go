package projections_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// newDatabase returns the DSN of a fresh, migrated database.
func newDatabase(t testing.TB) string {
	t.Helper()
	dsn := emptyDatabase(t)
	require.NoError(t, postgres.Migrate(t.Context(), dsn, t.Logf))
	return dsn
}

func emptyDatabase(t testing.TB) string {
	t.Helper()
	admin := os.Getenv("LOGTEST_DSN")
	name := "t_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	conn, err := pgx.Connect(t.Context(), admin)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), "create database "+name)
	require.NoError(t, err)
	return strings.Replace(admin, "dbname=postgres", "dbname="+name, 1)
}

func openPool(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), dsn, postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}
