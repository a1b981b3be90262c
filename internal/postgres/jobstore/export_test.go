package jobstore

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/postgres/committer"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// NewBounded is New with batches of at most so many submissions and ends.
func NewBounded(pool *pgxpool.Pool, events *eventstore.Store, most int) *Store {
	s := New(pool, events)
	s.changes = eventstore.NewJoined(events, committer.Options{Count: most}, s.decide)
	return s
}

// Joining returns how many submissions and ends of an account wait to be committed together.
func (s *Store) Joining(account string) int { return s.changes.Waiting(account) }

// SubmitJointly submits jobs of one account in one transaction.
func (s *Store) SubmitJointly(ctx context.Context, account string, jobs ...job.NewJob) (made []job.Job, err error) {
	var changes []*change
	for _, n := range jobs {
		changes = append(changes, &change{submission: &submission{NewJob: n, first: uuid.New()}})
	}
	err = errors.Join(s.changes.DoAll(ctx, account, changes)...)
	for _, c := range changes {
		state, folded := s.fold(c.submission.append)
		made, err = append(made, state), errors.Join(err, folded)
	}
	return made, err
}
