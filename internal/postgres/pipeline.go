package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// eventsRefused is the SQLSTATE of append_events_or_fail, see 0025_append_or_fail.sql.
const eventsRefused = "MR001"

// isRefused reports an append that was not placed whole.
func isRefused(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == eventsRefused
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

// appending is an append that was queued in a batch. Its result is known when the batch is closed.
type appending struct {
	*batch
	placed map[uuid.UUID]eventlog.Recorded
}

// queueAppend queues an append that fails the batch unless it is placed whole.
func (s *EventStore) queueAppend(q *pgx.Batch, appends []eventlog.Append) (*appending, error) {
	b, err := s.encode(appends)
	if err != nil {
		return nil, err
	}
	a := &appending{batch: b, placed: make(map[uuid.UUID]eventlog.Recorded, len(b.data))}
	q.Queue(`select * from append_events_or_fail($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`, b.args()...).
		Query(func(rows pgx.Rows) error {
			var rec eventlog.Recorded
			_, err := pgx.ForEachRow(rows, []any{&rec.Position, &rec.Version, &rec.ID, &rec.RecordedAt}, func() error {
				a.placed[rec.ID] = rec
				return nil
			})
			return err
		})
	return a, nil
}

// recorded returns the events as the log has them.
func (a *appending) recorded() []eventlog.Recorded { return a.collect(a.placed, nil) }
