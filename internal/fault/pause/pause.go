// Package pause waits for times that the end of a context cuts short, and says how long to wait between attempts.
package pause

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// For waits for d or the end of ctx, whose error it returns.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Every is a sequence with an element after each interval, until ctx ends. Intervals that pass while an element is used are left out.
func Every(ctx context.Context, interval time.Duration) func(yield func() bool) {
	return func(yield func() bool) {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if !yield() {
					return
				}
			}
		}
	}
}

// Delays returns the pauses between attempts: about first, then each longer by half, up to about last, with jitter,
// so that processes which failed together do not retry together.
func Delays(first, last time.Duration) *backoff.ExponentialBackOff {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = first, last
	return delays
}

// Doubling is Delays of which each is twice as long as the one before.
func Doubling(first, last time.Duration) *backoff.ExponentialBackOff {
	delays := Delays(first, last)
	delays.Multiplier = 2
	return delays
}
