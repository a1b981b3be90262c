package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

const (
	// sweepLimit is how many rows one query reads.
	sweepLimit = 200
	// sweepFailures ends a round: so many mean that Temporal or the database is away.
	sweepFailures = 10
)

// Reviver starts work again that was accepted and that no workflow carries out: one that never began, was closed from
// outside, or went with Temporal's database. Several may run at once: starting twice changes nothing.
type Reviver[T any, ID ~string] struct {
	Client client.Client
	What   string        // in log lines: "exports"
	Every  time.Duration // between two rounds
	Age    time.Duration // of work before it is looked at
	Notify func([]outbox.Intent)
	Log    *slog.Logger

	// List returns work that has waited for at least age and is owed no start, in the order of ids from behind after
	// ("" = the first), at most limit.
	List func(ctx context.Context, after ID, age time.Duration, limit int) ([]T, error)
	// Name returns the id of work and of the workflow that is to carry it out.
	Name func(T) (id ID, workflow string)
	// Revive records that work is started again, and the intent to do so. Work that ended meanwhile is left alone.
	Revive func(ctx context.Context, work T, state WorkflowState) ([]outbox.Intent, error)

	pace *pace[ID]
}

// Run does a round every so often until ctx ends.
func (r *Reviver[T, ID]) Run(ctx context.Context) error {
	return repeat(ctx, r.Every, r.Log, r.What, r.Sweep)
}

// Sweep does one round over all work, page by page: work that takes its time or fails keeps none behind it waiting.
func (r *Reviver[T, ID]) Sweep(ctx context.Context) error {
	if r.pace == nil {
		r.pace = newPace[ID](r.Age)
	}
	var failed []error
	for after := ID(""); ; {
		page, err := r.List(ctx, after, r.Age, sweepLimit)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, work := range page {
			id, workflow := r.Name(work)
			after = id
			if err := r.check(ctx, work, id, workflow); err != nil {
				failed = append(failed, fmt.Errorf("look after %s: %w", id, err))
			}
			if ctx.Err() != nil || len(failed) == sweepFailures {
				return errors.Join(failed...)
			}
		}
		if len(page) < sweepLimit {
			return errors.Join(failed...)
		}
	}
}

// check revives work unless its workflow goes on, or was started again a short while ago.
func (r *Reviver[T, ID]) check(ctx context.Context, work T, id ID, workflow string) error {
	state, err := StateOf(ctx, r.Client, workflow)
	if err != nil || state.GoesOn() || !r.pace.due(id, time.Now()) {
		return err
	}
	intents, err := r.Revive(ctx, work, state)
	if err != nil || len(intents) == 0 {
		return err
	}
	r.pace.revived(id, time.Now())
	r.Log.Warn("work without a workflow is started again", "what", r.What, "id", string(id), "workflow", state.String())
	r.Notify(intents)
	return nil
}

// pace keeps work that loses its workflow again and again from being started at every round: each time the wait
// doubles, up to an hour. It is of this process alone; another one starts such work once more at most.
type pace[ID ~string] struct {
	first time.Duration
	next  *lru.Cache[ID, revival]
}

// revival is when work may be started again, and how long that was from the last time.
type revival struct {
	due  time.Time
	wait time.Duration
}

const (
	// pacedWork bounds the work that is remembered.
	pacedWork = 10_000
	// longestPace is the longest wait between two starts of the same work.
	longestPace = time.Hour
)

func newPace[ID ~string](first time.Duration) *pace[ID] {
	next, err := lru.New[ID, revival](pacedWork)
	if err != nil {
		panic(err) // the bound is a constant
	}
	return &pace[ID]{first: first, next: next}
}

func (p *pace[ID]) due(id ID, now time.Time) bool {
	last, known := p.next.Get(id)
	return !known || !now.Before(last.due)
}

func (p *pace[ID]) revived(id ID, now time.Time) {
	wait := p.first
	if last, known := p.next.Get(id); known {
		wait = min(2*last.wait, longestPace)
	}
	p.next.Add(id, revival{due: now.Add(wait), wait: wait})
}

// repeat does rounds until ctx ends, the first one after an interval. Intervals vary by a fifth, so that processes that
// were started together do not sweep together. What fails is done in the next round.
func repeat(ctx context.Context, interval time.Duration, log *slog.Logger, what string, round func(context.Context) error) error {
	for {
		wait := time.NewTimer(interval*4/5 + rand.N(interval*2/5)) // no secret
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil
		case <-wait.C:
		}
		if err := round(ctx); err != nil && ctx.Err() == nil {
			log.Warn("sweep not finished", "of", what, "error", err)
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
