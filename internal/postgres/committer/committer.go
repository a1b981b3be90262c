// Package committer joins transactions that would wait for one another. While the transaction of a key runs, callers
// with the same key gather, and the next transaction does the work of all of them: one lock, one append, one commit. A
// caller that finds nothing under way is not delayed, and the end of a caller's context never ends the work of others.
// What a transaction does, and which outcome each caller has, is left to the stores.
package committer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Options bound the batches of a Committer. The zero value works.
type Options struct {
	Count   int           // default 64: the most callers of a batch
	Bytes   int           // default 1 MiB: the most that the work of a batch writes; a larger one is a batch of its own
	Timeout time.Duration // default 30 s: the longest that a batch may take, whatever its callers would wait
}

func (o Options) withDefaults() Options {
	if o.Count <= 0 {
		o.Count = 64
	}
	if o.Bytes <= 0 {
		o.Bytes = 1 << 20
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	return o
}

// Committer does work of type W in batches. One batch of a key is under way at a time; those of different keys do not
// wait for each other. It has no goroutines of its own: the caller that has waited longest does the next batch.
type Committer[W any] struct {
	opts Options
	do   func(ctx context.Context, key string, batch []W) []error

	mu      sync.Mutex // guards waiting and what it holds
	waiting map[string][]*caller[W]
}

// caller is a call of Do that waits.
type caller[W any] struct {
	work W
	size int
	lead chan struct{} // capacity 1: this caller does the next batch
	done chan error    // capacity 1: how its work went in the batch of another caller
}

// New returns a committer that does batches by do. do returns the outcome of each element of a batch, in order; its context ends
// with the time-out of the batch, not with a caller's.
func New[W any](opts Options, do func(ctx context.Context, key string, batch []W) []error) *Committer[W] {
	return &Committer[W]{opts: opts.withDefaults(), do: do, waiting: map[string][]*caller[W]{}}
}

// Do does work, which writes about size bytes, in a batch with others of the same key, and returns its own outcome. If ctx
// ends before the batch has begun, the work is not done and ctx's error is returned. From then on its outcome is waited for.
func (c *Committer[W]) Do(ctx context.Context, key string, size int, work W) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	own := &caller[W]{work: work, size: size, lead: make(chan struct{}, 1), done: make(chan error, 1)}
	c.mu.Lock()
	queue, busy := c.waiting[key]
	c.waiting[key] = append(queue, own)
	c.mu.Unlock()
	if !busy {
		return c.batch(ctx, key, own)
	}
	select {
	case err := <-own.done:
		return err
	case <-own.lead:
		return c.batch(ctx, key, own)
	case <-ctx.Done():
	}
	if c.leave(key, own) {
		return context.Cause(ctx)
	}
	select { // a batch has begun with it, or it is to begin the next one
	case err := <-own.done:
		return err
	case <-own.lead:
		return c.batch(ctx, key, own)
	}
}

// leave takes a caller out of the queue that is in no batch and does not lead one.
func (c *Committer[W]) leave(key string, own *caller[W]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.waiting[key], own)
	if i < 0 || len(own.lead) > 0 {
		return false
	}
	c.waiting[key] = slices.Delete(c.waiting[key], i, i+1)
	return true
}

// batch does the work of own, which is the first of the queue, and of those behind it. Then it has the next caller do the
// next batch.
func (c *Committer[W]) batch(ctx context.Context, key string, own *caller[W]) error {
	taken := c.take(key)
	errs := make([]error, len(taken))
	for i := range errs {
		errs[i] = errPanicked
	}
	defer func() { // also when do panics: nobody must wait for ever
		c.next(key)
		for i, other := range taken[1:] {
			other.done <- errs[i+1]
		}
	}()
	work := make([]W, len(taken))
	for i, t := range taken {
		work[i] = t.work
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), c.opts.Timeout, errTimeout)
	defer cancel()
	errs = c.do(ctx, key, work)
	return errs[0]
}

var (
	errPanicked = errors.New("the joint transaction of this work panicked")
	errTimeout  = fault.New(fault.Unavailable, "", "the database took too long")
)

// take takes the next batch from the queue.
func (c *Committer[W]) take(key string) []*caller[W] {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue := c.waiting[key]
	n, size := 1, queue[0].size
	for n < min(len(queue), c.opts.Count) && size+queue[n].size <= c.opts.Bytes {
		size += queue[n].size
		n++
	}
	taken := slices.Clone(queue[:n])
	c.waiting[key] = slices.Delete(queue, 0, n)
	return taken
}

// next has the caller that waits longest do a batch. A key that nobody waits for is forgotten.
func (c *Committer[W]) next(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if queue := c.waiting[key]; len(queue) > 0 {
		queue[0].lead <- struct{}{}
		return
	}
	delete(c.waiting, key)
}

// Waiting returns how many callers of a key wait for the batch after the one that is under way.
func (c *Committer[W]) Waiting(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting[key])
}
