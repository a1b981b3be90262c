package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
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
	err = attempt(ctx)
	if !isUncertain(err) {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, knownWithin)
	defer cancel()
	for delay, unknown := firstAsk, err; ; delay = min(2*delay, lastAsk) {
		if pause(ctx, delay) != nil {
			return false, unknown
		}
		if err = attempt(ctx); err == nil {
			return false, nil
		}
		switch recorded, failed := s.has(ctx, first); {
		case failed == nil && recorded:
			return true, nil
		case failed == nil && !isUncertain(err) && !fault.Is(classify(err, "attempt again"), fault.Unavailable):
			return false, err
		}
	}
}

// has reports whether a fact is recorded.
func (s *EventStore) has(ctx context.Context, id uuid.UUID) (known bool, err error) {
	err = s.pool.QueryRow(ctx, `select exists (select from events where id = $1)`, id).Scan(&known)
	return known, classify(err, "look for a fact")
}
