package jobstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

// Queued returns at most limit accounts, in order from the first one after the given account, whose jobs wait for a
// slot and not for an operator.
func (s *Store) Queued(ctx context.Context, after string, limit int) ([]string, error) {
	return s.slots.Accounts(ctx, s.pool, after, limit)
}

// Admit gives the free slots of an account to waiting jobs. The end of a job does that by itself; Admit is for slots
// that became free otherwise, by a change of tier or the opening of a queue.
func (s *Store) Admit(ctx context.Context, account string, bounds job.Bounds) ([]outbox.Intent, error) {
	var l admissionState
	look := func(q *pgx.Batch) { queueLockAdmission(q, account, 0, &l) }
	return s.slots.Fill(ctx, s.pool, s.events, account, look, func() (int64, func(job.RunRef) bool) { return l.free(bounds.Slots), fits })
}
