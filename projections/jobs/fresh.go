package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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

// unfolded folds the account's events after the view's checkpoint on top of its rows. It reads the events before the
// rows, so that events that the view folds meanwhile are seen twice, not missed.
func (r *Reader) unfolded(ctx context.Context, account string) (fresh, error) {
	f := fresh{ids: []string{}}
	events, err := r.behind(ctx, account)
	if err != nil || len(events) == 0 {
		return f, err
	}
	byJob := map[string][]eventlog.Recorded{}
	for _, rec := range events {
		id, ok := job.IDOfStream(rec.Stream)
		if !ok {
			continue
		}
		if byJob[string(id)] == nil {
			f.ids = append(f.ids, string(id))
		}
		byJob[string(id)] = append(byJob[string(id)], rec)
	}
	rows, err := r.query(ctx, `select submitted, job from `+Name+` where id = any($1) and account = $2`, f.ids, account)
	if err != nil {
		return f, err
	}
	known := make(map[string]row, len(rows))
	for _, found := range rows {
		known[string(found.job.ID)] = found
	}
	for _, id := range f.ids {
		current, err := r.foldNewer(ctx, job.ID(id), known[id], byJob[id])
		if err != nil {
			return f, fmt.Errorf("fold job %s: %w", id, err)
		}
		if !current.retired { // a retired job is left out by its id
			f.rows = append(f.rows, current)
		}
	}
	return f, nil
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

// behind returns the account's events of jobs that the view's checkpoint has not passed.
// Plan: both ends of the primary key, then its range above the checkpoint: nothing, when the view is current.
func (r *Reader) behind(ctx context.Context, account string) ([]eventlog.Recorded, error) {
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
