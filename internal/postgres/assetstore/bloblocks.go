package assetstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// BlobLocks keep removers and touchers of one blob apart over all processes of a deployment. They
// implement bucket.Locks.
//
// A lock is a transaction, which keeps its connection while the bucket is asked. A bucket that is slow must not
// take the pool from those who do not need it: at most a third of the connections are held, and who wants one more
// waits.
type BlobLocks struct {
	pool *pgxpool.Pool
	free chan struct{} // one element for each connection in use
}

// NewBlobLocks returns the locks in pool's database.
func NewBlobLocks(pool *pgxpool.Pool) *BlobLocks {
	return &BlobLocks{pool: pool, free: make(chan struct{}, max(1, pool.Config().MaxConns/3))}
}

// lockOfBlobs keeps these advisory locks apart from those of names and bytes.
const lockOfBlobs = 17

// A lock that is held for longer than maxLockTime is given up: what the holder was about to do is canceled first. The
// server would end the transaction, and with it the lock, after idleFor without a statement in any case.
const (
	maxLockTime = 12 * time.Second // some requests to a bucket that answers slowly
	idleFor     = 30 * time.Second
)

// Shared runs fn together with other shared holders. fn takes a few requests, not a transfer.
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
	var failed error // of fn: nothing of the database
	err := pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
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
