package jobs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/folded"
)

// Bounds of the states that one listing returns or reads. A job's state may contain megabytes of UI outputs, and a
// page may have a thousand jobs.
const (
	pageBytes = 64 << 20  // of a page; a larger page ends early
	scanBytes = 512 << 20 // read by a listing without an index
	leastRead = 25        // rows that one query reads at least
	maxRead   = 1000
	readBytes = 16 << 20 // approximate bound of one query
)

// place is the position of a job in a listing, before its state is read.
type place struct {
	submitted int64
	id        string
	took      time.Duration // set if the listing is ordered by it
	fresh     *row          // its state, if that is newer than the view's
	stored    *row          // its row of the view, if that was read with its place

	newer []eventlog.Recorded // events that the view may not have folded, unless fresh is set
}

func placeOf(r row) place {
	return place{submitted: r.First, id: r.ID, took: duration(r.State), fresh: &r}
}

// merge adds the newest events to the places of the view, and the jobs that the view does not have, before a position; 0 = all
// of them. The order of such a listing does not depend on the states, so only the jobs of the page are folded.
func merge(u folded.Unfolded, places []place, before int64) []place {
	known := make(map[string]bool, len(places))
	for i, p := range places {
		places[i].newer, known[p.id] = u.Events[p.id], true
	}
	for _, id := range u.IDs {
		submitted, born := u.Born(id)
		if born && !known[id] && (before == 0 || submitted < before) {
			places = append(places, place{submitted: submitted, id: id, newer: u.Events[id]})
		}
	}
	return places
}

// selection selects rows of the view. Its first argument is the account.
type selection struct {
	postgres.Binder
	where string
}

func selectionOf(account string) *selection {
	return &selection{Binder: postgres.Binder{Args: []any{account}}, where: ` where account = $1`}
}

func (s *selection) and(condition string) { s.where += ` and ` + condition }

// span is a part of a listing by age.
type span struct {
	ascending     bool // oldest first
	offset, limit int
}

// queuePlaces queues the query for the places of the selected rows up to the end of a span, in order, with the states of
// those that load reads first. The places are known when the batch is closed.
func (s *selection) queuePlaces(q *pgx.Batch, p span, view *folded.View[job.Job], into *[]place) {
	b := postgres.Binder{Args: slices.Clone(s.Args)}
	order := ` order by submitted desc`
	if p.ascending {
		order = ` order by submitted`
	}
	sql := `select submitted, id, case when row_number() over (` + order + `) between ` + b.Bind(p.offset+1) + `::bigint and ` +
		b.Bind(p.offset+leastRead) +
		`::bigint then job end from (select submitted, id, job from ` + Name + s.where + order + ` limit ` + b.Bind(p.offset+p.limit) +
		`) listed` + order
	postgres.CollectInto(q.Queue(sql, b.Args...), into, func(found pgx.CollectableRow) (place, error) { return scanPlace(view, found) })
}

// scanPlace reads a row of (submitted, id, job), of which job may be null.
func scanPlace(view *folded.View[job.Job], found pgx.CollectableRow) (p place, err error) {
	var state []byte
	if err = found.Scan(&p.submitted, &p.id, &state); err != nil || state == nil {
		return p, err
	}
	stored, err := view.Decode(p.submitted, state)
	p.stored = &stored
	return p, err
}

// load reads the states of jobs in the order of their places. If they exceed the size of a page, it stops and whole
// is false. It skips jobs that were removed meanwhile.
func (r *Reader) load(ctx context.Context, account string, places []place) (rows []row, whole bool, err error) {
	size, read := 0, 0
	for len(places) > 0 {
		part := places[:min(len(places), portion(size, read))]
		states, err := r.states(ctx, account, part)
		if err != nil {
			return nil, false, err
		}
		for _, p := range part {
			current, found := states[p.id]
			if !found {
				continue
			}
			if size += current.Size; size > pageBytes && len(rows) > 0 {
				return rows, false, nil
			}
			rows = append(rows, current)
		}
		places, read = places[len(part):], read+len(part)
	}
	return rows, true, nil
}

// portion returns the number of rows to read next, given the total size of the rows read so far.
func portion(size, rows int) int {
	if rows == 0 {
		return leastRead
	}
	return min(max(readBytes/max(size/rows, 1), leastRead), maxRead)
}

func (r *Reader) states(ctx context.Context, account string, places []place) (map[string]row, error) {
	states := make(map[string]row, len(places))
	ids := make([]string, 0, len(places))
	for _, p := range places {
		switch {
		case p.fresh != nil:
			states[p.id] = *p.fresh
		case p.stored != nil:
			states[p.id] = *p.stored
		case len(p.newer) > 0 && p.newer[0].Version == 1: // every event of the job is known
			states[p.id] = row{}
		default:
			ids = append(ids, p.id)
		}
	}
	if len(ids) > 0 {
		found, err := r.query(ctx, `select submitted, job from `+Name+` where id = any($2) and account = $1`, account, ids)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			states[f.ID] = f
		}
	}
	return states, r.foldPlaces(ctx, places, states)
}

// foldPlaces folds the newer events of places into states. Jobs that are retired are removed.
func (r *Reader) foldPlaces(ctx context.Context, places []place, states map[string]row) error {
	for _, p := range places {
		if len(p.newer) == 0 || p.fresh != nil {
			continue
		}
		state, err := r.view.FoldNewer(ctx, r.pool, p.id, states[p.id], p.newer)
		if err != nil {
			return err
		}
		if states[p.id] = state; state.Gone {
			delete(states, p.id)
		}
	}
	return nil
}

// scan reads the newest rows in portions and returns the places of those that o selects.
func (r *Reader) scan(ctx context.Context, o Order, from *selection) ([]place, error) {
	var kept []place
	size, read, last := 0, 0, int64(0)
	for read < maxScanned && size < scanBytes {
		part := min(portion(size, read), maxScanned-read)
		next := postgres.Binder{Args: slices.Clone(from.Args)}
		cond := from.where
		if last > 0 {
			cond += ` and submitted < ` + next.Bind(last)
		}
		found, err := r.query(ctx, fmt.Sprintf(`select submitted, job from `+Name+cond+` order by submitted desc limit %d`, part), next.Args...)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			size, last = size+f.Size, f.First
			if o.matches(f.State) {
				kept = append(kept, place{submitted: f.First, id: f.ID, took: duration(f.State)})
			}
		}
		if read += len(found); len(found) < part {
			break
		}
	}
	return kept, nil
}
