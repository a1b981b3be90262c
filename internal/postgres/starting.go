package postgres

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// cannotConnectNow is the SQLSTATE of a server that is starting up, recovering or shutting down.
const cannotConnectNow = "57P03"

// IsStarting reports whether err means that PostgreSQL is running but accepts no connections yet, for example while
// it recovers from a crash.
func IsStarting(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == cannotConnectNow
}

// MayCome reports whether a server that cannot be reached may be reached soon: it is starting, or nothing listens at its
// address yet. Waiting does not help against a wrong password or name.
func MayCome(err error) bool {
	return IsStarting(err) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, fs.ErrNotExist)
}

// awaitEvery is the interval of trying to reach a server that does not listen yet.
const awaitEvery = 500 * time.Millisecond

// OpenWithin is Open, but waits up to a time for a server that does not accept connections yet, and logs that it waits.
func OpenWithin(ctx context.Context, dsn string, opts PoolOptions, within time.Duration, log *slog.Logger) (*pgxpool.Pool, error) {
	deadline := time.Now().Add(within)
	for waits := false; ; waits = true {
		pool, err := Open(ctx, dsn, opts)
		if err == nil || !MayCome(err) || time.Now().After(deadline) {
			return pool, err
		}
		if !waits {
			log.Warn("the database does not accept connections yet; waiting for it", "at_most", within, "error", err)
		}
		if paused := pause.For(ctx, awaitEvery); paused != nil {
			return nil, errors.Join(paused, err)
		}
	}
}
