package jobstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Queued returns at most limit accounts, in order from the first one after the given account, whose jobs wait for a
// slot and not for an operator.
func (s *Store) Queued(ctx context.Context, after string, limit int) ([]string, error) {
	return s.slots.Accounts(ctx, s.pool, after, limit)
}

// Admit gives the free slots of an account to waiting jobs. The end of a job does that by itself; Admit is for slots
// that became free otherwise, by a change of tier or the opening of a queue.
func (s *Store) Admit(ctx context.Context, account string, bounds job.Bounds) error {
	var l admissionState
	read := func(q *pgx.Batch) { queueLockAdmission(q, account, 0, &l) }
	return s.slots.Fill(ctx, s.events, account, read, func() (int64, func(job.RunRef) bool) { return l.free(bounds.Slots), fits })
}

// positionsSQL counts the waiting jobs before the first of the jobs $2, and those between each of them and the one before it.
// Those before the first are counted from the nearer end of the queue, whose length is known, if it is at most $3 jobs away.
const positionsSQL = `with asked as (
		select q.job_id, q.number, q.seq, lag(q.number) over w as after_number, lag(q.seq) over w as after_seq
		from unnest($2::uuid[]) a (id) cross join lateral (select * from job_queue where job_id = a.id offset 0) q
		where q.account = $1 window w as (order by q.number, q.seq)),
	head as (select number, seq from asked order by number, seq limit 1),
	near as (select
		(select count(*) from (select from job_queue where account = $1
			and (number, seq) < ((select number from head), (select seq from head)) limit $3 + 1) b) as before,
		(select count(*) from (select from job_queue where account = $1
			and (number, seq) >= ((select number from head), (select seq from head)) limit $3 + 1) b) as behind),
	head_ahead as (select case
		when before <= $3 then before
		when behind <= $3 then (select queued from job_admissions where account = $1) - behind
		else (select count(*) from job_queue where account = $1 and (number, seq) < ((select number from head), (select seq from head)))
		end as n from near)
	select a.job_id::text, (h.n + sum((select count(*) from job_queue where account = $1
		and (number, seq) >= (a.after_number, a.after_seq) and (number, seq) < (a.number, a.seq))) over (order by a.number, a.seq))::bigint
	from asked a cross join head_ahead h`

// nearEnd is how many jobs are counted at most to find out that the end of the queue is near.
const nearEnd = 256

// QueuePositions returns how many waiting jobs of the account run before each of some jobs: 0 = it is next. Jobs that do not
// wait are absent.
func (s *Store) QueuePositions(ctx context.Context, account string, ids []job.ID) (map[job.ID]int64, error) {
	if len(ids) == 0 {
		return map[job.ID]int64{}, nil
	}
	return postgres.Map[job.ID, int64](ctx, s.pool, "number the queue", positionsSQL, account, ids, nearEnd)
}

// Remaining returns the number of the account's unfinished jobs.
func (s *Store) Remaining(ctx context.Context, account string) (n int64, err error) {
	err = s.pool.QueryRow(ctx, `select coalesce(sum(queued + running), 0) from job_admissions where account = $1`, account).Scan(&n)
	return n, postgres.Classify(err, "count the unfinished jobs")
}
