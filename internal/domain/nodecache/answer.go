package nodecache

import (
	"encoding/json"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// Entry is what is kept of a node that ran: what it showed, the files it saved, and references of its
// values where computing them again costs more than keeping them.
type Entry struct {
	Key    Key              `json:"-"`
	Class  string           `json:"class"`
	Job    string           `json:"job,omitempty"` // that ran it
	UI     json.RawMessage  `json:"ui,omitempty"`
	Files  []job.OutputFile `json:"files,omitempty"`
	Values []string         `json:"values,omitempty"` // by slot
	Bytes  int64            `json:"-"`                // of the values in the store
}

// Answer is what the cache knows of a run before it begins.
type Answer struct {
	Units  []int         // that need not run, in the order of the plan
	Hits   map[int]Entry // of those, the ones with something to show or to hand on
	Values map[int]bool  // whose values are handed on to nodes that run
}

// Resolve decides what need not run. An output is answered when its entry is there; a node between, when
// somebody reads it and its values can be read; and whatever led only to answered nodes is not asked
// at all and counts as answered too. readable tells whether the values of an entry are still there.
func Resolve(plan *graph.Plan, hits map[int]Entry, readable func(Entry) bool) Answer {
	r := resolver{
		plan: plan, hits: hits, readable: readable,
		read: make([]bool, len(plan.Nodes)), runs: make([]bool, len(plan.Nodes)), skipped: make([]bool, len(plan.Nodes)),
	}
	a := Answer{Hits: map[int]Entry{}, Values: map[int]bool{}}
	if len(hits) == 0 {
		return a
	}
	for u := len(plan.Nodes) - 1; u >= 0; u-- { // who reads a unit stands behind it
		r.visit(u)
	}
	for u := range plan.Nodes {
		entry, hit := hits[u]
		if r.runs[u] || !hit && !r.skipped[u] {
			continue
		}
		a.Units = append(a.Units, u)
		if hit {
			a.Hits[u] = entry
			a.Values[u] = r.read[u]
		}
	}
	return a
}

type resolver struct {
	plan                *graph.Plan
	hits                map[int]Entry
	readable            func(Entry) bool
	read, runs, skipped []bool
}

func (r *resolver) visit(u int) {
	n := &r.plan.Nodes[u]
	entry, hit := r.hits[u]
	if wanted := n.Output || r.read[u]; wanted {
		r.runs[u] = !hit || r.read[u] && !r.readable(entry)
	}
	for name, link := range n.Links {
		switch {
		case r.runs[u]:
			r.read[link.Unit] = true
		case !n.IsLazy(name) && (hit || r.skipped[u]): // an earlier job ran it, since it ran what reads it
			r.skipped[link.Unit] = true
		}
	}
}
