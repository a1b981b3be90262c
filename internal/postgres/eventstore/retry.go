package eventstore

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// RetryAmbiguous makes an attempt at a transaction that records an event with the id first. While the outcome of an
// attempt is unknown, it makes another one: a client that received an error would repeat its request, which would
// then be carried out twice or refused for its idempotency key. recorded reports that an earlier attempt was
// committed.
//
// The first statement of an attempt waits for the locks of earlier attempts. An attempt after a committed one is
// refused, and RetryAmbiguous then looks for the event in the log.
func (s *Store) RetryAmbiguous(ctx context.Context, first uuid.UUID, attempt func(context.Context) error) (recorded bool, err error) {
	again := false
	err = postgres.RetryAmbiguous(ctx, func(ctx context.Context) error {
		err := attempt(ctx)
		if err == nil || !again {
			again = true
			return err
		}
		known, failed := s.has(ctx, first)
		if failed != nil {
			return postgres.Ambiguous(errors.Join(err, failed))
		}
		if recorded = known; recorded {
			return nil
		}
		return err
	})
	return recorded, err
}

// has reports whether an event is recorded.
func (s *Store) has(ctx context.Context, id uuid.UUID) (known bool, err error) {
	err = s.pool.QueryRow(ctx, `select exists (select from events where id = $1)`, id).Scan(&known)
	return known, postgres.Classify(err, "look for an event")
}
