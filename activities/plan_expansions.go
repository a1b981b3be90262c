package activities

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

// expandedNode is a node that expanded.
type expandedNode struct{ doc *expansionDoc }

// expansionPosition is the position of a node within nested expansions.
type expansionPosition struct {
	job.Expansion
	unit  int    // unit whose expansion contains the node
	class string // class of the node of the prompt
	deep  int
}

func (p *expansionPosition) depth() int {
	if p == nil {
		return 0
	}
	return p.deep
}

func (p *expansionPosition) expansion() *job.Expansion {
	if p == nil {
		return nil
	}
	return &p.Expansion
}

// rootOf returns the node of the prompt from which a unit originates.
func (p *planned) rootOf(unit int) *job.NodeRef {
	if in := p.positions[unit]; in != nil {
		return &job.NodeRef{Node: in.Real, Class: in.class}
	}
	return &job.NodeRef{Node: p.Nodes[unit].ID, Class: p.Nodes[unit].Class}
}

// latestPlan keeps the plan of a job with the most of its expansions, for the next batches.
type latestPlan struct {
	mu         sync.Mutex
	plan       *planned
	expansions []Expansion
}

// expandPlan returns the plan with the expansions of a batch. It does not change plans: other batches of the job use
// them.
func (g *Graph) expandPlan(ctx context.Context, base *planned, p RunParams) (*planned, error) {
	if len(p.Expansions) == 0 {
		return base, nil
	}
	base.latest.mu.Lock()
	defer base.latest.mu.Unlock()
	plan, known := base, 0
	if n := len(base.latest.expansions); n <= len(p.Expansions) && slices.Equal(base.latest.expansions, p.Expansions[:n]) && n > 0 {
		plan, known = base.latest.plan, n
	}
	for _, expansion := range p.Expansions[known:] {
		var err error
		if plan, err = g.expandOne(ctx, plan, expansion, p.RunRef); err != nil {
			return nil, err
		}
	}
	base.latest.plan, base.latest.expansions = plan, slices.Clone(p.Expansions)
	return plan, nil
}

func (g *Graph) expandOne(ctx context.Context, plan *planned, expansion Expansion, ref job.RunRef) (*planned, error) {
	raw, err := g.Values.Doc(ctx, expansion.Ref)
	if fault.CodeOf(err) == fault.CodeValueMissing {
		return nil, planChanged(otherVersion)
	}
	if err != nil {
		return nil, err
	}
	doc, err := decodeExpansion(raw)
	if err != nil {
		return nil, err
	}
	validator := graph.Validator{Classes: plan.classes}
	expanded, err := validator.ReplanExpansion(&doc.Expansion, g.filePixels(ctx, ref))
	if err != nil {
		return nil, err
	}
	if len(expanded.Nodes) != expansion.Size {
		return nil, planChanged(otherVersion)
	}
	var keys []nodecache.Key
	if plan.keys != nil {
		keys = g.keysOf(ctx, ref, ref.Job, plan, &expanded.Plan)
	}
	return plan.with(expansion.Unit, doc, expanded, keys), nil
}

// with returns the plan with a unit expanded. The nodes of the expansion follow all others.
func (p *planned) with(unit int, doc *expansionDoc, expanded *graph.ExpansionPlan, keys []nodecache.Key) *planned {
	first := len(p.Nodes)
	out := *p
	out.expanded, out.positions = maps.Clone(p.expanded), maps.Clone(p.positions)
	if out.expanded == nil {
		out.expanded, out.positions = map[int]*expandedNode{}, map[int]*expansionPosition{}
	}
	out.expanded[unit] = &expandedNode{doc: doc}
	nodes := slices.Clone(p.Nodes)
	for i := range expanded.Nodes {
		n := expanded.Nodes[i]
		n.Links = shiftedLinks(n.Links, first)
		nodes = append(nodes, n)
		out.positions[first+i] = p.positionOf(unit, doc, n.ID)
	}
	links := map[string]graph.Link{}
	for i, call := range expanded.Outputs {
		for slot, link := range call {
			links[outputName(i, slot)] = graph.Link{Unit: first + link.Unit, Slot: link.Slot}
		}
	}
	parent := nodes[unit]
	nodes[unit] = graph.PlanNode{ID: parent.ID, Class: parent.Class, Output: parent.Output, Links: links}
	out.Plan = &graph.Plan{Nodes: nodes}
	out.keys = p.keysWith(unit, nodes, keys, keyless(p.classes, expanded.Nodes))
	return &out
}

func shiftedLinks(links map[string]graph.Link, first int) map[string]graph.Link {
	out := make(map[string]graph.Link, len(links))
	for name, link := range links {
		out[name] = graph.Link{Unit: first + link.Unit, Slot: link.Slot}
	}
	return out
}

// positionOf returns the position of a node of an expansion.
func (p *planned) positionOf(unit int, doc *expansionDoc, id string) *expansionPosition {
	root := p.rootOf(unit)
	_, display, _ := p.positions[unit].expansion().Places(p.Nodes[unit].ID)
	for _, n := range doc.Nodes {
		if n.ID == id && n.Display != "" {
			display = n.Display
		}
	}
	return &expansionPosition{
		Expansion: job.Expansion{Parent: p.Nodes[unit].ID, Display: display, Real: root.Node},
		unit:      unit, class: root.Class, deep: p.positions[unit].depth() + 1,
	}
}

// keysWith returns the keys of the units of an expanded plan. If a node of the expansion must not be cached, the
// expanded node and all nodes that read it have no keys.
func (p *planned) keysWith(unit int, nodes []graph.PlanNode, added []nodecache.Key, unkept bool) []nodecache.Key {
	if p.keys == nil {
		return nil
	}
	keys := append(slices.Clone(p.keys), added...)
	if !unkept {
		return keys
	}
	stale := map[int]bool{unit: true}
	for in := p.positions[unit]; in != nil; in = p.positions[in.unit] {
		stale[in.unit] = true
	}
	for again := true; again; {
		again = false
		for u := range nodes {
			for _, link := range nodes[u].Links {
				if stale[link.Unit] && !stale[u] {
					stale[u], again = true, true
				}
			}
		}
	}
	for u := range stale {
		keys[u] = nodecache.Key{}
	}
	return keys
}

// cachedFrom is the run time from which values of expanded nodes are cached, if there is a cache: an expansion
// represents several nodes.
func (g *Graph) cachedFrom() time.Duration {
	if g.Cache == nil {
		return 0
	}
	return g.Cache.From
}
