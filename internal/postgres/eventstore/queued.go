package eventstore

import (
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// eventsRefused is the SQLSTATE of append_events_or_fail, see schema/0101_log.sql.
const eventsRefused = "MR001"

// IsRefused reports whether err means that an append was not placed as a whole.
func IsRefused(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == eventsRefused
}

// Queued is an append that was queued in a batch. Its result is known when the batch is closed.
type Queued struct {
	batch
	placed   map[uuid.UUID]eventlog.Recorded
	recorded []eventlog.Recorded // of all appends, once they were asked for
}

// QueueAppend queues an append that fails the batch unless it is placed as a whole.
func (s *Store) QueueAppend(q *pgx.Batch, appends []eventlog.Append) (*Queued, error) {
	b, err := s.prepareAll(appends)
	if err != nil {
		return nil, err
	}
	return b.queue(q), nil
}

// QueuePrepared is QueueAppend of appends that are prepared.
func (s *Store) QueuePrepared(q *pgx.Batch, appends []*Prepared) (*Queued, error) {
	b := batch(appends)
	if err := b.check(); err != nil {
		return nil, err
	}
	return b.queue(q), nil
}

func (b batch) queue(q *pgx.Batch) *Queued {
	a := &Queued{batch: b, placed: make(map[uuid.UUID]eventlog.Recorded, b.events())}
	q.Queue(`select * from append_events_or_fail($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`, b.args()...).
		Query(func(rows pgx.Rows) error {
			var rec eventlog.Recorded
			_, err := pgx.ForEachRow(rows, []any{&rec.Position, &rec.Version, &rec.ID, &rec.RecordedAt}, func() error {
				a.placed[rec.ID] = rec
				return nil
			})
			return err
		})
	return a
}

// Recorded returns the events as they are in the log.
func (a *Queued) Recorded() []eventlog.Recorded {
	if a.recorded == nil {
		a.recorded = a.collect(a.placed, nil)
	}
	return a.recorded
}

// RecordedOf returns those of one of the appends.
func (a *Queued) RecordedOf(p *Prepared) []eventlog.Recorded {
	all := a.Recorded()
	for _, other := range a.batch {
		if other == p {
			return all[:len(p.Events)]
		}
		all = all[len(other.Events):]
	}
	return nil
}
