package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/job"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Order selects a part of a listing by its offset, as the cloud contract pages.
type Order struct {
	States     []job.State // any of these; none = all
	Media      string      // only jobs with an output whose media type begins with it, such as "image/"; "" = all
	ByDuration bool        // by execution time instead of by age; jobs that have not ended count as 0
	Ascending  bool
	Offset     int
	Limit      int
}

// ListAt returns the account's jobs that o selects and how many there are in all. Unlike List, a page may
// repeat or miss a job that came meanwhile.
func (r *Reader) ListAt(ctx context.Context, account string, o Order) (found []job.Job, total int64, err error) {
	fresh, err := r.unfolded(ctx, account)
	if err != nil {
		return nil, 0, err
	}
	where, args := o.where(account, fresh.ids)
	if err := r.pool.QueryRow(ctx, `select count(*) from `+Name+where, args...).Scan(&total); err != nil {
		return nil, 0, postgres.Classify(err, "count jobs")
	}
	// Jobs that the view is behind with may stand anywhere before the offset, so the rows up to
	// the end of the page are read and merged with them.
	rows, err := r.query(ctx, `select submitted, job from `+Name+where+o.order()+fmt.Sprintf(` limit %d`, o.Offset+o.Limit), args...)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range fresh.rows {
		if o.matches(f.job) {
			rows, total = append(rows, f), total+1
		}
	}
	slices.SortStableFunc(rows, o.compare)
	rows = rows[min(o.Offset, len(rows)):min(o.Offset+o.Limit, len(rows))]
	return jobsOf(rows), total, nil
}

func (o Order) where(account string, except []string) (string, []any) {
	args := []any{account, except}
	sql := ` where account = $1 and id <> all($2)`
	if len(o.States) > 0 {
		args = append(args, o.States)
		sql += fmt.Sprintf(` and state = any($%d)`, len(args))
	}
	if o.Media != "" {
		args = append(args, o.Media)
		sql += fmt.Sprintf(` and exists (select from json_array_elements(job->'outputs') o, json_array_elements(o->'files') f
			where starts_with(f->>'content_type', $%d))`, len(args))
	}
	return sql, args
}

func (o Order) order() string {
	direction := " desc"
	if o.Ascending {
		direction = " asc"
	}
	if !o.ByDuration {
		return ` order by submitted` + direction
	}
	return ` order by coalesce((job->>'ended_at')::timestamptz - (job->>'started_at')::timestamptz, interval '0')` + direction +
		`, submitted` + direction
}

func (o Order) matches(j job.Job) bool {
	if len(o.States) > 0 && !slices.Contains(o.States, j.State) {
		return false
	}
	return o.Media == "" || slices.ContainsFunc(j.Outputs, func(n job.NodeOutput) bool {
		return slices.ContainsFunc(n.Files, func(f job.OutputFile) bool { return strings.HasPrefix(f.ContentType, o.Media) })
	})
}

func (o Order) compare(a, b row) int {
	c := cmp.Compare(a.submitted, b.submitted)
	if o.ByDuration {
		c = cmp.Or(cmp.Compare(duration(a.job), duration(b.job)), c)
	}
	if o.Ascending {
		return c
	}
	return -c
}

func duration(j job.Job) time.Duration {
	if j.StartedAt == nil || j.EndedAt == nil {
		return 0
	}
	return j.EndedAt.Sub(*j.StartedAt)
}
