package activities

import (
	"context"
	"maps"
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// cacheHits returns the nodes of an expansion whose results are cached, and adds the events of their UI outputs. It
// ignores results of this job, so that neither the order of equal nodes nor a second attempt makes a difference.
func (c *chain) cacheHits(ctx context.Context, unit int, doc *expansionDoc, expanded *graph.ExpansionPlan) []graph.CachedUnit {
	if c.g.Cache == nil || slices.Contains(c.plan.rerun, c.plan.rootOf(unit).Node) {
		return nil
	}
	keys := c.g.keysOf(ctx, c.params.RunRef, c.params.Job, c.plan, &expanded.Plan)
	hits, err := c.g.Cache.Lookup(ctx, c.params.Account, keys, func(u int) nodecache.Unit {
		n := &expanded.Nodes[u]
		return nodecache.Unit{Anew: n.Given != "", Brief: c.plan.brief(n)}
	})
	if err != nil {
		c.g.Log.Warn("node cache lookup failed; every node of the expansion runs", "job_id", c.params.Job, "error", err)
		return nil
	}
	maps.DeleteFunc(hits, func(_ int, e nodecache.Entry) bool { return e.Job == string(c.params.Job) })
	answer := nodecache.Resolve(expanded.Whole(), hits, func(e nodecache.Entry) bool { return c.g.Values.Has(ctx, e.Values) })
	answer.Units = slices.DeleteFunc(answer.Units, func(u int) bool { return expanded.Nodes[u].Given != "" })
	for _, u := range answer.Units {
		e := answer.Hits[u]
		if err := c.plan.outputs.add(expanded.Nodes[u].ID, outputBytes(e.UI, e.Files, nil)); err != nil {
			return nil // the node runs and reports the error
		}
	}
	return c.recordCacheHits(unit, doc, expanded, answer)
}

// recordCacheHits adds the events of the cached nodes of an expansion. The list at the start of a run only contains
// nodes of the prompt, so each cached node of an expansion has an event of its own.
func (c *chain) recordCacheHits(unit int, doc *expansionDoc, expanded *graph.ExpansionPlan, answer nodecache.Answer) []graph.CachedUnit {
	var cached []graph.CachedUnit
	for _, u := range answer.Units {
		n, e := &expanded.Nodes[u], answer.Hits[u]
		c.events.add(n.ID, job.TypeNodeExecuted, job.NodeExecutedV1{
			Run: c.params.Run, Node: n.ID, Class: n.Class, UI: e.UI, Files: e.Files, Cached: true,
			Within: c.plan.positionOf(unit, doc, n.ID).expansion(),
		})
		s := graph.CachedUnit{Unit: u}
		if answer.Values[u] {
			s.Values = e.Values
		}
		cached = append(cached, s)
	}
	return cached
}
