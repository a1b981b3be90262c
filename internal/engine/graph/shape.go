package graph

import "time"

// Shape is a plan without names and values: what a workflow decides on. 5,000 units stay within a
// few hundred kilobytes of JSON.
type Shape struct {
	Units []Unit `json:"u"`
}

// Unit is one node of a shape.
type Unit struct {
	Deps   []int     `json:"d,omitempty"` // units that must be done first, each once, in order
	Lazy   []LazyDep `json:"l,omitempty"` // units that are needed only when their input is named
	Millis int64     `json:"m,omitempty"` // bound on the run time, rounded up
	Output bool      `json:"o,omitempty"`
	Given  bool      `json:"g,omitempty"` // a value that was handed to an expansion: there is nothing to run
}

// LazyDep is a unit behind a lazy input.
type LazyDep struct {
	Input string `json:"i"`
	Unit  int    `json:"u"`
}

// Shape returns the plan's shape.
func (p *Plan) Shape() Shape {
	s := Shape{Units: make([]Unit, len(p.Nodes))}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		u := Unit{Millis: int64((n.Cost + time.Millisecond - 1) / time.Millisecond), Output: n.Output, Given: n.Given != ""}
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
