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

// identify gives the units of a plan their keys in the cache, and finds out what is to run anew.
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

// answer asks the cache what of a run need not run. A run that began before keeps to what was said then.
// A cache that cannot be asked spares nothing.
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
			return nodecache.Answer{} // of several jobs together it is too much for one: the node that is over says so
		}
	}
	return a
}

// addAnswer adds the events of what the cache answers: which nodes in document order, and what they show.
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

// cachedInputs returns the units that need not run, with references of those values that are read.
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

// retain prepares a finished node for the cache: its values too where they took long to compute. It
// returns the references of the values if it stored them. What a blocker had a part in is not kept: the next job is
// to be told again.
func (c *chain) retain(ctx context.Context, unit int, res node.Result, ui json.RawMessage, saved []job.OutputFile, took time.Duration) ([]string, error) {
	if c.g.Cache == nil || c.plan.keys[unit].IsZero() || res.Blocked {
		return nil, nil
	}
	e := nodecache.Entry{Key: c.plan.keys[unit], Class: c.plan.Nodes[unit].Class, Job: string(c.params.Job), UI: ui, Files: saved}
	class, known := c.plan.classes.Lookup(e.Class)
	paid := known && class.Partner // nobody pays twice for what a cache could have kept
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

// keepEntries hands what finished to the cache, before anybody can learn that it finished. A cache that
// takes nothing costs later runs their time and this one nothing.
func (c *chain) keepEntries(ctx context.Context) {
	if len(c.entries) == 0 {
		return
	}
	if err := c.g.Cache.Save(ctx, c.params.Account, c.entries); err != nil {
		c.g.Log.Warn("node cache save failed; later jobs run these nodes again", "job_id", c.params.Job, "error", err)
	}
	c.entries = nil
}
