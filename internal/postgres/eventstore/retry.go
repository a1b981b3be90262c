package eventstore

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// RetryAmbiguous makes an attempt at a transaction that records an event with the id first. While it is not
// known whether an attempt was committed, it makes another: a client that received a failure would repeat
// its request, and have it done twice or its idempotency key refused. recorded says that an earlier attempt was
// committed after all.
//
// The first statement of an attempt waits for the locks of the attempts before it. An attempt that follows a
// committed one is refused, and then the log is asked for the event.
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
