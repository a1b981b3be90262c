package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/fault"
)

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

// untilKnown makes an attempt at a transaction that records a fact under the id first. When it is not known
// whether that was committed, it attempts it again, until it is: the client would be told of a failure, do it
// again itself, and have it done twice, or be told that its key was used. recorded says that an earlier attempt
// was committed after all.
//
// The first statement of an attempt waits for the locks of those before it, and an attempt behind one that
// was committed is refused: then the log says by which.
func (s *EventStore) untilKnown(ctx context.Context, first uuid.UUID, attempt func(context.Context) error) (recorded bool, err error) {
	again := false
	err = untilAnswered(ctx, func(ctx context.Context) error {
		err := attempt(ctx)
		if err == nil || !again {
			again = true
			return err
		}
		known, failed := s.has(ctx, first)
		if failed != nil {
			return &uncertainError{errors.Join(err, failed)}
		}
		if recorded = known; recorded {
			return nil
		}
		return err
	})
	return recorded, err
}

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

// has reports whether a fact is recorded.
func (s *EventStore) has(ctx context.Context, id uuid.UUID) (known bool, err error) {
	err = s.pool.QueryRow(ctx, `select exists (select from events where id = $1)`, id).Scan(&known)
	return known, classify(err, "look for a fact")
}
