package operatestore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Totals are sums over the whole deployment.
type Totals struct {
	Head    int64 // position of the log's last event
	Intents int64 // intents that wait in the outbox
	Bytes   int64 // size of the files of all accounts
	Blobs   int64 // size of the stored blobs of these files; equal bytes count once
}

// Totals returns the current sums.
func (s *Store) Totals(ctx context.Context) (Totals, error) {
	var t Totals
	err := s.pool.QueryRow(ctx, `select (select coalesce(max(position), 0) from events), (select count(*) from outbox),
		(select coalesce(sum(size), 0)::bigint from files),
		(select coalesce(sum(size), 0)::bigint from (select max(size) as size from files group by hash) b)`).Scan(&t.Head, &t.Intents, &t.Bytes,
		&t.Blobs)
	return t, postgres.Classify(err, "read totals")
}

// Queue contains the numbers of waiting and running jobs of an account.
type Queue struct {
	Account, Tier   string
	Queued, Running int64
	Oldest          time.Duration // age of the job that has waited longest; 0 if none waits
}

// Queues lists accounts with jobs, the deepest queues first. The age is that of the first event of the first job in
// the queue.
func (s *Store) Queues(ctx context.Context, limit int) ([]Queue, error) {
	return postgres.Collect(ctx, s.pool, "read queues", func(row pgx.CollectableRow) (Queue, error) {
		var q Queue
		var age float64
		err := row.Scan(&q.Account, &q.Tier, &q.Queued, &q.Running, &age)
		q.Oldest = time.Duration(max(0, age) * float64(time.Second))
		return q, err
	},
		`select l.account, coalesce(a.tier, $2), l.queued, l.running,
			coalesce(extract(epoch from clock_timestamp() - (select e.recorded_at from events e where e.version = 1 and e.stream = 'job-' ||
				(select q.job_id from job_queue q where q.account = l.account order by q.seq limit 1))), 0)::float8
		from job_admissions l left join accounts a on a.id = l.account where l.account <> '*' and (l.queued > 0 or l.running > 0)
		order by l.queued desc, l.running desc, l.account limit $1`, limit, string(account.TierLocal))
}
