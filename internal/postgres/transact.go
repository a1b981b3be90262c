package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Queryer runs one statement. A transaction, a connection and the pool implement it.
type Queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// RowQueryer runs one statement that returns one row. A transaction, a connection and the pool implement it.
type RowQueryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Tx is an open transaction: a pgx.Tx, or a connection on which the writer of the event store began one.
type Tx interface {
	Queryer
	RowQueryer
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Snapshot runs a transaction that changes nothing: all its statements see the same state of the database.
func Snapshot(ctx context.Context, pool *pgxpool.Pool, read func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, read)
}

// Savepoint runs a part of a transaction: if it fails, its changes are undone, and the transaction goes on.
func Savepoint(ctx context.Context, tx pgx.Tx, part func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, tx, part)
}

// ambiguousError is the error of a transaction whose COMMIT was sent but not answered: it may be committed.
type ambiguousError struct{ error }

// Unwrap returns the error of the connection.
func (e *ambiguousError) Unwrap() error { return e.error }

// Ambiguous marks err as the failure of a transaction that may be committed nevertheless.
func Ambiguous(err error) error { return &ambiguousError{err} }

// IsAmbiguous reports whether the transaction that failed with err may have been committed.
func IsAmbiguous(err error) bool {
	var ambiguous *ambiguousError
	return errors.As(err, &ambiguous)
}

// Pauses between attempts to find out the outcome of a commit.
const (
	FirstRetry   = 20 * time.Millisecond
	LongestRetry = time.Second
)

// ambiguousFor bounds how long a client waits for the outcome of its request. Within this time, a killed server is
// back, and an abandoned session has ended.
const ambiguousFor = 20 * time.Second

// RetryAmbiguous calls attempt, which must be harmless if repeated, until the outcome is known: it repeats the
// call after an ambiguous error. If the outcome stays unknown, it returns the error of the first attempt.
func RetryAmbiguous(ctx context.Context, attempt func(context.Context) error) error {
	ambiguous := attempt(ctx)
	if !IsAmbiguous(ambiguous) {
		return ambiguous
	}
	ctx, cancel := context.WithTimeout(ctx, ambiguousFor)
	defer cancel()
	for delays := pause.Delays(FirstRetry, LongestRetry); ; {
		if pause.For(ctx, delays.NextBackOff()) != nil {
			return ambiguous
		}
		switch err := attempt(ctx); {
		case err == nil:
			return nil
		case ctx.Err() == nil && !IsAmbiguous(err) && !fault.Is(classify(err, "attempt again"), fault.Unavailable):
			return err
		}
	}
}
