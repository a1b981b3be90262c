//go:build unix

package pgtest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

func connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func databases(t testing.TB) []string {
	t.Helper()
	rows, err := connect(t, pgtest.Server(t)).Query(t.Context(), "select datname from pg_database")
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return names
}

func TestDatabaseIsFreshAndDroppedWithItsConnections(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("use", func(t *testing.T) {
		first, second := connect(t, pgtest.Database(t)), connect(t, pgtest.Database(t))
		name = first.Config().Database
		_, err := first.Exec(t.Context(), "create table mine ()")
		require.NoError(t, err)
		_, err = second.Exec(t.Context(), "create table mine ()")
		require.NoError(t, err, "databases must not share anything")
	})
	require.NotContains(t, databases(t), name)
}

var migrations atomic.Int32

func migrate(ctx context.Context, dsn string, _ func(string, ...any)) error {
	migrations.Add(1)
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "create table thing (n int)")
	return err
}

func TestMigratedCopiesOneMigration(t *testing.T) {
	t.Parallel()
	for range 5 {
		begin := time.Now()
		conn := connect(t, pgtest.Migrated(t, migrate))
		t.Logf("a migrated database in %s", time.Since(begin).Round(time.Millisecond))
		var n int
		require.NoError(t, conn.QueryRow(t.Context(), "select count(*) from thing").Scan(&n))
		require.Zero(t, n, "a copy must not see what others wrote")
		_, err := conn.Exec(t.Context(), "insert into thing values (1)")
		require.NoError(t, err)
	}
	require.Equal(t, int32(1), migrations.Load())
}
