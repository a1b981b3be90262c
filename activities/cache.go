package activities

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// identify computes the cache keys of a plan's units and the units that must run again.
func (g *Graph) identify(ctx context.Context, ref job.RunRef, p *planned, parsed *graph.Graph, origin *job.Origin) {
	p.order = make(map[string]int, len(parsed.Nodes))
	for i, n := range parsed.Nodes {
		p.order[n.ID] = i
	}
	if g.Cache == nil {
		return
	}
	p.anew = origin.Fresh(parsed)
	p.keys = g.keysOf(ctx, ref, p, p.Plan)
}

// keysOf returns the keys of the units of a plan, or of an expansion.
func (g *Graph) keysOf(ctx context.Context, ref job.RunRef, p *planned, plan *graph.Plan) []nodecache.Key {
	files := g.Files(ref, "")
	return nodecache.Keys(nodecache.Scope{Account: ref.Account, Surface: string(p.surface)}, plan, p.classes,
		func(class *node.Class, constants node.Args) (string, error) {
			if class.Fingerprint == nil {
				return "", nil
			}
			return class.Fingerprint(ctx, files, constants)
		})
}

// answer looks up which units of a run need not run. A run that has begun keeps its first answer. If the cache is
// unavailable, every unit runs.
func (g *Graph) answer(ctx context.Context, p *planned, state job.Job) nodecache.Answer {
	if g.Cache == nil {
		return nodecache.Answer{}
	}
	began := state.Execution != ""
	hits, err := g.Cache.Lookup(ctx, state.Account, p.keys, func(unit int) bool {
		id := p.Nodes[unit].ID
		return slices.Contains(p.anew, id) || began && !slices.Contains(state.Cached, id)
	})
	if err != nil {
		g.Log.Warn("node cache lookup failed; every node runs", "job_id", state.ID, "error", err)
		return nodecache.Answer{}
	}
	a := nodecache.Resolve(p.Plan, hits, func(e nodecache.Entry) bool { return g.Values.Has(ctx, e.Values) })
	for _, u := range a.Units {
		e := a.Hits[u]
		if err := p.outputs.take(p.Nodes[u].ID, outputBytes(e.UI, e.Files, nil)); err != nil {
			return nodecache.Answer{} // the outputs exceed the bound of one job: the node that exceeds it will fail
		}
	}
	return a
}

// addAnswer adds the events of cached nodes: their list in document order, and their UI outputs.
func (g *Graph) addAnswer(events *recorder, p *planned, a nodecache.Answer) {
	units := slices.Clone(a.Units)
	slices.SortFunc(units, func(x, y int) int { return p.order[p.Nodes[x].ID] - p.order[p.Nodes[y].ID] })
	ids := make([]string, len(units))
	for i, u := range units {
		ids[i] = p.Nodes[u].ID
	}
	events.add("", job.TypeNodesCached, job.NodesCachedV1{Run: events.ref.Run, Nodes: ids})
	for _, u := range a.Units {
		if e, ok := a.Hits[u]; ok && len(e.UI) > 0 {
			n := &p.Nodes[u]
			events.add(n.ID, job.TypeNodeExecuted, job.NodeExecutedV1{
				Run: events.ref.Run, Node: n.ID, Class: n.Class, UI: e.UI, Files: e.Files, Cached: true,
			})
		}
	}
}

// cachedInputs returns the units that need not run, with references to the values that are read.
func cachedInputs(a nodecache.Answer) []Input {
	var inputs []Input
	for _, u := range a.Units {
		in := Input{Unit: u}
		if a.Values[u] {
			in.Values = a.Hits[u].Values
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// retain prepares the cache entry of a finished node. It stores the node's values if they were slow to compute, and
// returns their references. A result that a blocker affected is not cached, so that the next job reports the blocker
// again.
func (c *chain) retain(ctx context.Context, unit int, res node.Result, ui json.RawMessage, saved []job.OutputFile, took time.Duration) ([]string, error) {
	if c.g.Cache == nil || c.plan.keys[unit].IsZero() || res.Blocked {
		return nil, nil
	}
	e := nodecache.Entry{Key: c.plan.keys[unit], Class: c.plan.Nodes[unit].Class, Job: string(c.params.Job), UI: ui, Files: saved}
	class, known := c.plan.classes.Lookup(e.Class)
	paid := known && class.Partner // a paid result is always cached
	costly := (paid || took >= c.g.Cache.From) && len(res.Outputs) > 0
	if !costly && len(ui) == 0 {
		return nil, nil
	}
	if costly {
		refs, err := c.store(ctx, res.Outputs)
		if err != nil {
			return nil, err
		}
		for i, ref := range refs {
			refs[i] = nodevalue.Cached(ref)
			e.Bytes += c.g.Values.Size(ctx, ref)
		}
		e.Values = refs
	}
	c.entries = append(c.entries, e)
	return e.Values, nil
}

// keepEntries saves the entries of finished nodes in the cache before their ends are recorded. A failure to save does
// not affect this run; later jobs run these nodes again.
func (c *chain) keepEntries(ctx context.Context) {
	if len(c.entries) == 0 {
		return
	}
	if err := c.g.Cache.Save(ctx, c.params.Account, c.entries); err != nil {
		c.g.Log.Warn("node cache save failed; later jobs run these nodes again", "job_id", c.params.Job, "error", err)
	}
	c.entries = nil
}
