package activities

import (
	"context"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// fusedFor is how long a fused chain may take before the rest of it gets a batch of its own. The
// planner bounds chains to two seconds by estimates that know no sizes of texts and lists; a chain
// that went on beyond the timeout of its activity would begin anew for ever.
const fusedFor = 3 * time.Second

// longTurn is how long a batch of expensive nodes begins new nodes before it gives way to those that wait. To hand its
// values over costs a fiftieth of that for a picture of 1536².
const longTurn = 5 * time.Second

// turn is the time that a batch has to begin nodes.
type turn struct {
	until   time.Time
	length  time.Duration                       // of another turn, when nothing waits
	waiting func(context.Context) (bool, error) // nil: something does
}

// deadline returns a turn that ends after d, whatever waits.
func deadline(d time.Duration) *turn { return &turn{until: time.Now().Add(d)} }

// over reports whether the turn has ended. One that ends while nothing waits begins again.
func (t *turn) over(ctx context.Context) bool {
	if t == nil || time.Now().Before(t.until) {
		return false
	}
	if t.waiting == nil {
		return true
	}
	if waits, err := t.waiting(ctx); err != nil || waits { // while that cannot be known, something may wait
		return true
	}
	t.until = time.Now().Add(t.length)
	return false
}

// over reports whether the turn of the chain is over. It goes on until at least one node is done, so that every batch
// makes progress.
func (c *chain) over(ctx context.Context) bool {
	done := func(u graph.UnitResult) bool { return u.Status == graph.Done }
	return slices.ContainsFunc(c.result.Units, done) && c.turn.over(ctx)
}

// handOver stores what the rest of the batch would have read in memory.
func (c *chain) handOver(ctx context.Context, rest []int) error {
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
