package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// maxBehind is the maximum lag of a view, in positions, up to which lists are completed from the log. Beyond it,
// after an outage of the projector, they show the view as it is.
const maxBehind = 5000

// maxBehindBytes bounds the size of the events from which lists are completed. Beyond it, they show the view as it
// is.
const maxBehindBytes = 64 << 20

// Recent is the newest part of the log in the memory of this process; eventstore.Tailer implements it.
type Recent interface {
	// End returns the position of the newest event in memory. ok is false if there is none yet.
	End() (position int64, ok bool)
	// Between returns the events above after, up to upTo, in order. ok is false if the memory does not reach back to after.
	Between(after, upTo int64) (events []eventlog.Recorded, ok bool)
}

// unfolded are the events of an account's jobs that the view may not have folded.
type unfolded struct {
	ids    []string // jobs, in the order of their first event
	events map[string][]eventlog.Recorded
}

// born returns the position of the submission of a job, if that is one of the events.
func (u unfolded) born(id string) (submitted int64, ok bool) {
	first := u.events[id][0]
	return first.Position, first.Version == 1
}

// unfolded reads the account's events after the view's checkpoint. Rows must be read afterwards, so that events that the view
// folds meanwhile are seen twice, not missed.
func (r *Reader) unfolded(ctx context.Context, account string) (unfolded, error) {
	return r.unfoldedAnd(ctx, account, nil)
}

// unfoldedAnd is unfolded with the statements that read queues behind it, in the same round trip: under load, each round trip
// takes longer than its statements. read may be called twice; the results of the last call count.
func (r *Reader) unfoldedAnd(ctx context.Context, account string, read func(*pgx.Batch)) (unfolded, error) {
	for recent := r.recent; ; recent = nil {
		var q pgx.Batch
		b := queueBehind(&q, account, recent)
		if read != nil {
			read(&q)
		}
		if err := r.pool.SendBatch(ctx, &q).Close(); err != nil {
			return unfolded{}, postgres.Classify(err, "read what the view has not folded")
		}
		if events, ok := b.events(recent); ok {
			return unfoldedOf(events), nil
		}
	}
}

func unfoldedOf(events []eventlog.Recorded) unfolded {
	u := unfolded{ids: []string{}, events: map[string][]eventlog.Recorded{}}
	for _, rec := range events {
		id, ok := job.IDOfStream(rec.Stream)
		if !ok {
			continue
		}
		if u.events[string(id)] == nil {
			u.ids = append(u.ids, string(id))
		}
		u.events[string(id)] = append(u.events[string(id)], rec)
	}
	return u
}

// fresh is the current state of the account's jobs that have events the view may not have folded.
type fresh struct {
	ids  []string
	rows []row
}

// fresh folds the account's events that the view may not have folded on top of its rows.
func (r *Reader) fresh(ctx context.Context, account string) (fresh, error) {
	u, err := r.unfolded(ctx, account)
	if err != nil {
		return fresh{}, err
	}
	return r.freshAnd(ctx, account, u, nil)
}

// freshAnd is fresh of events that were read before, with the statements that read queues, in the same round trip.
func (r *Reader) freshAnd(ctx context.Context, account string, u unfolded, read func(*pgx.Batch)) (fresh, error) {
	var q pgx.Batch
	known := u.queueOlder(&q, account, u.ids)
	if read != nil {
		read(&q)
	}
	if err := r.send(ctx, &q); err != nil {
		return fresh{}, err
	}
	rows, err := r.foldAll(ctx, u, u.ids, known)
	return fresh{ids: u.ids, rows: rows}, err
}

// send sends the statements of a batch, if there are any.
func (r *Reader) send(ctx context.Context, q *pgx.Batch) error {
	if q.Len() == 0 {
		return nil
	}
	return postgres.Classify(r.pool.SendBatch(ctx, q).Close(), "read jobs")
}

// queueOlder queues the statement that reads the rows of some jobs of u: of those whose first events are not among the new
// ones. The result is filled when the batch is closed.
func (u unfolded) queueOlder(q *pgx.Batch, account string, ids []string) map[string]row {
	known := map[string]row{}
	older := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, born := u.born(id); return born })
	if len(older) > 0 {
		q.Queue(`select submitted, job from `+Name+` where id = any($1) and account = $2`, older, account).Query(func(found pgx.Rows) error {
			rows, err := pgx.CollectRows(found, scanRow)
			for _, r := range rows {
				known[string(r.job.ID)] = r
			}
			return err
		})
	}
	return known
}

