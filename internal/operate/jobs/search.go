package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// maxListed bounds one listing.
const MaxListed = 10_000

// listSQL reads the newest jobs of each account through the indexes (account, submitted) or (account,
// state, submitted), and merges them. Accounts are found by skipping from one to the next in the same index.
const listSQL = `with recursive a (id) as (
		(select account from ` + jobs.Name + ` where $1 = '' order by account limit 1)
		union all
		select (select account from ` + jobs.Name + ` where account > a.id order by account limit 1) from a where a.id is not null
	), chosen as (select id from a where id is not null union all select $1 where $1 <> '')
	select j.job from chosen cross join lateral (%s) j order by j.submitted desc limit $3`

// viewPatience bounds the wait for the view of jobs to come to what the log holds.
const viewPatience = 3 * time.Second

// caughtUp waits until the view of jobs has what the log holds of jobs now, so that who lists finds what
// was done a moment ago. A view that is halted, or far behind, is read as it is.
func caughtUp(ctx context.Context, pool *pgxpool.Pool) error {
	var head int64
	if err := pool.QueryRow(ctx, `select coalesce(max(position), 0) from events`).Scan(&head); err != nil {
		return postgres.Classify(err, "read the head of the log")
	}
	patience := time.NewTimer(viewPatience)
	defer patience.Stop()
	for tick := time.Tick(10 * time.Millisecond); ; {
		var behind bool
		err := pool.QueryRow(ctx, `select exists (select from events where stream like 'job-%' and position <= $2
			and position > (select coalesce(max(position), 0) from checkpoints where name = $1))`, jobs.Name, head).Scan(&behind)
		if err != nil || !behind {
			return postgres.Classify(err, "look how far the view of jobs is")
		}
		select {
		case <-tick:
		case <-patience.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// searchJobs returns the jobs that f selects as the view has them, newest first.
func Search(ctx context.Context, pool *pgxpool.Pool, names map[string]string, now time.Time, f Filter) ([]job.Job, error) {
	if f.Limit < 1 || f.Limit > MaxListed {
		return nil, fmt.Errorf("--limit must be between 1 and %d, not %d", MaxListed, f.Limit)
	}
	account, err := operate.AccountNamed(f.Account, names)
	if err != nil {
		return nil, err
	}
	since, err := operate.ParseSince(f.Since, now)
	if err != nil {
		return nil, err
	}
	if err := caughtUp(ctx, pool); err != nil {
		return nil, err
	}
	from, err := eventstore.PositionAt(ctx, pool, since)
	if err != nil {
		return nil, err
	}
	sql, args, err := searchSQL(f, account, from, since)
	if err != nil {
		return nil, err
	}
	rows, err := pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, postgres.Classify(err, "list jobs")
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (j job.Job, err error) {
		var raw []byte
		if err := row.Scan(&raw); err != nil {
			return j, err
		}
		return j, json.Unmarshal(raw, &j)
	})
	return found, postgres.Classify(err, "list jobs")
}

// searchSQL reads, for each state that is asked for, the newest of each account.
func searchSQL(f Filter, account string, from int64, since time.Time) (string, []any, error) {
	const newest = `(select submitted, job from ` + jobs.Name + ` j where account = chosen.id%s and submitted >= $2 and created_at >= $4
		and ($5 = '' or exists (select from events e where e.stream = 'job-' || j.id and (e.data ->> 'class' = $5 or e.data -> 'failure' ->> 'class' = $5)))
		order by submitted desc limit $3)`
	args := []any{account, from, f.Limit, since, f.Class}
	if len(f.States) == 0 {
		return fmt.Sprintf(listSQL, fmt.Sprintf(newest, "")), args, nil
	}
	var parts []string
	for _, name := range f.States {
		if !slices.Contains(allStates, job.State(name)) {
			return "", nil, fmt.Errorf("there is no state %q; there are: %s", name, stateNames())
		}
		args = append(args, name)
		parts = append(parts, fmt.Sprintf(newest, fmt.Sprintf(" and state = $%d", len(args))))
	}
	return fmt.Sprintf(listSQL, strings.Join(parts, " union all ")), args, nil
}

var allStates = []job.State{job.Queued, job.Running, job.Canceling, job.Succeeded, job.Failed, job.Canceled, job.Expired}

func stateNames() string {
	names := make([]string, len(allStates))
	for i, state := range allStates {
		names[i] = string(state)
	}
	return strings.Join(names, ", ")
}
