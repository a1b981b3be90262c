package activities

import (
	"context"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// fusedFor bounds a fused chain; another batch runs the rest. The planner bounds chains to two seconds by estimates
// that do not include the sizes of texts and lists. A chain that exceeded the timeout of its activity would start
// over for ever.
const fusedFor = 3 * time.Second

// longTurn is how long a batch of expensive nodes starts new nodes before it yields to waiting batches. Storing its
// values for the next batch costs a fiftieth of that time for a picture of 1536².
const longTurn = 5 * time.Second

// turn is the time in which a batch may start nodes.
type turn struct {
	until   time.Time
	length  time.Duration                       // length of the next turn, if no batch waits
	waiting func(context.Context) (bool, error) // reports whether batches wait; nil = always
	confirm func(context.Context) error         // as of recorder
}

// deadline returns a turn that ends after d, even if no batch waits.
func deadline(d time.Duration) *turn { return &turn{until: time.Now().Add(d)} }

// over reports whether the turn has ended. If it ends while no batch waits, a new turn begins.
func (t *turn) over(ctx context.Context) bool {
	if t == nil || time.Now().Before(t.until) {
		return false
	}
	if t.waiting == nil {
		return true
	}
	if waits, err := t.waiting(ctx); err != nil || waits { // an error counts as waiting
		return true
	}
	t.until = time.Now().Add(t.length)
	return false
}

// over reports whether the turn of the chain has ended. It has not before one node is done, so that every batch makes
// progress.
func (c *chain) over(ctx context.Context) bool {
	done := func(u graph.UnitResult) bool { return u.Status == graph.Done }
	return slices.ContainsFunc(c.result.Units, done) && c.turn.over(ctx)
}

// storeForRest stores the values that the rest of the batch would have read from memory.
func (c *chain) storeForRest(ctx context.Context, rest []int) error {
	read := map[int]bool{}
	for _, unit := range rest {
		for _, link := range c.plan.Nodes[unit].Links {
			read[link.Unit] = true
		}
	}
	for i := range c.result.Units {
		u := &c.result.Units[i]
		if !read[u.Unit] || u.Status != graph.Done || len(u.Values) > 0 {
			continue
		}
		var err error
		if u.Values, err = c.store(ctx, c.values[u.Unit]); err != nil {
			return err
		}
	}
	return nil
}
