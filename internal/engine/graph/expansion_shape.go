package graph

import "slices"

// ExpansionShape is the shape of an expansion, which replaces a unit of the run. Its units are counted from 0 and read
// only each other.
type ExpansionShape struct {
	Units  []Unit       `json:"u"`
	Reads  []int        `json:"r,omitempty"` // units that make the outputs of the expanded unit
	Refs   []string     `json:"b"`           // references of the stored parts: first the plan, then the given values
	Cached []CachedUnit `json:"s,omitempty"` // units whose results are cached
}

// CachedUnit is a unit of an expansion that need not run, because an earlier job ran it. Values holds the references
// of its stored values, if a unit of this run reads them.
type CachedUnit struct {
	Unit   int      `json:"u"` // counted as in ExpansionShape
	Values []string `json:"v,omitempty"`
}

// ExpandedUnit is a unit that expanded. In the run, the units of its expansion are numbered after all units that the
// run had before.
type ExpandedUnit struct {
	Unit int `json:"p"`
	ExpansionShape
}

// Expansions returns the units that have expanded, in order. Callers must not change it.
func (s *Scheduler) Expansions() []ExpandedUnit { return s.expansions }

// Size is the number of units of the run, with those of its expansions.
func (s *Scheduler) Size() int { return len(s.units) }

// extend inserts the units of an expansion before the unit that expanded. That unit then waits for the units that
// make its outputs. Given values count as stored from the start.
func (s *Scheduler) extend(g ExpandedUnit) {
	first := len(s.units)
	added := make([]int, len(g.Units))
	for i, u := range g.Units {
		added[i] = first + i
		s.units = append(s.units, shifted(u, first))
		state := unitState{}
		if u.Given {
			state = unitState{status: done, stored: true}
		}
		s.states, s.consumers = append(s.states, state), append(s.consumers, nil)
		s.addConsumer(first + i)
	}
	for _, cached := range g.Cached {
		s.MarkCached(first+cached.Unit, len(cached.Values) > 0)
	}
	s.order = slices.Insert(s.order, slices.Index(s.order, g.Unit), added...)
	parent := &s.units[g.Unit]
	*parent = shifted(Unit{Deps: g.Reads, Output: parent.Output}, first)
	s.states[g.Unit].status = waiting
	s.addConsumer(g.Unit)
	s.expansions = append(s.expansions, g)
}

// shifted returns u with first added to the units that it reads.
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
