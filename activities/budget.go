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

// over reports whether the time for the chain is up. It goes on until at least one node is done, so
// that every batch makes progress.
func (c *chain) over() bool {
	done := func(u graph.UnitResult) bool { return u.Status == graph.Done }
	return !c.until.IsZero() && time.Now().After(c.until) && slices.ContainsFunc(c.result.Units, done)
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
