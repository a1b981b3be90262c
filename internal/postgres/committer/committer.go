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

// Committer does work of type W in batches. One batch of a key is under way at a time; those of different keys do not wait for
// each other. It has no goroutines of its own: the caller that has waited longest does the next batch.
type Committer[W any] struct {
	opts Options
	do   func(ctx context.Context, key string, batch []W) []error

	mu   sync.Mutex // guards keys and what it holds
	keys map[string]*callers[W]
}

// callers are the calls of Do with one key.
type callers[W any] struct {
	waiting []*caller[W]
}

// caller is a call of Do that waits.
type caller[W any] struct {
	work W
	size int
	lead chan []*caller[W] // capacity 1: the batch that this caller does, in which it is the first
	done chan error        // capacity 1: how its work went in the batch of another caller
}

// New returns a committer that does batches by do. do returns the outcome of each element of a batch, in order; its context ends
// with the time-out of the batch, not with a caller's.
func New[W any](opts Options, do func(ctx context.Context, key string, batch []W) []error) *Committer[W] {
	return &Committer[W]{opts: opts.withDefaults(), do: do, keys: map[string]*callers[W]{}}
}

// Do does work, which writes about size bytes, in a batch with others of the same key, and returns its own outcome. If ctx
// ends before the batch has begun, the work is not done and ctx's error is returned. From then on its outcome is waited for.
func (c *Committer[W]) Do(ctx context.Context, key string, size int, work W) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	own := &caller[W]{work: work, size: size, lead: make(chan []*caller[W], 1), done: make(chan error, 1)}
	if c.enter(key, own) {
		return c.batch(ctx, key, []*caller[W]{own})
	}
	select {
	case err := <-own.done:
		return err
	case taken := <-own.lead:
		return c.batch(ctx, key, taken)
	case <-ctx.Done():
	}
	if c.abandon(key, own) {
		return context.Cause(ctx)
	}
	select { // a batch has begun with it, or it is to do the next one
	case err := <-own.done:
		return err
	case taken := <-own.lead:
		return c.batch(ctx, key, taken)
	}
}

// enter reports whether a caller does a batch of its own at once. Otherwise it waits.
func (c *Committer[W]) enter(key string, own *caller[W]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.keys[key]
	if of == nil {
		c.keys[key] = &callers[W]{}
		return true
	}
	of.waiting = append(of.waiting, own)
	return false
}

// abandon takes a caller out of the queue that is in no batch.
func (c *Committer[W]) abandon(key string, own *caller[W]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.keys[key]
	if of == nil {
		return false
	}
	i := slices.Index(of.waiting, own)
	if i < 0 {
		return false
	}
	of.waiting = slices.Delete(of.waiting, i, i+1)
	return true
}

// batch does the work of taken. Then it has the next caller do the next batch.
func (c *Committer[W]) batch(ctx context.Context, key string, taken []*caller[W]) error {
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

// next has the caller that waits longest do a batch of those who wait. A key that nobody waits for is forgotten with its last
// batch.
func (c *Committer[W]) next(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.keys[key]
	if len(of.waiting) > 0 {
		taken := of.take(c.opts)
		taken[0].lead <- taken
		return
	}
	delete(c.keys, key)
}

// take takes the next batch from the queue.
func (of *callers[W]) take(opts Options) []*caller[W] {
	n, size := 1, of.waiting[0].size
	for n < min(len(of.waiting), opts.Count) && size+of.waiting[n].size <= opts.Bytes {
		size += of.waiting[n].size
		n++
	}
	taken := slices.Clone(of.waiting[:n])
	of.waiting = slices.Delete(of.waiting, 0, n)
	return taken
}

// Waiting returns how many callers of a key wait for a batch after those that are under way.
func (c *Committer[W]) Waiting(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.keys[key]
	if of == nil {
		return 0
	}
	return len(of.waiting)
}
