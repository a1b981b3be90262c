package jobs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Search selects jobs of any account, for operators. Empty fields select all jobs.
type Search struct {
	Account string
	States  []job.State
	Class   string    // of a node that ran or failed
	From    int64     // the lowest position of a submission
	Since   time.Time // the earliest time of a submission
	Limit   int
}

// searchSQL reads the newest jobs of each account through the indexes (account, submitted) or (account, state,
// submitted), and merges them. It finds the accounts by skipping from one to the next in the same index.
const searchSQL = `with recursive a (id) as (
		(select account from ` + Name + ` where $1 = '' order by account limit 1)
		union all
		select (select account from ` + Name + ` where account > a.id order by account limit 1) from a where a.id is not null
	), chosen as (select id from a where id is not null union all select $1 where $1 <> '')
	select j.job from chosen cross join lateral (%s) j order by j.submitted desc limit $3`

// readable is the data of an event with every NUL character replaced, because PostgreSQL cannot query any member of a
// JSON that contains one.
const readable = `replace(e.data::text, '\u0000', '\ufffd')::json`

// newestSQL reads the newest jobs of one account.
const newestSQL = `(select submitted, job from ` + Name + ` j where account = chosen.id%s and submitted >= $2 and created_at >= $4
	and ($5 = '' or exists (select from events e where e.stream = 'job-' || j.id and (` + readable + ` ->> 'class' = $5 or ` + readable +
	` -> 'failure' ->> 'class' = $5)))
	order by submitted desc limit $3)`

// Find returns the jobs that q selects, newest first, from the view.
func Find(ctx context.Context, pool *pgxpool.Pool, q Search) ([]job.Job, error) {
	args := []any{q.Account, q.From, q.Limit, q.Since, q.Class}
	parts := []string{fmt.Sprintf(newestSQL, "")}
	if len(q.States) > 0 {
		parts = nil
	}
	for _, state := range q.States {
		args = append(args, string(state))
		parts = append(parts, fmt.Sprintf(newestSQL, fmt.Sprintf(" and state = $%d", len(args))))
	}
	return postgres.Collect(ctx, pool, "list jobs", pgx.RowTo[job.Job], fmt.Sprintf(searchSQL, strings.Join(parts, " union all ")), args...)
}
