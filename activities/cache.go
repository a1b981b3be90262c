package activities

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// identify computes the cache keys of a plan's units and the units that must run again.
func (g *Graph) identify(ctx context.Context, ref job.RunRef, p *planned, parsed *graph.Graph, origin *job.Origin, calls *job.Calls) {
	p.order = make(map[string]int, len(parsed.Nodes))
	for i, n := range parsed.Nodes {
		p.order[n.ID] = i
	}
	if g.Cache == nil {
		return
	}
	p.rerun = origin.Fresh(parsed, calls)
	p.keys = g.keysOf(ctx, ref, ref.Job, p, p.Plan)
	p.searchKeys = p.keys
	if origin != nil && origin.FromNode != "" && slices.ContainsFunc(p.Nodes, func(n graph.PlanNode) bool { return n.Segment != nil }) {
		p.searchKeys = g.keysOf(ctx, ref, origin.Job, p, p.Plan)
	}
}

// keysOf returns the cache keys of the units of a plan, or of an expansion. The key of a segment contains the job
// that ran it.
func (g *Graph) keysOf(ctx context.Context, ref job.RunRef, ran job.ID, p *planned, plan *graph.Plan) []nodecache.Key {
	files := g.Files(ref, "")
	return nodecache.Keys(nodecache.Scope{Account: ref.Account, Surface: string(p.surface), Job: string(ran)}, plan, p.classes,
		func(class *node.Class, constants node.Args) (string, error) {
			if class.Fingerprint == nil {
				return "", nil
			}
			return class.Fingerprint(ctx, files, constants)
		})
}

// cachedUnits returns the units whose results are cached. A run that has begun keeps its first answer. If the cache is
// unavailable, every unit runs.
func (g *Graph) cachedUnits(ctx context.Context, p *planned, state job.Job) nodecache.Answer {
	if g.Cache == nil {
		return nodecache.Answer{}
	}
	began := state.Execution != ""
	hits, err := g.Cache.Lookup(ctx, state.Account, p.searchKeys, func(unit int) nodecache.Unit {
		anew := slices.ContainsFunc(nodesOf(p, unit), func(id string) bool {
			return slices.Contains(p.rerun, id) || began && !slices.Contains(state.Cached, id)
		})
		return nodecache.Unit{Anew: anew, Brief: p.brief(&p.Nodes[unit])}
	})
	if err != nil {
		g.Log.Warn("node cache lookup failed; every node runs", "job_id", state.ID, "error", err)
		return nodecache.Answer{}
	}
	if began {
		p.addRecorded(hits, state)
	} else { // an attempt of this run may have run a unit and not recorded its end: the run pays for the unit, and ends its lease
		maps.DeleteFunc(hits, func(u int, e nodecache.Entry) bool {
			n := &p.Nodes[u]
			return e.Job == string(state.ID) && (n.Segment != nil || !slices.Contains(state.Executed, n.ID))
		})
	}
	a := nodecache.Resolve(p.Plan, hits, func(e nodecache.Entry) bool { return g.Values.Has(ctx, e.Values) })
	for _, u := range a.Units {
		e := a.Hits[u]
		for _, shown := range e.Shown(p.Nodes[u].ID, p.Nodes[u].Class) {
			if err := p.outputs.add(shown.Node, outputBytes(shown.UI, shown.Files, nil)); err != nil {
				return nodecache.Answer{} // the outputs exceed the bound of one job: the node that exceeds it will fail
			}
		}
	}
	g.keepForRetries(ctx, p, state, a)
	return a
}

// addRecorded adds the results of brief nodes that an earlier attempt of the run took from the memory of its process: this
// process may not have them, but the log has.
func (p *planned) addRecorded(hits map[int]nodecache.Entry, state job.Job) {
	for u := range p.Nodes {
		n := &p.Nodes[u]
		if _, hit := hits[u]; hit || !p.brief(n) || !slices.Contains(state.Cached, n.ID) {
			continue
		}
		i := slices.IndexFunc(state.Outputs, func(o job.NodeOutput) bool { return o.Node == n.ID && o.Within == nil })
		if i >= 0 {
			hits[u] = nodecache.Entry{Key: p.searchKeys[u], Class: n.Class, UI: state.Outputs[i].UI}
		}
	}
}

