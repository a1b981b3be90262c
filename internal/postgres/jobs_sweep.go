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

// Queued returns accounts whose jobs wait for a slot and not for an operator, at most limit, in order from
// the one behind after.
func (s *Jobs) Queued(ctx context.Context, after string, limit int) ([]string, error) {
	rows, err := s.pool.Query(ctx, `select account from job_lanes
		where queued > 0 and mode in ('open', 'draining') and account > $1
		  and not exists (select from job_lanes where account = '*' and mode in ('paused', 'stopped'))
		order by account limit $2`, after, limit)
	if err != nil {
		return nil, classify(err, "list accounts whose jobs wait")
	}
	accounts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return accounts, classify(err, "list accounts whose jobs wait")
}

// Admit gives the slots that an account has free to jobs that wait. Endings do so by themselves; this is
// for slots that came from elsewhere, as by a change of tier or the opening of a queue.
func (s *Jobs) Admit(ctx context.Context, account string, bounds job.Bounds) ([]outbox.Intent, error) {
	var intents []outbox.Intent
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		l, err := enter(ctx, tx, account)
		if err != nil {
			return err
		}
		q := &pgx.Batch{}
		admitted, started, err := s.admit(ctx, tx, q, account, l.free(bounds.Slots, 0))
		if err != nil {
			return err
		}
		if err := run(ctx, tx, q); err != nil {
			return err
		}
		intents = started
		_, err = s.events.AppendAll(ctx, tx, admitted)
		return err
	})
	if err != nil {
		return nil, classify(err, "admit jobs of account "+account)
	}
	s.events.Wake()
	return intents, nil
}
