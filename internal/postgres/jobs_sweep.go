package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/job"
	"github.com/millrace-dev/millrace/internal/outbox"
)

// Held returns the runs that have held a slot for at least age and wait for no intent, oldest first.
func (s *Jobs) Held(ctx context.Context, age time.Duration, limit int) ([]job.RunRef, error) {
	rows, err := s.pool.Query(ctx, `select job_id::text, account, run from job_slots s
		where admitted_at <= now() - $1::interval
		  and not exists (select 1 from outbox o where o.workflow_id = 'job-' || s.job_id || '-' || s.run)
		order by admitted_at limit $2`, age, limit)
	if err != nil {
		return nil, classify(err, "read old slots")
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (job.RunRef, error) {
		var ref job.RunRef
		err := row.Scan(&ref.Job, &ref.Account, &ref.Run)
		return ref, err
	})
}

// Started reports whether a worker has begun the run.
func (s *Jobs) Started(ctx context.Context, ref job.RunRef) (bool, error) {
	var started bool
	err := s.pool.QueryRow(ctx, `select exists (select from events where id = $1)`,
		job.FactID(ref.Job, ref.Run, "", 0, job.TypeStarted)).Scan(&started)
	return started, classify(err, "look whether a run began")
}

// Restart records a new intent to start the run.
func (s *Jobs) Restart(ctx context.Context, ref job.RunRef) ([]outbox.Intent, error) {
	var intents []outbox.Intent
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		intents, err = putIntents(ctx, tx, []outbox.Intent{startIntent(ref.Job, ref.Account, ref.Run)})
		return err
	})
	return intents, classify(err, "record an intent to start a run again")
}
