package jobstore

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Joining returns how many submissions and ends of an account wait to be committed together.
func (s *Store) Joining(account string) int { return s.changes.Waiting(account) }

// SubmitJointly submits jobs of one account in one transaction.
func (s *Store) SubmitJointly(ctx context.Context, account string, jobs ...job.NewJob) (made []job.Job, err error) {
	var changes []*change
	for _, n := range jobs {
		changes = append(changes, &change{submission: &submission{NewJob: n, first: uuid.New()}})
	}
	err = errors.Join(s.commit(ctx, account, changes)...)
	for _, c := range changes {
		made = append(made, c.submission.out.Job)
	}
	return made, err
}
