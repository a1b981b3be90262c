package harness

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Measure runs one on several clients until span has passed, and returns the rate per second.
func Measure(ctx context.Context, span time.Duration, clients int, one func(context.Context) error) (float64, error) {
	var done atomic.Int64
	var failure atomic.Pointer[error]
	var group sync.WaitGroup
	began := time.Now()
	for range clients {
		group.Go(func() {
			for time.Since(began) < span && failure.Load() == nil && ctx.Err() == nil {
				if err := one(ctx); err != nil {
					failure.CompareAndSwap(nil, &err)
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	if err := failure.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(began).Seconds(), ctx.Err()
}

// Times runs one on several clients, the given number of times in all.
func Times(ctx context.Context, times, clients int, one func(context.Context) error) error {
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range clients {
		group.Go(func() error {
			for next.Add(1) <= int64(times) {
				if err := one(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
