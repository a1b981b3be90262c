package graph

import "slices"

// Growing is the shape of a graph that takes the place of a unit (node graph semantics, section 3.1). Its
// units are counted from 0; they read each other only.
type Growing struct {
	Units  []Unit   `json:"u"`
	Reads  []int    `json:"r,omitempty"` // units that the outputs of the expanded one come from
	Refs   []string `json:"b"`           // what is stored for it: its plan first, then values
	Spared []Spared `json:"s,omitempty"` // units that need not run
}

// Spared is a unit of an expansion that an earlier job ran, with its stored values where they are read.
type Spared struct {
	Unit   int      `json:"u"` // counted as in Growing
	Values []string `json:"v,omitempty"`
}

// Grown is a unit that expanded. The units of its graph are counted on from those the run had by then.
type Grown struct {
	Unit int `json:"p"`
	Growing
}

// Grown returns the units that expanded so far, in order. It is to be left alone.
func (s *Scheduler) Grown() []Grown { return s.grown }

// Size is how many units the run has by now.
func (s *Scheduler) Size() int { return len(s.units) }

// extend puts the units of a graph before the one that expanded, which then waits for what its outputs come
// from. Values that were handed to the graph are stored from the beginning.
func (s *Scheduler) extend(g Grown) {
	first := len(s.units)
	added := make([]int, len(g.Units))
	for i, u := range g.Units {
		added[i] = first + i
		s.units = append(s.units, shifted(u, first))
		state := unitState{}
		if u.Given {
			state = unitState{status: done, kept: true}
		}
		s.states, s.consumers = append(s.states, state), append(s.consumers, nil)
		s.enlist(first + i)
	}
	for _, spared := range g.Spared {
		s.Spare(first+spared.Unit, len(spared.Values) > 0)
	}
	s.order = slices.Insert(s.order, slices.Index(s.order, g.Unit), added...)
	parent := &s.units[g.Unit]
	*parent = shifted(Unit{Deps: g.Reads, Output: parent.Output}, first)
	s.states[g.Unit].status = waiting
	s.enlist(g.Unit)
	s.grown = append(s.grown, g)
}

// shifted returns a unit whose inputs are counted from first.
func shifted(u Unit, first int) Unit {
	deps, lazy := make([]int, len(u.Deps)), make([]LazyDep, len(u.Lazy))
	for i, d := range u.Deps {
		deps[i] = first + d
	}
	for i, l := range u.Lazy {
		lazy[i] = LazyDep{Input: l.Input, Unit: first + l.Unit}
	}
	u.Deps, u.Lazy = deps, lazy
	return u
}
