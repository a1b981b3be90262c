//go:build unix

package localstack_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

func pingPostgres(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// postgresBin returns the directory of PostgreSQL's programs that the tests use.
func postgresBin(t *testing.T) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.Server(t))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var dir string
	require.NoError(t, conn.QueryRow(t.Context(), `select setting from pg_config where name = 'BINDIR'`).Scan(&dir))
	return dir
}
