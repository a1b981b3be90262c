package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// sweepLimit is how many rows one query reads.
const sweepLimit = 200

// sweepFailures ends a round: so many mean that the engine or the database is away.
const sweepFailures = 10

// everySo does rounds until ctx ends, the first one after an interval. What fails is done in the next one.
func everySo(ctx context.Context, interval time.Duration, log *slog.Logger, of string, round func(context.Context) error) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := round(ctx); err != nil && ctx.Err() == nil {
				log.Warn("sweep not finished", "of", of, "error", err)
			}
		}
	}
}

// walk looks at everything, page by page in the order of keys: what is looked at first, takes its time or
// fails keeps nothing behind it from ever being looked at, however much there is.
func walk[T any, K ~string](ctx context.Context, page func(after K) ([]T, error), key func(T) K, check func(T) error) error {
	var failed []error
	for after := K(""); ; {
		found, err := page(after)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, t := range found {
			after = key(t)
			if err := check(t); err != nil {
				failed = append(failed, fmt.Errorf("look after %s: %w", after, err))
			}
			if ctx.Err() != nil || len(failed) == sweepFailures {
				return errors.Join(failed...)
			}
		}
		if len(found) < sweepLimit {
			return errors.Join(failed...)
		}
	}
}

// orElse is a setting or its default.
func orElse(set, or time.Duration) time.Duration {
	if set == 0 {
		return or
	}
	return set
}
