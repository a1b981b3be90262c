package jobs

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
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
	line, err := r.line(ctx, account, q, limit+1)
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
		page.Next = &Place{last.State.Number, last.First}
	case len(line) > limit:
		page.Next = &Place{line[limit-1].number, line[limit-1].submitted}
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return !q.has(r.State.State) }) // drop jobs that moved meanwhile
	page.Jobs = jobsOf(rows)
	return page, nil
}

// numbered is a place with the number by which it is ordered.
type numbered struct {
	place
	number float64
}

// line reads the places of the first jobs that q selects, in order.
func (r *Reader) line(ctx context.Context, account string, q Line, limit int) (line []numbered, err error) {
	u, err := r.unfolded(ctx, account)
	if err != nil {
		return nil, err
	}
	sql, args := q.sql(account, u.IDs, limit)
	fresh, err := r.view.Fresh(ctx, r.pool, account, u, func(b *pgx.Batch) {
		postgres.CollectInto(b.Queue(sql, args...), &line, scanNumbered)
	})
	if err != nil {
		return nil, err
	}
	for _, f := range fresh.Rows {
		if q.matches(f) {
			line = append(line, numbered{placeOf(f), f.State.Number})
		}
	}
	slices.SortFunc(line, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.submitted, b.submitted))
	})
	return line, nil
}

func scanNumbered(found pgx.CollectableRow) (n numbered, err error) {
	err = found.Scan(&n.number, &n.submitted, &n.id)
	return n, err
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
	if !q.has(r.State.State) {
		return false
	}
	return q.After == nil || byRunOrder(r, row{State: job.Job{Number: q.After.Number}, First: q.After.Submitted}) > 0
}