// brief reports whether a node takes less time than a lookup of its result in the database, and leaves nothing but a UI
// output. The v2 surface stores the texts that a node shows as files.
func (p *planned) brief(n *graph.PlanNode) bool {
	class, known := p.classes.Lookup(n.Class)
	return known && n.Segment == nil && n.Given == "" && class.Cost == nil && !class.Partner &&
		(p.surface != job.SurfaceV2 || !class.OutputNode)
}

// nodesOf returns the ids of the nodes of a unit, which is a segment or a single node.
func nodesOf(p *planned, unit int) []string {
	s := p.Nodes[unit].Segment
	if s == nil {
		return []string{p.Nodes[unit].ID}
	}
	ids := make([]string, len(s.Nodes))
	for i := range s.Nodes {
		ids[i] = s.Nodes[i].ID
	}
	return ids
}

// keepForRetries stores the results that a retry takes from its original job, for retries of this job.
func (g *Graph) keepForRetries(ctx context.Context, p *planned, state job.Job, a nodecache.Answer) {
	var entries []nodecache.Entry
	for _, u := range a.Units {
		if e, hit := a.Hits[u]; hit && p.keys[u] != p.searchKeys[u] {
			e.Key, e.Job = p.keys[u], string(state.ID)
			for _, ref := range e.Values {
				e.Bytes += g.Values.Size(ctx, ref)
			}
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		return
	}
	if err := g.Cache.Save(ctx, state.Account, entries); err != nil {
		g.Log.Warn("node cache save failed; a retry of this job runs its segments again", "job_id", state.ID, "error", err)
	}
}

// addCachedEvents adds the events of cached nodes: their list in document order, and their UI outputs.
func (g *Graph) addCachedEvents(events *recorder, p *planned, a nodecache.Answer) {
	var ids []string
	for _, u := range a.Units {
		ids = append(ids, nodesOf(p, u)...)
	}
	slices.SortFunc(ids, func(x, y string) int { return p.order[x] - p.order[y] })
	events.add("", job.TypeNodesCached, job.NodesCachedV1{Run: events.ref.Run, Nodes: ids})
	for _, u := range a.Units {
		e, ok := a.Hits[u]
		if !ok {
			continue
		}
		for _, shown := range e.Shown(p.Nodes[u].ID, p.Nodes[u].Class) {
			events.add(shown.Node, job.TypeNodeExecuted, job.NodeExecutedV1{
				Run: events.ref.Run, Node: shown.Node, Class: shown.Class, UI: shown.UI, Files: shown.Files, Cached: true, Within: shown.Within,
			})
		}
	}
}

// cachedInputs returns the cached units with the references of their values.
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
// returns their references. A result that depends on a blocker is not cached, so that the next job reports the
// blocker again.
func (c *chain) retain(ctx context.Context, unit int, res node.Result, ui json.RawMessage, saved []job.OutputFile,
	took time.Duration,
) ([]string, error) {
	if c.g.Cache == nil || c.plan.keys[unit].IsZero() || res.Blocked {
		return nil, nil
	}
	e := nodecache.Entry{Key: c.plan.keys[unit], Class: c.plan.Nodes[unit].Class, Job: string(c.params.Job), UI: ui, Files: saved}
	class, known := c.plan.classes.Lookup(e.Class)
	paid := known && class.Partner // a paid result is always cached
	costly := (paid || took >= c.g.Cache.From) && len(res.Outputs) > 0 && !c.plan.brief(&c.plan.Nodes[unit])
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
	if c.plan.brief(&c.plan.Nodes[unit]) {
		c.brief = append(c.brief, e)
	} else {
		c.entries = append(c.entries, e)
	}
	return e.Values, nil
}

// keepEntries saves the entries of finished nodes in the cache before their ends are recorded. A failure to save does
// not affect this run; later jobs run these nodes again.
func (c *chain) keepEntries(ctx context.Context) {
	if len(c.entries) == 0 && len(c.brief) == 0 {
		return
	}
	if err := c.g.Cache.Keep(ctx, c.params.Account, c.entries, c.brief); err != nil {
		c.g.Log.Warn("node cache save failed; later jobs run these nodes again", "job_id", c.params.Job, "error", err)
	}
	c.entries, c.brief = nil, nil
}
