package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/blob"
)

// BlobLocks keep removers and touchers of one blob apart over all processes of a deployment. They
// implement bucket.Locks.
type BlobLocks struct{ pool *pgxpool.Pool }

// NewBlobLocks returns the locks in pool's database.
func NewBlobLocks(pool *pgxpool.Pool) *BlobLocks { return &BlobLocks{pool: pool} }

// lockOfBlobs keeps these advisory locks apart from those of names and bytes.
const lockOfBlobs = 17

// Shared runs fn together with other shared holders. fn takes a few requests, not a transfer.
func (l *BlobLocks) Shared(ctx context.Context, ref blob.Ref, fn func() error) error {
	return l.with(ctx, `select pg_advisory_xact_lock_shared(hashtextextended($1, $2))`, ref, fn)
}

// Exclusive runs fn alone.
func (l *BlobLocks) Exclusive(ctx context.Context, ref blob.Ref, fn func() error) error {
	return l.with(ctx, `select pg_advisory_xact_lock(hashtextextended($1, $2))`, ref, fn)
}

func (l *BlobLocks) with(ctx context.Context, lock string, ref blob.Ref, fn func() error) error {
	return pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lock, ref.Hex(), lockOfBlobs); err != nil {
			return classify(err, "lock a blob")
		}
		return fn()
	})
}
