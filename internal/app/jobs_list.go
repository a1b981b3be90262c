package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	operatejobs "github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// maxListed bounds one listing.
const maxListed = 10_000

func (s *shell) listJobs() *cobra.Command {
	f := operatejobs.Filter{Limit: 20}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List jobs, newest first", Args: cobra.NoArgs,
		Example: "  millrace jobs list --status failed,canceled --since 24h --account acme",
		RunE: s.onDatabase(func(ctx context.Context, pool *pgxpool.Pool, _ []string) error {
			now, err := databaseTime(ctx, pool)
			if err != nil {
				return err
			}
			names, err := accountNames(ctx, pool)
			if err != nil {
				return err
			}
			found, err := searchJobs(ctx, pool, names, now, f)
			if err != nil {
				return err
			}
			if asJSON {
				return s.printJSON(found)
			}
			p := s.printer()
			p.Jobs(found, names, now)
			return p.Err()
		}),
	}
	cmd.Flags().StringSliceVar(&f.States, "status", nil, "queued, running, canceling, succeeded, failed, canceled, expired; any of several")
	cmd.Flags().StringVar(&f.Account, "account", "", "name or id of an account; default: all")
	cmd.Flags().StringVar(&f.Since, "since", "", "submitted in the last 24h, 30m, …, or after a time (2026-01-02T15:04:05Z)")
	cmd.Flags().IntVar(&f.Limit, "limit", f.Limit, "how many at most")
	cmd.Flags().StringVar(&f.Class, "class", "", "in which a node of this class ran or failed")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// accountNames maps ids of accounts to their names.
func accountNames(ctx context.Context, pool *pgxpool.Pool) (map[string]string, error) {
	all, err := postgres.NewAccounts(pool).Accounts(ctx)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(all))
	for _, a := range all {
		names[a.ID] = a.Name
	}
	return names, nil
}

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
func searchJobs(ctx context.Context, pool *pgxpool.Pool, names map[string]string, now time.Time, f operatejobs.Filter) ([]job.Job, error) {
	if f.Limit < 1 || f.Limit > maxListed {
		return nil, fmt.Errorf("--limit must be between 1 and %d, not %d", maxListed, f.Limit)
	}
	account, err := accountNamed(f.Account, names)
	if err != nil {
		return nil, err
	}
	since, err := parseSince(f.Since, now)
	if err != nil {
		return nil, err
	}
	if err := caughtUp(ctx, pool); err != nil {
		return nil, err
	}
	from, err := postgres.PositionAt(ctx, pool, since)
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
func searchSQL(f operatejobs.Filter, account string, from int64, since time.Time) (string, []any, error) {
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

// accountNamed returns the id of the account of that name or id; "" stays "".
func accountNamed(text string, names map[string]string) (string, error) {
	if text == "" {
		return "", nil
	}
	if _, ok := names[text]; ok {
		return text, nil
	}
	for id, name := range names {
		if name == text {
			return id, nil
		}
	}
	return "", fault.New(fault.Invalid, "invalid_request", "there is no account %q; see `millrace accounts list`", inspect.Clean(text))
}

// parseSince reads a duration before now or a time; "" is the beginning.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	return parseMoment("--since", text, now)
}

// parseMoment reads a duration before now or a time; what asks for it.
func parseMoment(what, text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	p, err := inspect.ParsePoint(text)
	if err != nil || p.Version > 0 {
		return time.Time{}, fault.New(fault.Invalid, "invalid_request", "%s takes a duration such as 24h or a time such as 2026-01-02T15:04:05Z, not %q", what, inspect.Clean(text))
	}
	return p.Time, nil
}