// foldAll returns the current state of some jobs of u, of which known has the rows of older ones. Jobs that are retired are
// left out.
func (r *Reader) foldAll(ctx context.Context, u unfolded, ids []string, known map[string]row) ([]row, error) {
	folded := make([]row, 0, len(ids))
	for _, id := range ids {
		current, err := r.foldNewer(ctx, job.ID(id), known[id], u.events[id])
		if err != nil {
			return nil, fmt.Errorf("fold job %s: %w", id, err)
		}
		if !current.retired {
			folded = append(folded, current)
		}
	}
	return folded, nil
}

// foldNewer folds the last events of a stream into a row. If the row lags further behind, because its stream is
// halted in the view, foldNewer reads the missing events from the log.
func (r *Reader) foldNewer(ctx context.Context, id job.ID, current row, events []eventlog.Recorded) (row, error) {
	if events[0].Version > current.job.Version+1 {
		return r.catchUp(ctx, id, current, events[len(events)-1].Version)
	}
	for _, rec := range events {
		var err error
		if current, _, err = fold(r.registry, current, rec); err != nil {
			return current, err
		}
	}
	return current, nil
}

// behind are the account's events that the view's checkpoint has not passed, as one round trip reads them. Most of them are
// in the memory of this process; the database has the others.
type behind struct {
	account          string
	end              int64 // up to which the memory of this process is used; -1 = it is not
	checkpoint, head int64
	newer            []eventlog.Recorded // above end
}

// queueBehind queues the statements that find what the view has not folded. recent may be nil.
func queueBehind(q *pgx.Batch, account string, recent Recent) *behind {
	b := &behind{account: account, end: -1}
	if recent != nil {
		if end, ok := recent.End(); ok {
			b.end = end
		}
	}
	q.Queue(`select coalesce((select position from checkpoints where name = $1), 0), coalesce((select max(position) from events), 0)`, Name).
		QueryRow(func(row pgx.Row) error { return row.Scan(&b.checkpoint, &b.head) })
	if b.end >= 0 {
		q.Queue(eventstore.SelectEvents+` where position > $1 and position <= $1 + $2::bigint and account = $3 and stream like 'job-%' order by position`,
			b.end, maxBehind, account).Query(b.scan)
	} else {
		q.Queue(selectBehind, Name, maxBehind, account).Query(b.scan)
	}
	return b
}

// selectBehind reads all events that the view has not folded. Plan: both ends of the primary key, then its range above the
// checkpoint: nothing, when the view is current.
const selectBehind = eventstore.SelectEvents + `
	where position > (select coalesce(max(position), 0) from checkpoints where name = $1)
	  and (select coalesce(max(position), 0) from events)
	      - (select coalesce(max(position), 0) from checkpoints where name = $1) <= $2
	  and account = $3 and stream like 'job-%' order by position`

// scan reads events until they are too large to be folded for a list.
func (b *behind) scan(rows pgx.Rows) error {
	for size := 0; rows.Next() && size <= maxBehindBytes; {
		rec, err := eventstore.ScanRecorded(rows)
		if err != nil {
			return err
		}
		b.newer, size = append(b.newer, rec), size+len(rec.Data)
	}
	return rows.Err()
}

// events returns the events in order. ok is false if the memory of this process does not reach back to the checkpoint.
func (b *behind) events(recent Recent) (events []eventlog.Recorded, ok bool) {
	if b.end < 0 {
		return bounded(b.newer), true
	}
	if b.head-b.checkpoint > maxBehind {
		return nil, true
	}
	known, ok := recent.Between(b.checkpoint, b.end)
	if !ok {
		return nil, false
	}
	for _, rec := range known {
		if rec.Account == b.account {
			events = append(events, rec)
		}
	}
	return bounded(append(events, b.newer...)), true
}

// bounded returns no events if they are too large to be folded for a list.
func bounded(events []eventlog.Recorded) []eventlog.Recorded {
	size := 0
	for _, rec := range events {
		if size += len(rec.Data); size > maxBehindBytes {
			return nil
		}
	}
	return events
}

// byRunOrder compares by number, then age.
func byRunOrder(a, b row) int {
	return cmp.Or(cmp.Compare(a.job.Number, b.job.Number), cmp.Compare(a.submitted, b.submitted))
}
