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
	u := unfolded{ids: []string{}, events: map[string][]eventlog.Recorded{}}
	events, err := r.behind(ctx, account)
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
	return u, err
}

// fresh is the current state of the account's jobs that have events the view may not have folded.
type fresh struct {
	ids  []string
	rows []row
}

func (f fresh) find(id job.ID) (row, bool) {
	i := slices.IndexFunc(f.rows, func(r row) bool { return r.job.ID == id })
	if i < 0 {
		return row{}, false
	}
	return f.rows[i], true
}

// fresh folds the account's events that the view may not have folded on top of its rows.
func (r *Reader) fresh(ctx context.Context, account string) (fresh, error) {
	u, err := r.unfolded(ctx, account)
	if err != nil {
		return fresh{}, err
	}
	rows, err := r.foldAll(ctx, account, u, u.ids)
	return fresh{ids: u.ids, rows: rows}, err
}

// foldAll returns the current state of some jobs of u. Jobs that are retired are left out. Rows are read only of jobs whose
// first events are not among the new ones.
func (r *Reader) foldAll(ctx context.Context, account string, u unfolded, ids []string) ([]row, error) {
	known := make(map[string]row, len(ids))
	older := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, born := u.born(id); return born })
	if len(older) > 0 {
		rows, err := r.query(ctx, `select submitted, job from `+Name+` where id = any($1) and account = $2`, older, account)
		if err != nil {
			return nil, err
		}
		for _, found := range rows {
			known[string(found.job.ID)] = found
		}
	}
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

// behind returns the account's events of jobs that the view's checkpoint has not passed. Most of them are in the memory of
// this process; the database is asked for the others.
func (r *Reader) behind(ctx context.Context, account string) ([]eventlog.Recorded, error) {
	if r.recent == nil {
		return r.behindInLog(ctx, account)
	}
	end, ok := r.recent.End()
	if !ok {
		return r.behindInLog(ctx, account)
	}
	checkpoint, head, newer, err := r.above(ctx, account, end)
	if err != nil || head-checkpoint > maxBehind {
		return nil, err
	}
	recent, ok := r.recent.Between(checkpoint, end)
	if !ok {
		return r.behindInLog(ctx, account)
	}
	events := make([]eventlog.Recorded, 0, len(recent)+len(newer))
	for _, rec := range recent {
		if rec.Account == account {
			events = append(events, rec)
		}
	}
	return bounded(append(events, newer...)), nil
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

// above reads the view's checkpoint, the end of the log, and the account's events of jobs above a position.
func (r *Reader) above(ctx context.Context, account string, position int64) (checkpoint, head int64, events []eventlog.Recorded, err error) {
	var batch pgx.Batch
	batch.Queue(`select coalesce((select position from checkpoints where name = $1), 0), coalesce((select max(position) from events), 0)`, Name).
		QueryRow(func(row pgx.Row) error { return row.Scan(&checkpoint, &head) })
	batch.Queue(eventstore.SelectEvents+` where position > $1 and position <= $1 + $2::bigint and account = $3 and stream like 'job-%' order by position`,
		position, maxBehind, account).
		Query(func(rows pgx.Rows) (err error) {
			events, err = pgx.CollectRows(rows, eventstore.ScanRecorded)
			return err
		})
	err = r.pool.SendBatch(ctx, &batch).Close()
	return checkpoint, head, events, postgres.Classify(err, "read what the view has not folded")
}

// behindInLog is behind without the memory of this process.
// Plan: both ends of the primary key, then its range above the checkpoint: nothing, when the view is current.
func (r *Reader) behindInLog(ctx context.Context, account string) ([]eventlog.Recorded, error) {
	rows, err := r.pool.Query(ctx, eventstore.SelectEvents+`
		where position > (select coalesce(max(position), 0) from checkpoints where name = $1)
		  and (select coalesce(max(position), 0) from events)
		      - (select coalesce(max(position), 0) from checkpoints where name = $1) <= $2
		  and account = $3 and stream like 'job-%' order by position`, Name, maxBehind, account)
	if err != nil {
		return nil, postgres.Classify(err, "read what the view has not folded")
	}
	defer rows.Close()
	var events []eventlog.Recorded
	for size := 0; rows.Next(); {
		rec, err := eventstore.ScanRecorded(rows)
		if err != nil {
			return nil, postgres.Classify(err, "read what the view has not folded")
		}
		if size += len(rec.Data); size > maxBehindBytes {
			return nil, nil
		}
		events = append(events, rec)
	}
	return events, postgres.Classify(rows.Err(), "read what the view has not folded")
}

// byRunOrder compares by number, then age.
func byRunOrder(a, b row) int {
	return cmp.Or(cmp.Compare(a.job.Number, b.job.Number), cmp.Compare(a.submitted, b.submitted))
}
