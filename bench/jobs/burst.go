package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/bench/harness"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// burst submits many jobs at once, while others list jobs.
type burst struct {
	base  string
	http  *http.Client
	left  atomic.Int64
	lists int // clients that list, one request each 50 ms

	mu       sync.Mutex // guards all below
	accepted []time.Duration
	refused  []time.Duration
	listed   []time.Duration
	busy     int // lists that were refused
}

// runBurst prints how long submissions and lists take while jobs are submitted by clients as fast as they are accepted. A refused client
// tries again after the time in Retry-After.
func runBurst(ctx context.Context, base string, jobs, clients int) error {
	b := &burst{base: base, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * clients}}, lists: 4}
	b.left.Store(int64(jobs))
	began := time.Now()
	listing, stop := context.WithCancel(ctx)
	defer stop()
	listers, listing := errgroup.WithContext(listing)
	for i := range b.lists {
		listers.Go(func() error { return b.list(listing, i) })
	}
	submitters, submitting := errgroup.WithContext(ctx)
	for range clients {
		submitters.Go(func() error { return b.submit(submitting) })
	}
	if err := submitters.Wait(); err != nil {
		return err
	}
	took := time.Since(began)
	stop()
	if err := listers.Wait(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Printf("burst:   %d jobs by %d clients in %s, %.0f/s; POST accepted p50 %s, p99 %s; refused with Retry-After %d times, p99 %s\n", jobs,
		clients, round(took),
		float64(jobs)/took.Seconds(), quantile(b.accepted, 0.5), quantile(b.accepted, 0.99), len(b.refused), quantile(b.refused, 0.99))
	fmt.Printf("         meanwhile %d lists of jobs: p50 %s, p95 %s; refused %d (targets: POST p99 150ms, lists p95 60ms)\n",
		len(b.listed), quantile(b.listed, 0.5), quantile(b.listed, 0.95), b.busy)
	return nil
}

func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return round(harness.Quantile(all, q))
}

func (b *burst) submit(ctx context.Context) error {
	for b.left.Add(-1) >= 0 {
		for body := []byte(graph()); ; {
			took, wait, err := b.call(ctx, http.MethodPost, "/api/prompt", body)
			if err != nil {
				return err
			}
			b.note(took, wait, &b.accepted, &b.refused)
			if wait == 0 {
				break
			}
			if err := pause.For(ctx, wait); err != nil {
				return err
			}
		}
	}
	return nil
}

// list lists jobs in the ways of both surfaces until ctx ends.
func (b *burst) list(ctx context.Context, i int) error {
	path := []string{"/api/v2/jobs?limit=20", "/api/jobs?limit=20"}[i%2]
	for ctx.Err() == nil {
		took, wait, err := b.call(ctx, http.MethodGet, path, nil)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil {
			var refused []time.Duration
			b.note(took, wait, &b.listed, &refused)
			b.mu.Lock()
			b.busy += len(refused)
			b.mu.Unlock()
		}
		if pause.For(ctx, max(wait, 50*time.Millisecond)) != nil {
			return nil //nolint:nilerr // the burst is over
		}
	}
	return nil
}

func (b *burst) note(took, wait time.Duration, done, refused *[]time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if wait > 0 {
		*refused = append(*refused, took)
	} else {
		*done = append(*done, took)
	}
}

// call sends a request. wait is the Retry-After of a refusal; 0 = the request was answered.
func (b *burst) call(ctx context.Context, method, path string, body []byte) (took, wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, method, b.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	began := time.Now()
	resp, err := b.http.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	took = time.Since(began)
	if err != nil || resp.StatusCode/100 == 2 {
		return took, 0, err
	}
	seconds, failed := strconv.Atoi(resp.Header.Get("Retry-After"))
	if failed != nil || seconds <= 0 || resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return took, 0, errors.Join(fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, said), failed)
	}
	return took, time.Duration(seconds) * time.Second, nil
}
