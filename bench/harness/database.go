package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/localcluster"
)

// Database is a private PostgreSQL server alone, with fsync.
type Database struct {
	*localcluster.Cluster
	dir string
}

// StartDatabase starts a Database.
func StartDatabase(ctx context.Context) (*Database, error) {
	dir, err := privateDir()
	if err != nil {
		return nil, err
	}
	server, err := localcluster.Start(ctx, filepath.Join(dir, "c"), localcluster.Options{})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Database{Cluster: server, dir: dir}, nil
}

// Close stops the server and removes its files.
func (d *Database) Close(ctx context.Context) error {
	return errors.Join(d.Stop(context.WithoutCancel(ctx)), os.RemoveAll(d.dir))
}

// privateDir makes a directory that a database's own user can walk through.
func privateDir() (string, error) {
	dir, err := os.MkdirTemp("/var/tmp", "millrace-bench-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// EventColumns are the columns of the table of events, in the order in which rows for Copy have them.
var EventColumns = []string{"position", "stream", "version", "id", "type", "account", "data", "meta", "recorded_at"}

// CopyLog copies the events of items past the log's own statement; the service must be down. It reserves positions for the given number of
// events of each item. It calls write for each batch of items, two batches at a time, with the position before the batch's first event. It
// returns the last position taken.
func CopyLog(ctx context.Context, dsn string, items, events, batch int,
	write func(ctx context.Context, pool *pgxpool.Pool, before int64, first, count int) error,
) (last int64, err error) {
	pool, err := postgres.Open(ctx, dsn, postgres.PoolOptions{MaxConns: 4})
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	if err := pool.QueryRow(ctx, `select setval(pg_get_serial_sequence('events', 'position'),
		nextval(pg_get_serial_sequence('events', 'position')) + $1)`, items*events).Scan(&last); err != nil {
		return 0, err
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for first := 0; first < items; first += batch {
		group.Go(func() error {
			return write(gctx, pool, last-int64((items-first)*events), first, min(batch, items-first))
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	_, err = pool.Exec(ctx, `vacuum analyze`)
	return last, err
}

// Copy copies rows into a table.
func Copy(ctx context.Context, tx pgx.Tx, table string, columns []string, rows [][]any) error {
	if _, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows)); err != nil {
		return fmt.Errorf("copy into %s: %w", table, err)
	}
	return nil
}
