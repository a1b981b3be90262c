package postgres

import (
	"context"
	"errors"

	"github.com/google/uuid"
)

// untilKnown makes an attempt at a transaction that records a fact under the id first. When it is not known
// whether that was committed, it attempts it again, until it is: the client would be told of a failure, do it
// again itself, and have it done twice, or be told that its key was used. recorded says that an earlier attempt
// was committed after all.
//
// The first statement of an attempt waits for the locks of those before it, and an attempt behind one that
// was committed is refused: then the log says by which.
func (s *EventStore) untilKnown(ctx context.Context, first uuid.UUID, attempt func(context.Context) error) (recorded bool, err error) {
	again := false
	err = untilAnswered(ctx, func(ctx context.Context) error {
		err := attempt(ctx)
		if err == nil || !again {
			again = true
			return err
		}
		known, failed := s.has(ctx, first)
		if failed != nil {
			return &uncertainError{errors.Join(err, failed)}
		}
		if recorded = known; recorded {
			return nil
		}
		return err
	})
	return recorded, err
}

// has reports whether a fact is recorded.
func (s *EventStore) has(ctx context.Context, id uuid.UUID) (known bool, err error) {
	err = s.pool.QueryRow(ctx, `select exists (select from events where id = $1)`, id).Scan(&known)
	return known, classify(err, "look for a fact")
}
