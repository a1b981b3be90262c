package assetstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// BlobLocks keep removals and touches of one blob apart across all processes of a deployment. They implement
// bucket.Locks.
//
// A lock is a transaction, which occupies its connection during requests to the bucket. A slow bucket must not occupy
// the whole pool, so locks use at most a third of the connections; further locks wait.
type BlobLocks struct {
	pool *pgxpool.Pool
	free chan struct{} // one element for each connection in use
}

// NewBlobLocks returns the locks in pool's database.
func NewBlobLocks(pool *pgxpool.Pool) *BlobLocks {
	return &BlobLocks{pool: pool, free: make(chan struct{}, max(1, pool.Config().MaxConns/3))}
}

// lockOfBlobs distinguishes these advisory locks from those of names and bytes.
const lockOfBlobs = 17

// A lock that is held for longer than maxLockTime is released: the operation of its holder is canceled first. In any
// case, the server ends the transaction, and the lock with it, after idleFor without a statement.
const (
	maxLockTime = 12 * time.Second // time for some requests to a slow bucket
	idleFor     = 30 * time.Second
)

// Shared runs fn concurrently with other shared holders. fn may make a few requests, but no transfer.
func (l *BlobLocks) Shared(ctx context.Context, ref blob.Ref, fn func(context.Context) error) error {
	return l.with(ctx, `pg_advisory_xact_lock_shared`, ref, fn)
}

// Exclusive runs fn alone.
func (l *BlobLocks) Exclusive(ctx context.Context, ref blob.Ref, fn func(context.Context) error) error {
	return l.with(ctx, `pg_advisory_xact_lock`, ref, fn)
}

func (l *BlobLocks) with(ctx context.Context, lock string, ref blob.Ref, fn func(context.Context) error) error {
	select {
	case l.free <- struct{}{}:
		defer func() { <-l.free }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var failed error // the error of fn, which is not of the database
	err := postgres.Snapshot(ctx, l.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `select set_config('idle_in_transaction_session_timeout', $3, true), `+lock+`(hashtextextended($1, $2))`,
			ref.Hex(), lockOfBlobs, postgres.Millis(idleFor))
		if err != nil {
			return err
		}
		held, cancel := context.WithTimeout(ctx, maxLockTime)
		defer cancel()
		failed = fn(held)
		return failed
	})
	if failed != nil {
		return failed
	}
	return postgres.Classify(err, "lock a blob")
}
