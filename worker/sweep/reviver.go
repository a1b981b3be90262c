// Package sweep finds accepted work that has lost its workflow, or its worker, and starts it again: jobs, calls,
// ingestions, downloads and exports. It promises that such work goes on without its client's help, whatever was lost
// of Temporal, and that work whose workflow still runs is not touched. Several processes may sweep at once, because
// starting the same work twice is harmless. Package worker runs the work itself.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/fault/pause"
)

const (
	// sweepLimit bounds the rows of one query.
	sweepLimit = 200
	// sweepFailures is the number of failures that ends a round: Temporal or the database is probably down.
	sweepFailures = 10
	// soon is the interval after a round that revived work: after a restore, many jobs have no workflow, and each gets its
	// slot only when an earlier one ends. The next round checks work that is at least soon/2 old.
	soon = 2 * time.Second
)

// Reviver restarts accepted work without a workflow: the workflow never began, was closed from outside, or was lost
// with Temporal's database. Several revivers may run at once, because starting the same work twice is harmless.
type Reviver[T any, ID ~string] struct {
	Client client.Client
	What   string        // in log lines: "exports"
	Every  time.Duration // between two rounds
	Age    time.Duration // minimum age of work before it is checked
	Log    *slog.Logger

	// List returns at most limit pieces of work that are at least age old and wait for no start intent, in order of
	// their ids from the first one after the given id ("" = from the start).
	List func(ctx context.Context, after ID, age time.Duration, limit int) ([]T, error)
	// Name returns the id of work and the id of its workflow.
	Name func(T) (id ID, workflow string)
	// Revive restarts work. It returns false for work that has ended.
	Revive func(ctx context.Context, work T, state WorkflowState) (bool, error)

	pacer *restartPacer[ID]
	found bool  // the last round revived work
	late  int64 // workflows that this round found late
}

// Run sweeps at an interval until ctx ends.
func (r *Reviver[T, ID]) Run(ctx context.Context) error {
	return repeat(ctx, func() time.Duration { return r.interval(r.Every) }, r.Log, r.What, r.Sweep)
}

// interval returns the time until the next round: every, or less if the last round revived work.
func (r *Reviver[T, ID]) interval(every time.Duration) time.Duration {
	if r != nil && r.found {
		return min(every, soon)
	}
	return every
}

// Sweep checks all work once, page by page. Work that is slow or fails does not delay the rest.
func (r *Reviver[T, ID]) Sweep(ctx context.Context) error {
	if r.pacer == nil {
		r.pacer = newRestartPacer[ID](r.Age)
	}
	age := r.Age
	found := r.found
	if found {
		age = min(age, soon/2)
	}
	r.found, r.late = false, 0
	var failed []error
	for after := ID(""); ; {
		page, err := r.List(ctx, after, age, sweepLimit)
		if err != nil {
			r.found = r.found || found // the round was not finished
			return errors.Join(append(failed, err)...)
		}
		for _, work := range page {
			id, workflow := r.Name(work)
			after = id
			if err := r.check(ctx, work, id, workflow); err != nil {
				failed = append(failed, fmt.Errorf("look after %s: %w", id, err))
			}
			if ctx.Err() != nil || len(failed) == sweepFailures {
				r.found = r.found || found
				return errors.Join(failed...)
			}
		}
		if len(page) < sweepLimit {
			return errors.Join(failed...)
		}
	}
}

// check revives work unless its workflow is running or was restarted recently.
func (r *Reviver[T, ID]) check(ctx context.Context, work T, id ID, workflow string) error {
	state, err := StateOf(ctx, r.Client, workflow)
	if state.Late() {
		r.late++
	}
	if err != nil || state.Open() || !r.pacer.due(id, time.Now()) {
		return err
	}
	revived, err := r.Revive(ctx, work, state)
	if err != nil || !revived {
		return err
	}
	r.found = true
	r.pacer.revived(id, time.Now())
	r.Log.Warn("restarting work without a workflow", "what", r.What, "id", string(id), "workflow", state.String())
	return nil
}

// restartPacer limits the restarts of work that loses its workflow repeatedly. The wait doubles with each restart, up to an
// hour. Each process has its own pace.
type restartPacer[ID ~string] struct {
	first time.Duration
	next  *lru.Cache[ID, revival]
}

// revival holds the time at which work may be restarted, and the wait before it.
type revival struct {
	due  time.Time
	wait time.Duration
}

const (
	// maxPaced bounds the remembered restarts.
	maxPaced = 10_000
	// maxPause is the longest wait between two restarts of the same work.
	maxPause = time.Hour
)

func newRestartPacer[ID ~string](first time.Duration) *restartPacer[ID] {
	next, err := lru.New[ID, revival](maxPaced)
	if err != nil {
		panic(err) // the bound is a constant
	}
	return &restartPacer[ID]{first: first, next: next}
}

func (p *restartPacer[ID]) due(id ID, now time.Time) bool {
	last, known := p.next.Get(id)
	return !known || !now.Before(last.due)
}

func (p *restartPacer[ID]) revived(id ID, now time.Time) {
	wait := p.first
	if last, known := p.next.Get(id); known {
		wait = min(2*last.wait, maxPause)
	}
	p.next.Add(id, revival{due: now.Add(wait), wait: wait})
}

// repeat calls round until ctx ends, first after one interval, which it asks for before each round. Intervals vary at random
// by a fifth, so that processes that were started together do not sweep together. A failed round is repeated after the next
// interval.
func repeat(ctx context.Context, interval func() time.Duration, log *slog.Logger, what string, round func(context.Context) error) error {
	for {
		next := interval()
		if pause.For(ctx, next*4/5+rand.N(next*2/5)) != nil { // jitter; not a secret
			return nil //nolint:nilerr // ctx has ended
		}
		if err := round(ctx); err != nil && ctx.Err() == nil {
			log.Warn("sweep not finished", "of", what, "error", err)
		}
	}
}
