package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

// mostWaiting bounds the calls that wait for an answer at once. A call beyond it is not sent.
const mostWaiting = 2000

// steady sends calls at a constant rate, however long the answers take. For each part of the time it prints the durations of the calls and
// the numbers of workflows of calls that had not begun, and that were open, at its end.
func steady(ctx context.Context, after backlog, r *router, rate int, span time.Duration) error {
	const parts = 10
	r.http = keepAlive(mostWaiting)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	slots := make(chan struct{}, mostWaiting)
	for part := range parts {
		var mu sync.Mutex
		var took []time.Duration
		var failed, later, unsent atomic.Int64
		var reason error // of the last failure
		began := time.Now()
		sent := 0
		for time.Since(began) < span/parts {
			for due := int(time.Since(began).Seconds() * float64(rate)); sent < due; sent++ {
				select {
				case slots <- struct{}{}:
				default:
					unsent.Add(1)
					continue
				}
				waiting.Go(func() {
					defer func() { <-slots }()
					start := time.Now()
					switch err := r.one(ctx); {
					case errors.Is(err, errLater):
						later.Add(1)
						return
					case err != nil:
						failed.Add(1)
						mu.Lock()
						defer mu.Unlock()
						reason = err
						return
					}
					mu.Lock()
					defer mu.Unlock()
					took = append(took, time.Since(start))
				})
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(2 * time.Millisecond):
			}
		}
		starts, open, err := after.count(ctx)
		if err != nil {
			return err
		}
		mu.Lock()
		fmt.Printf("%s: sent %.0f/s   answered %d, p50 %s, p99 %s   refused for now %d, failed %d, not sent %d   waiting %d, "+
			"workflows not begun %d, open %d\n",
			(time.Duration(part+1) * span / parts).Round(time.Second), float64(sent)/time.Since(began).Seconds(), len(took),
			round(harness.Quantile(took, 0.5)), round(harness.Quantile(took, 0.99)), later.Load(), failed.Load(), unsent.Load(), len(slots),
			starts, open)
		if reason != nil {
			fmt.Println("     the last that failed:", reason)
		}
		mu.Unlock()
	}
	return nil
}
