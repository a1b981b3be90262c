package folded

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

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

// Unfolded are the events of an account that a view may not have folded.
type Unfolded struct {
	IDs    []string // of the rows, in the order of their first event
	Events map[string][]eventlog.Recorded
}

// Born returns the position of the first event of a row, if that is one of the events.
func (u Unfolded) Born(id string) (first int64, ok bool) {
	rec := u.Events[id][0]
	return rec.Position, rec.Version == 1
}

// Unfolded reads the account's events after the view's checkpoint, in one round trip with the statements that read queues, if it
// is not nil: under load, each round trip takes longer than its statements. read may be called twice; the results of the last call
// count. Rows must be read at the same time or afterwards, so that events that the view folds meanwhile are seen twice, not missed.
// Events that recent has are taken from there; nil = every event is read from the database.
func (v *View[S]) Unfolded(ctx context.Context, db postgres.Tx, account string, recent Recent, read func(*pgx.Batch)) (Unfolded, error) {
	for ; ; recent = nil {
		var q pgx.Batch
		b := v.queueBehind(&q, account, recent)
		if read != nil {
			read(&q)
		}
		if err := db.SendBatch(ctx, &q).Close(); err != nil {
			return Unfolded{}, postgres.Classify(err, "read what the view has not folded")
		}
		if events, ok := b.events(recent); ok {
			return v.group(events), nil
		}
	}
}

func (v *View[S]) group(events []eventlog.Recorded) Unfolded {
	u := Unfolded{IDs: []string{}, Events: map[string][]eventlog.Recorded{}}
	for _, rec := range events {
		id, ok := v.IDOf(rec)
		if !ok {
			continue
		}
		if u.Events[id] == nil {
			u.IDs = append(u.IDs, id)
		}
		u.Events[id] = append(u.Events[id], rec)
	}
	return u
}

// Fresh are the current rows of an account that have events the view may not have folded.
type Fresh[S any] struct {
	IDs    []string          // of all of them
	Rows   []Row[S]          // without those that are gone
	Before map[string]Row[S] // as the view has them
}

// Fresh folds u on top of the rows of the view. The statements that read queues go with the one that reads the rows.
func (v *View[S]) Fresh(ctx context.Context, db postgres.Tx, account string, u Unfolded, read func(*pgx.Batch)) (Fresh[S], error) {
	f := Fresh[S]{IDs: u.IDs}
	var q pgx.Batch
	older := slices.DeleteFunc(slices.Clone(u.IDs), func(id string) bool { _, born := u.Born(id); return born })
	if len(older) > 0 {
		q.Queue(v.rowsOwned, older, account).Query(func(found pgx.Rows) error {
			rows, err := pgx.CollectRows(found, v.ScanRow)
			f.Before = byID(rows)
			return err
		})
	}
	if read != nil {
		read(&q)
	}
	if q.Len() > 0 {
		if err := db.SendBatch(ctx, &q).Close(); err != nil {
			return f, postgres.Classify(err, "read "+v.Noun+"s")
		}
	}
	for _, id := range u.IDs {
		r, err := v.FoldNewer(ctx, db, id, f.Before[id], u.Events[id])
		if err != nil {
			return f, err
		}
		if !r.Gone {
			f.Rows = append(f.Rows, r)
		}
	}
	return f, nil
}

// FoldNewer folds the last events of a stream into a row. If the row lags further behind, because its stream is
// halted in the view, FoldNewer reads the missing events from the log.
func (v *View[S]) FoldNewer(ctx context.Context, db postgres.Queryer, id string, r Row[S], events []eventlog.Recorded) (Row[S], error) {
	var err error
	if events[0].Version > r.Version+1 {
		r, err = v.CatchUp(ctx, db, id, r, events[len(events)-1].Version)
	}
	for _, rec := range events {
		if err == nil {
			r, err = v.Apply(r, rec)
		}
	}
	if err != nil {
		return r, fmt.Errorf("fold %s %s: %w", v.Noun, id, err)
	}
	return r, nil
}

// behind are the account's events that the view's checkpoint has not passed, as one round trip reads them. Most of them are
// in the memory of this process; the database has the others.
type behind struct {
	account          string
	end              int64               // up to which the memory of this process is used; -1 = it is not
	checkpoint, head int64               // where the memory is used
	newer            []eventlog.Recorded // above end
}

// queueBehind queues the statements that find what the view has not folded.
func (v *View[S]) queueBehind(q *pgx.Batch, account string, recent Recent) *behind {
	b := &behind{account: account, end: -1}
	if recent != nil {
		if end, ok := recent.End(); ok {
			b.end = end
		}
	}
	if b.end < 0 {
		q.Queue(v.behind, v.Name, maxBehind, account).Query(b.scan)
		return b
	}
	postgres.ScanInto(q.Queue(`select coalesce((select position from checkpoints where name = $1), 0),
		coalesce((select max(position) from events), 0)`, v.Name), &b.checkpoint, &b.head)
	q.Queue(v.tail, b.end, maxBehind, account).Query(b.scan)
	return b
}

// selectBehind reads all events that the view has not folded. Plan: both ends of the primary key, then its range above the
// checkpoint: nothing, when the view is current.
const selectBehind = eventstore.SelectEvents + `
	where position > (select coalesce(max(position), 0) from checkpoints where name = $1)
	  and (select coalesce(max(position), 0) from events)
	      - (select coalesce(max(position), 0) from checkpoints where name = $1) <= $2
	  and account = $3 and stream like 'NOUN-%' order by position`

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
