package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Reader reads jobs of one account at a time. Its answers include every event that was committed before the call.
type Reader struct {
	pool     *pgxpool.Pool
	registry *eventlog.Registry
	recent   Recent
	counts   counts
}

// NewReader returns a reader of the view in pool's database. recent may be nil: every event that the view has not folded is
// then read from the database.
func NewReader(pool *pgxpool.Pool, registry *eventlog.Registry, recent Recent) *Reader {
	return &Reader{pool: pool, registry: registry, recent: recent, counts: newCounts()}
}

// Job returns a job of the account. An unknown job and a job of another account are NotFound, job_not_found. One
// query reads the row and the stream's version; only a row that lags behind needs a second query.
func (r *Reader) Job(ctx context.Context, account string, id job.ID) (job.Job, error) {
	return r.read(ctx, selectJob+`$2::text`, account, string(id))
}

// selectJob reads the row of a job of account $1, and the version of its stream. The condition on the id follows.
const selectJob = `select i.id, s.version, coalesce(v.submitted, 0), v.job
	from streams s join lateral (select substr(s.id, 5) as id) i on true left join ` + Name + ` v on v.id = i.id
	where s.account = $1 and s.id = 'job-' || `

// read returns the job of a query that begins with selectJob.
func (r *Reader) read(ctx context.Context, query string, args ...any) (job.Job, error) {
	var id job.ID
	var version, submitted int64
	var state []byte
	err := r.pool.QueryRow(ctx, query, args...).Scan(&id, &version, &submitted, &state)
	if err == pgx.ErrNoRows { //nolint:errorlint // Scan returns it unwrapped
		return job.Job{}, notFound()
	}
	if err != nil {
		return job.Job{}, postgres.Classify(err, "read a job")
	}
	current := row{submitted: submitted}
	if state != nil {
		if err := json.Unmarshal(state, &current.job); err != nil {
			return job.Job{}, fmt.Errorf("decode the row of job %s: %w", id, err)
		}
	}
	current, err = r.catchUp(ctx, id, current, version)
	if err == nil && current.retired {
		return job.Job{}, notFound()
	}
	return current.job, err
}

func notFound() error { return fault.New(fault.NotFound, fault.CodeJobNotFound, "no such job") }

// catchUp folds the events of a stream that a row has not folded, at least up to version.
func (r *Reader) catchUp(ctx context.Context, id job.ID, current row, version int64) (row, error) {
	for rec, err := range eventlog.ReadThrough(ctx, eventstore.StreamsOf(r.pool), id.Stream(), current.job.Version, version) {
		if err != nil {
			return row{}, err
		}
		if current, _, err = fold(r.registry, current, rec); err != nil {
			return row{}, err
		}
	}
	return current, nil
}

// Active returns the account's unfinished jobs in run order: by number, then age.
func (r *Reader) Active(ctx context.Context, account string) ([]job.Job, error) {
	u, err := r.unfolded(ctx, account)
	if err != nil {
		return nil, err
	}
	var rows []row
	fresh, err := r.freshAnd(ctx, account, u, func(q *pgx.Batch) {
		q.Queue(`select submitted, job from `+Name+`
			where account = $1 and `+isActive+` and id not in (select unnest($2::text[]))`, account, u.ids).Query(func(found pgx.Rows) (err error) {
			rows, err = pgx.CollectRows(found, scanRow)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	for _, f := range fresh.rows {
		if !f.job.State.Final() {
			rows = append(rows, f)
		}
	}
	slices.SortFunc(rows, byRunOrder)
	return jobsOf(rows), nil
}

// isActive is the condition of the partial index jobs_v1_active, word for word.
const isActive = `state in ('queued', 'running', 'canceling')`

// query reads rows of (submitted, job).
func (r *Reader) query(ctx context.Context, sql string, args ...any) ([]row, error) {
	found, err := r.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, postgres.Classify(err, "read jobs")
	}
	rows, err := pgx.CollectRows(found, scanRow)
	return rows, postgres.Classify(err, "read jobs")
}

func scanRow(found pgx.CollectableRow) (row, error) {
	var r row
	var state []byte
	if err := found.Scan(&r.submitted, &state); err != nil {
		return r, err
	}
	return r, json.Unmarshal(state, &r.job)
}

func jobsOf(rows []row) []job.Job {
	out := make([]job.Job, len(rows))
	for i, r := range rows {
		out[i] = r.job
	}
	return out
}
