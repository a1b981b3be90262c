//go:build unix

package localstack_test

import (
	"context"

	"github.com/jackc/pgx/v5"
)

func pingPostgres(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
