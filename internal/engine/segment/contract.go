package segment

import (
	"strconv"

	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// idPrefix is the prefix of the id of a segment's unit, before the id of its first node. No event contains such ids.
const idPrefix = "segment:"

// contract builds the plan in which each part is one unit.
func contract(plan *graph.Plan, c *cutter, parts sets) *graph.Plan {
	b := &contraction{
		cutter: c, plan: plan, parts: parts, members: map[int][]int{}, unit: map[int]int{}, slots: map[graph.Link]int{},
	}
	for u := range plan.Nodes {
		p := parts.find(u)
		b.members[p] = append(b.members[p], u)
	}
	out := &graph.Plan{}
	for _, p := range c.quotient(parts).order {
		b.unit[p] = len(out.Nodes)
		if c.onServer[p] {
			out.Nodes = append(out.Nodes, b.segment(b.members[p]))
		} else {
			out.Nodes = append(out.Nodes, b.single(p))
		}
	}
	return out
}

type contraction struct {
	*cutter
	plan    *graph.Plan
	parts   sets
	members map[int][]int
	unit    map[int]int        // by part: its index in the contracted plan
	slots   map[graph.Link]int // by output of a unit on a server: its slot among the outputs of the segment
}

// target returns the link of the contracted plan for a link of the plan. The unit that it reads must have been
// contracted already.
func (b *contraction) target(l graph.Link) graph.Link {
	to := graph.Link{Unit: b.unit[b.parts.find(l.Unit)], Slot: l.Slot}
	if b.onServer[l.Unit] {
		to.Slot = b.slots[l]
	}
	return to
}

// single copies a unit that stays as it is.
func (b *contraction) single(u int) graph.PlanNode {
	pn := b.plan.Nodes[u]
	links := make(map[string]graph.Link, len(pn.Links))
	for name, link := range pn.Links {
		links[name] = b.target(link)
	}
	pn.Links = links
	return pn
}

// segment makes one unit of the units of a part.
func (b *contraction) segment(units []int) graph.PlanNode {
	s := &graph.Segment{}
	out := graph.PlanNode{ID: idPrefix + b.plan.Nodes[units[0]].ID, Links: map[string]graph.Link{}, Segment: s}
	index := make(map[int]int, len(units))
	names := map[graph.Link]string{}
	for i, u := range units {
		index[u] = i
		pn := b.plan.Nodes[u]
		inner := make(map[string]graph.Link, len(pn.Links))
		for _, e := range b.in[u] {
			link := graph.Link{Unit: e.from, Slot: e.slot}
			if at, ok := index[e.from]; ok {
				inner[e.input] = graph.Link{Unit: at, Slot: e.slot}
				continue
			}
			name, known := names[link]
			if !known {
				name = strconv.Itoa(len(names))
				names[link] = name
				out.Links[name] = b.target(link)
			}
			s.Inputs = append(s.Inputs, graph.SegmentIn{Node: i, Input: e.input, Type: e.kind, From: name})
		}
		pn.Links = inner
		s.Nodes = append(s.Nodes, pn)
		out.Output = out.Output || pn.Output
		out.Pixels = max(out.Pixels, pn.Pixels)
	}
	b.outputs(s, units, index)
	return out
}

// outputs returns the outputs of a segment that units outside the segment read.
func (b *contraction) outputs(s *graph.Segment, units []int, index map[int]int) {
	for i, u := range units {
		for _, e := range b.out[u] {
			link := graph.Link{Unit: u, Slot: e.slot}
			_, inside := index[e.to]
			if _, known := b.slots[link]; inside || known {
				continue
			}
			b.slots[link] = len(s.Outputs)
			s.Outputs = append(s.Outputs, graph.SegmentOut{Node: i, Slot: e.slot, Type: e.kind})
		}
	}
}
