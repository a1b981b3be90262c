package jobstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Queued returns accounts whose jobs wait for a slot and not for an operator, at most limit, in order from
// the one behind after.
func (s *Store) Queued(ctx context.Context, after string, limit int) ([]string, error) {
	rows, err := s.pool.Query(ctx, `select account from job_lanes
		where queued > 0 and mode in ('open', 'draining') and account > $1
		  and not exists (select from job_lanes where account = '*' and mode in ('paused', 'stopped'))
		order by account limit $2`, after, limit)
	if err != nil {
		return nil, postgres.Classify(err, "list accounts whose jobs wait")
	}
	accounts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return accounts, postgres.Classify(err, "list accounts whose jobs wait")
}

// Admit gives the slots that an account has free to jobs that wait. Endings do so by themselves; this is
// for slots that came from elsewhere, as by a change of tier or the opening of a queue.
func (s *Store) Admit(ctx context.Context, account string, bounds job.Bounds) ([]outbox.Intent, error) {
	var intents []outbox.Intent
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		l, err := lockAdmission(ctx, tx, account)
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
		return nil, postgres.Classify(err, "admit jobs of account "+account)
	}
	s.events.Wake()
	return intents, nil
}
