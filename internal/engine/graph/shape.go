package graph

import "time"

// Shape is a plan without names and values: all that a workflow needs for scheduling. The JSON of 5,000 units is a
// few hundred kilobytes long.
type Shape struct {
	Units []Unit `json:"u"`
}

// Unit is one node of a shape.
type Unit struct {
	Deps   []int     `json:"d,omitempty"` // the units that the node reads, each once, in order
	Lazy   []LazyDep `json:"l,omitempty"` // the units of lazy inputs
	Millis int64     `json:"m,omitempty"` // bound on the run time, rounded up
	Output bool      `json:"o,omitempty"`
	Given  bool      `json:"g,omitempty"` // a given value of an expansion: nothing runs

	Segment bool `json:"s,omitempty"` // a server runs it, in a batch of its own
	Waits   bool `json:"w,omitempty"` // it waits for a partner's model, in a batch of its own, and needs no processor
}

// LazyDep is the unit of a lazy input.
type LazyDep struct {
	Input string `json:"i"`
	Unit  int    `json:"u"`
}

// Shape returns the plan's shape.
func (p *Plan) Shape() Shape {
	s := Shape{Units: make([]Unit, len(p.Nodes))}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		u := Unit{Millis: int64((n.Cost + time.Millisecond - 1) / time.Millisecond), Output: n.Output, Given: n.Given != "", Segment: n.Segment != nil, Waits: n.Waits}
		seen := map[int]bool{}
		for _, name := range n.LinkNames() {
			link := n.Links[name]
			switch {
			case n.IsLazy(name):
				u.Lazy = append(u.Lazy, LazyDep{Input: name, Unit: link.Unit})
			case !seen[link.Unit]:
				seen[link.Unit] = true
				u.Deps = append(u.Deps, link.Unit)
			}
		}
		s.Units[i] = u
	}
	return s
}
