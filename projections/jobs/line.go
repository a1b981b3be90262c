package jobs

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/job"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Line selects unfinished jobs of an account, in run order.
type Line struct {
	Waiting bool   // those that wait for a slot; else those that have one
	After   *Place // LinePage.Next of the page before; nil = from the first
	Limit   int    // at most 1,000, which is also what 0 means
}

// Place is a place in the run order of an account.
type Place struct {
	Number    float64
	Submitted int64
}

// LinePage is a part of a line.
type LinePage struct {
	Jobs []job.Job
	Next *Place // Line.After of the next page; nil = this is the last
}

// Line returns the account's jobs that q selects. Pages are read at different times: a job that moves from
// one line to the other meanwhile is in both or in none, unless the one that it leaves is read first.
func (r *Reader) Line(ctx context.Context, account string, q Line) (LinePage, error) {
	limit := maxLimit
	if q.Limit > 0 {
		limit = min(q.Limit, maxLimit)
	}
	fresh, err := r.unfolded(ctx, account)
	if err != nil {
		return LinePage{}, err
	}
	sql, args := q.sql(account, fresh.ids, limit+1)
	rows, err := r.query(ctx, sql, args...)
	if err != nil {
		return LinePage{}, err
	}
	for _, f := range fresh.rows {
		if q.matches(f) {
			rows = append(rows, f)
		}
	}
	slices.SortFunc(rows, byRunOrder)
	if len(rows) <= limit {
		return LinePage{Jobs: jobsOf(rows)}, nil
	}
	last := rows[limit-1]
	return LinePage{Jobs: jobsOf(rows[:limit]), Next: &Place{last.job.Number, last.submitted}}, nil
}

// sql reads the matching rows of the view but those that except names: waiting ones along the index
// jobs_v1_queued, the others, which are few, by their states.
func (q Line) sql(account string, except []string, limit int) (string, []any) {
	args := []any{account, except, limit}
	sql := `select submitted, job from ` + Name + ` where account = $1 and id <> all($2)`
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

// matches reports whether q selects a job that the view does not have yet.
func (q Line) matches(r row) bool {
	if r.job.State.Final() || q.Waiting != (r.job.State == job.Queued) {
		return false
	}
	return q.After == nil || byRunOrder(r, row{job: job.Job{Number: q.After.Number}, submitted: q.After.Submitted}) > 0
}

// QueuePositions is QueuePosition of several jobs at the cost of one read. Those that do not wait are absent.
func (r *Reader) QueuePositions(ctx context.Context, account string, ids []job.ID) (map[job.ID]int64, error) {
	fresh, err := r.unfolded(ctx, account)
	if err != nil {
		return nil, err
	}
	var queued struct {
		ids       []string
		numbers   []float64
		submitted []int64
	}
	for _, f := range fresh.rows {
		if f.job.State == job.Queued {
			queued.ids, queued.numbers = append(queued.ids, string(f.job.ID)), append(queued.numbers, f.job.Number)
			queued.submitted = append(queued.submitted, f.submitted)
		}
	}
	rows, err := r.pool.Query(ctx, `select id, ahead from (
			select id, row_number() over (order by number, submitted) - 1 as ahead from (
				select id, number, submitted from `+Name+` where account = $1 and state = 'queued' and id <> all($2)
				union all select * from unnest($3::text[], $4::float8[], $5::bigint[])) q) p
		where id = any($6)`, account, fresh.ids, queued.ids, queued.numbers, queued.submitted, ids)
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
