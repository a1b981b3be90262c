package operatestore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// Intents describes the outbox by its oldest intent.
type Intents struct {
	Waiting  int64 // 0 = the outbox is empty, and the other fields have no meaning
	Workflow string
	Attempts int
	Error    string // of the last attempt
	Age      time.Duration
}

// Intents returns the number of waiting intents, and the oldest of them. Intents have no time of their own: one that
// starts a job is as old as its slot, any other one as old as it is overdue.
func (s *Store) Intents(ctx context.Context) (Intents, error) {
	var i Intents
	_, err := postgres.Find(ctx, s.pool, "read the outbox", []any{&i.Waiting, &i.Workflow, &i.Attempts, &i.Error, &i.Age},
		`select (select count(*) from outbox), o.workflow_id, o.attempts, coalesce(o.last_error, ''),
			greatest(now() - coalesce(s.admitted_at, o.due_at), interval '0')
		from outbox o left join job_slots s on o.workflow_id = 'job-' || s.job_id || '-' || s.run
		order by o.id limit 1`)
	return i, err
}

// JobsWithSlotFor returns the ids of jobs that have had a slot for at least age, oldest first.
func (s *Store) JobsWithSlotFor(ctx context.Context, age time.Duration) ([]string, error) {
	return postgres.Collect(ctx, s.pool, "read slots", pgx.RowTo[string],
		`select job_id::text from job_slots where admitted_at <= now() - $1::interval order by admitted_at`, age)
}

// SilentJob is a running job that has recorded no event for a while.
type SilentJob struct {
	Job  string
	Last string // type of its last event, or ""
	For  time.Duration
}

// silentSQL reads the slots and the last event of each: a range of an index per slot.
const silentSQL = `select s.job_id::text, coalesce(e.type, ''), extract(epoch from now() - greatest(s.admitted_at, e.recorded_at))::float8
	from job_slots s left join lateral (
		select recorded_at, type from events where stream = 'job-' || s.job_id order by version desc limit 1) e on true
	where greatest(s.admitted_at, e.recorded_at) <= now() - $1::interval
	order by greatest(s.admitted_at, e.recorded_at) limit $2`

// SilentJobs returns jobs with a slot that have recorded no event for at least age, the most silent first.
func (s *Store) SilentJobs(ctx context.Context, age time.Duration, limit int) ([]SilentJob, error) {
	return postgres.Collect(ctx, s.pool, "look for silent jobs", func(row pgx.CollectableRow) (SilentJob, error) {
		var j SilentJob
		var seconds float64
		err := row.Scan(&j.Job, &j.Last, &seconds)
		j.For = time.Duration(seconds * float64(time.Second))
		return j, err
	},
		silentSQL, age, limit)
}

// newestPages is how many of the last pages of the table of files are looked at.
const newestPages = 200

// newestSQL reads the last pages of the table alone. Their number is a subquery because PostgreSQL seeks a range of pages
// only where its bounds are known before the scan; a function that may change from row to row is asked for every row.
const newestSQL = `select distinct hash from (select hash from files
		where ctid >= (select format('(%s,0)', greatest(pg_relation_size('files') / current_setting('block_size')::bigint - $2, 0))::tid)
		order by created_at desc limit $1) f`

// NewestHashes returns the hashes of the newest files without duplicates, of at most limit files. Of a large table it
// reads only the last pages, which have the new rows unless earlier pages have free space: there is no index of files
// by time.
func (s *Store) NewestHashes(ctx context.Context, limit int) ([][]byte, error) {
	return postgres.Collect(ctx, s.pool, "read the newest files", pgx.RowTo[[]byte], newestSQL, limit, newestPages)
}
