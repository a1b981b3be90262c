package jobs

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Line selects unfinished jobs of an account, in run order.
type Line struct {
	Waiting bool   // select jobs that wait for a slot; otherwise jobs that have one
	After   *Place // LinePage.Next of the page before; nil = from the first
	Limit   int    // at most 1,000, which is also what 0 means
}

// Place is a position in the run order of an account.
type Place struct {
	Number    float64
	Submitted int64
}

// LinePage is a part of a line.
type LinePage struct {
	Jobs []job.Job
	Next *Place // Line.After of the next page; nil = this is the last
}

// Line returns the account's jobs that q selects. Pages are read at different times: a job that moves from one line
// to the other meanwhile may be in both or in none, unless the line that it leaves is read first. A page of very
// large jobs has fewer jobs than the limit.
func (r *Reader) Line(ctx context.Context, account string, q Line) (LinePage, error) {
	limit := maxLimit
	if q.Limit > 0 {
		limit = min(q.Limit, maxLimit)
	}
	fresh, err := r.fresh(ctx, account)
	if err != nil {
		return LinePage{}, err
	}
	line, err := r.line(ctx, account, q, fresh, limit+1)
	if err != nil {
		return LinePage{}, err
	}
	places := make([]place, min(limit, len(line)))
	for i := range places {
		places[i] = line[i].place
	}
	rows, whole, err := r.load(ctx, account, places)
	if err != nil {
		return LinePage{}, err
	}
	var page LinePage
	switch {
	case !whole:
		last := rows[len(rows)-1]
		page.Next = &Place{last.job.Number, last.submitted}
	case len(line) > limit:
		page.Next = &Place{line[limit-1].number, line[limit-1].submitted}
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return !q.has(r.job.State) }) // drop jobs that moved meanwhile
	page.Jobs = jobsOf(rows)
	return page, nil
}

// numbered is a place with the number by which it is ordered.
type numbered struct {
	place
	number float64
}

// line reads the places of the first jobs that q selects, in order.
func (r *Reader) line(ctx context.Context, account string, q Line, fresh fresh, limit int) ([]numbered, error) {
	sql, args := q.sql(account, fresh.ids, limit)
	found, err := r.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, postgres.Classify(err, "read the places of a queue")
	}
	line, err := pgx.CollectRows(found, func(found pgx.CollectableRow) (n numbered, err error) {
		err = found.Scan(&n.number, &n.submitted, &n.id)
		return n, err
	})
	if err != nil {
		return nil, postgres.Classify(err, "read the places of a queue")
	}
	for _, f := range fresh.rows {
		if q.matches(f) {
			line = append(line, numbered{placeOf(f), f.job.Number})
		}
	}
	slices.SortFunc(line, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.submitted, b.submitted))
	})
	return line, nil
}

// sql returns the query for the matching places of the view, without those in except. Waiting jobs are read along the
// index jobs_v1_queued, the others, which are few, by their states.
func (q Line) sql(account string, except []string, limit int) (string, []any) {
	args := []any{account, except, limit}
	sql := `select number, submitted, id from ` + Name + ` where account = $1 and id not in (select unnest($2::text[]))`
	if q.Waiting {
		sql += ` and state = 'queued'`
	} else {
		sql += ` and state = any('{running,canceling}')`
	}
	if q.After != nil {
		sql += ` and (number, submitted) > ($4, $5)`
		args = append(args, q.After.Number, q.After.Submitted)
	}
	return sql + ` order by number, submitted limit $3`, args
}

// has reports whether the line includes jobs in a state.
func (q Line) has(s job.State) bool { return !s.Final() && q.Waiting == (s == job.Queued) }

// matches reports whether q selects a job that the view does not have yet.
func (q Line) matches(r row) bool {
	if !q.has(r.job.State) {
		return false
	}
	return q.After == nil || byRunOrder(r, row{job: job.Job{Number: q.After.Number}, submitted: q.After.Submitted}) > 0
}

