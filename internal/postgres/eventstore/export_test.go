package eventstore

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

// AppendIn appends inside a transaction that a test keeps open.
func (s *Store) AppendIn(ctx context.Context, tx pgx.Tx, a eventlog.Append) ([]eventlog.Recorded, error) {
	p, err := s.Prepare(a)
	if err != nil {
		return nil, err
	}
	return batch{p}.append(ctx, tx, true)
}

// Signal has the tailers read the log, as a commit does whose events are not known.
func (s *Store) Signal() { s.wake.Signal() }

// RepeatAmbiguous makes attempts until the outcome of one is known.
func (s *Store) RepeatAmbiguous(ctx context.Context, first uuid.UUID, attempt func(context.Context) ([]eventlog.Recorded, error),
) (Written, error) {
	return s.repeatAmbiguous(ctx, first, attempt)
}

// Announce hands events to the tailer of the process, as a commit does.
func (s *Store) Announce(recorded []eventlog.Recorded) { s.wake.Announce(recorded) }
