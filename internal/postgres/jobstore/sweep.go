package jobstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

// Queued returns accounts whose jobs wait for a slot and not for an operator, at most limit, in order from
// the one behind after.
func (s *Store) Queued(ctx context.Context, after string, limit int) ([]string, error) {
	return s.slots.Accounts(ctx, s.pool, after, limit)
}

// Admit gives the slots that an account has free to jobs that wait. Endings do so by themselves; this is
// for slots that came from elsewhere, as by a change of tier or the opening of a queue.
func (s *Store) Admit(ctx context.Context, account string, bounds job.Bounds) ([]outbox.Intent, error) {
	var l admissionState
	look := func(q *pgx.Batch) { queueLockAdmission(q, account, 0, &l) }
	return s.slots.Fill(ctx, s.pool, s.events, account, look, func() (int64, func(job.RunRef) bool) { return l.free(bounds.Slots), fits })
}