// QueuePositions returns the queue positions of several jobs with one read. Jobs that are not queued are absent.
func (r *Reader) QueuePositions(ctx context.Context, account string, ids []job.ID) (map[job.ID]int64, error) {
	u, err := r.unfolded(ctx, account)
	if err != nil {
		return nil, err
	}
	return r.positions(ctx, account, u, ids)
}

// positionsSQL counts the queued jobs before each of some jobs: between it and the one before it, and sums up, so that each
// entry of the index jobs_v1_queued is read once; offset 0 keeps the planner, which may believe that the queue is short, from
// reading it to find the jobs. Jobs with events that the view may not have folded ($2) are left out; those of
// them that are queued are given ($3 to $5).
const positionsSQL = `with newer as materialized (select * from unnest($3::text[], $4::float8[], $5::bigint[]) n (id, number, submitted)),
	asked as (select q.*, lag(number, 1, '-infinity'::float8) over w as after_number, lag(submitted, 1, 0::bigint) over w as after_submitted
		from (select v.id, v.number, v.submitted from unnest($6::text[]) a (id)
				cross join lateral (select * from ` + Name + ` where id = a.id offset 0) v
				where v.account = $1 and v.state = 'queued' and v.id not in (select unnest($2::text[]))
			union all select * from newer where id = any($6)) q
		window w as (order by number, submitted)),
	counted as (select a.id, a.number, a.submitted,
		(select count(*) from ` + Name + ` where account = $1 and state = 'queued' and id not in (select unnest($2::text[]))
			and (number, submitted) >= (a.after_number, a.after_submitted) and (number, submitted) < (a.number, a.submitted))
		+ (select count(*) from newer where (number, submitted) >= (a.after_number, a.after_submitted) and (number, submitted) < (a.number, a.submitted)) as ahead
		from asked a)
	select id, (sum(ahead) over (order by number, submitted))::bigint from counted`

// positions is QueuePositions with the events that the view may not have folded.
func (r *Reader) positions(ctx context.Context, account string, u unfolded, ids []job.ID) (map[job.ID]int64, error) {
	newer, err := r.foldAll(ctx, account, u, u.mayWait())
	if err != nil {
		return nil, err
	}
	var queued struct {
		ids       []string
		numbers   []float64
		submitted []int64
	}
	for _, f := range newer {
		if f.job.State == job.Queued {
			queued.ids, queued.numbers = append(queued.ids, string(f.job.ID)), append(queued.numbers, f.job.Number)
			queued.submitted = append(queued.submitted, f.submitted)
		}
	}
	rows, err := r.pool.Query(ctx, positionsSQL, account, u.ids, queued.ids, queued.numbers, queued.submitted, ids)
	if err != nil {
		return nil, postgres.Classify(err, "number the queue")
	}
	positions := make(map[job.ID]int64, len(ids))
	var id job.ID
	var ahead int64
	_, err = pgx.ForEachRow(rows, []any{&id, &ahead}, func() error { positions[id] = ahead; return nil })
	if err != nil {
		return nil, postgres.Classify(err, "number the queue")
	}
	return positions, nil
}

// mayWait returns the jobs that no event says to have left the queue.
func (u unfolded) mayWait() []string {
	ids := make([]string, 0, len(u.ids))
	for _, id := range u.ids {
		if !leftQueue(u.events[id]) {
			ids = append(ids, id)
		}
	}
	return ids
}

// leftQueue reports whether one of the events ends the time of a job in the queue, to which no job returns.
func leftQueue(events []eventlog.Recorded) bool {
	for _, rec := range events {
		switch rec.Type {
		case job.TypeAdmitted, job.TypeCancelRequested, job.TypeSucceeded, job.TypeFailed, job.TypeCanceled, job.TypeExpired, job.TypeRetired:
			return true
		}
	}
	return false
}

// queuedIn returns the ids of the queued jobs among rows.
func queuedIn(rows []row) []job.ID {
	var ids []job.ID
	for _, r := range rows {
		if r.job.State == job.Queued {
			ids = append(ids, r.job.ID)
		}
	}
	return ids
}
