package jobs

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/projections/folded"
)

// Reader reads jobs of one account at a time. A job, and which jobs are unfinished, include every event that was committed before
// the call. So do lists, unless the view is more than 5,000 positions behind (folded.maxBehind): they then show the view as it is.
type Reader struct {
	pool   *pgxpool.Pool
	view   *folded.View[job.Job]
	recent folded.Recent
	counts counts
}

// NewReader returns a reader of the view in pool's database. recent may be nil: every event that the view has not folded is
// then read from the database.
func NewReader(pool *pgxpool.Pool, registry *eventlog.Registry, recent folded.Recent) *Reader {
	return &Reader{pool: pool, view: newView(registry), recent: recent, counts: newCounts()}
}

// Job returns a job of the account. An unknown job and a job of another account are NotFound, job_not_found.
func (r *Reader) Job(ctx context.Context, account string, id job.ID) (job.Job, error) {
	found, ok, err := r.view.Read(ctx, r.pool, account, string(id))
	if err == nil && !ok {
		err = notFound()
	}
	return found.State, err
}

func notFound() error { return fault.New(fault.NotFound, fault.CodeJobNotFound, "no such job") }

// unfolded reads the account's events after the view's checkpoint.
func (r *Reader) unfolded(ctx context.Context, account string) (folded.Unfolded, error) {
	return r.view.Unfolded(ctx, r.pool, account, r.recent, nil)
}

// fresh folds the account's events that the view may not have folded on top of its rows.
func (r *Reader) fresh(ctx context.Context, account string) (folded.Fresh[job.Job], error) {
	u, err := r.unfolded(ctx, account)
	if err != nil {
		return folded.Fresh[job.Job]{}, err
	}
	return r.view.Fresh(ctx, r.pool, account, u, nil)
}

// Active returns the account's unfinished jobs in run order: by number, then age. Which jobs are unfinished comes from the rows
// of the admission, so that the answer is never behind the log, however far behind the view is.
func (r *Reader) Active(ctx context.Context, account string) ([]job.Job, error) {
	rows, behind := map[string]row{}, []string{}
	err := postgres.Each(ctx, r.pool, "read the unfinished jobs", func(found pgx.CollectableRow) (err error) {
		var id string
		var version, submitted int64
		var state []byte
		if err := found.Scan(&id, &version, &submitted, &state); err != nil {
			return err
		}
		if rows[id], err = r.view.Decode(submitted, state); rows[id].Version < version {
			behind = append(behind, id)
		}
		return err
	}, selectActive, account)
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(behind, maxRead) {
		if err := r.catchUpAll(ctx, rows, part); err != nil {
			return nil, err
		}
	}
	active := slices.DeleteFunc(slices.Collect(maps.Values(rows)), func(f row) bool { return f.Gone || f.State.State.Final() })
	slices.SortFunc(active, byRunOrder)
	return jobsOf(active), nil
}

// selectActive reads the jobs of account $1 that wait or have a slot: their ids, the versions of their streams, and their rows.
// The subqueries are lateral so that each job is looked up in the indexes, whatever the planner expects of the account.
const selectActive = `select a.id, s.version, coalesce(v.submitted, 0), v.job
	from (select job_id::text as id from job_queue where account = $1 union all
		select job_id::text from job_slots where account = $1) a
	cross join lateral (select version from streams where id = 'job-' || a.id offset 0) s
	left join lateral (select submitted, job from ` + Name + ` where id = a.id offset 0) v on true`

// catchUpAll folds the events that the rows of some jobs have not folded, one at a time: their bytes are not bounded.
func (r *Reader) catchUpAll(ctx context.Context, rows map[string]row, ids []string) error {
	versions := make([]int64, len(ids))
	for i, id := range ids {
		versions[i] = rows[id].Version
	}
	return postgres.Each(ctx, r.pool, "read what the view has not folded", func(at pgx.CollectableRow) error {
		rec, err := eventstore.ScanRecorded(at)
		if err != nil {
			return err
		}
		id, _ := job.IDOfStream(rec.Stream)
		rows[string(id)], err = r.view.Apply(rows[string(id)], rec)
		return err
	},
		`select e.* from unnest($1::text[], $2::bigint[]) as l (id, version) cross join lateral
			(`+eventstore.SelectEvents+` where stream = 'job-' || l.id and events.version > l.version offset 0) e order by position`, ids, versions)
}

// isActive is the condition of the partial index jobs_v1_active, word for word.
const isActive = `state in ('queued', 'running', 'canceling')`

// query reads rows of (submitted, job).
func (r *Reader) query(ctx context.Context, sql string, args ...any) ([]row, error) {
	return r.view.Rows(ctx, r.pool, sql, args...)
}

// byRunOrder compares by number, then age.
func byRunOrder(a, b row) int {
	return cmp.Or(cmp.Compare(a.State.Number, b.State.Number), cmp.Compare(a.First, b.First))
}

func jobsOf(rows []row) []job.Job {
	out := make([]job.Job, len(rows))
	for i, r := range rows {
		out[i] = r.State
	}
	return out
}
