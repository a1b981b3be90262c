package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Queryer runs one statement: a transaction, a connection or the pool.
type Queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// querier is a transaction or a connection that is in one.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// rowQueryer is a pool or a transaction.
type rowQueryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// inTwoTrips is a transaction in two round trips: look is sent behind BEGIN, and what it returned
// decides what is written, which is sent before COMMIT. While an account's lane is locked, every
// round trip is one that its other jobs wait for. The statements of write must fail when they did
// not do what they should, since nobody looks before the commit.
func inTwoTrips(ctx context.Context, pool *pgxpool.Pool, look func(*pgx.Batch), write func(querier, *pgx.Batch) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // which closes a connection whose transaction is still open
	if err := trips(ctx, conn, look, write); err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if conn.Conn().PgConn().TxStatus() != 'I' {
			_, _ = conn.Exec(undo, "rollback") // else the release closes the connection, which does the same
		}
		return err
	}
	return nil
}

func trips(ctx context.Context, conn *pgxpool.Conn, look func(*pgx.Batch), write func(querier, *pgx.Batch) error) error {
	first, second := &pgx.Batch{}, &pgx.Batch{}
	first.Queue("begin")
	look(first)
	if err := conn.SendBatch(ctx, first).Close(); err != nil {
		return err
	}
	if err := write(conn, second); err != nil {
		return err
	}
	second.Queue("commit")
	if err := conn.SendBatch(ctx, second).Close(); err != nil {
		if conn.Conn().IsClosed() { // the commit may have come through
			return &uncertainError{err}
		}
		return err
	}
	return nil
}

// uncertainError is the failure of a transaction whose commit was sent and not answered: it may have been
// committed.
type uncertainError struct{ error }

// Unwrap returns what broke the connection.
func (e *uncertainError) Unwrap() error { return e.error }

func isUncertain(err error) bool {
	var uncertain *uncertainError
	return errors.As(err, &uncertain)
}

// inTx is pgx.BeginFunc that tells a commit that was not answered from one that failed.
func inTx(ctx context.Context, pool *pgxpool.Pool, do func(pgx.Tx) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	decided := false
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		err := do(tx)
		decided = err == nil
		return err
	})
	if err != nil && decided && conn.Conn().IsClosed() {
		return &uncertainError{err}
	}
	return err
}

// execute runs one statement that commits by itself, and tells one that was not answered from one that failed.
func execute(ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return tag, err
	}
	defer conn.Release()
	if tag, err = conn.Exec(ctx, sql, args...); err != nil && conn.Conn().IsClosed() {
		return tag, &uncertainError{err}
	}
	return tag, err
}

const (
	// knownWithin bounds how long a client waits to be told whether what it asked for is recorded. A server that
	// was killed is back by then, and a session that its client left has ended.
	knownWithin = 20 * time.Second
	firstAsk    = 20 * time.Millisecond
	lastAsk     = time.Second
)

// untilAnswered makes an attempt at what means nothing more when it is done twice. When it is not known whether it
// was done, it is attempted again, until that is. Left unknown, the error is that of the first attempt.
func untilAnswered(ctx context.Context, attempt func(context.Context) error) error {
	unknown := attempt(ctx)
	if !isUncertain(unknown) {
		return unknown
	}
	ctx, cancel := context.WithTimeout(ctx, knownWithin)
	defer cancel()
	for delay := firstAsk; ; delay = min(2*delay, lastAsk) {
		if pause(ctx, delay) != nil {
			return unknown
		}
		switch err := attempt(ctx); {
		case err == nil:
			return nil
		case ctx.Err() == nil && !isUncertain(err) && !fault.Is(classify(err, "attempt again"), fault.Unavailable):
			return err
		}
	}
}

// pause waits for d or the end of ctx, whose error it returns.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
