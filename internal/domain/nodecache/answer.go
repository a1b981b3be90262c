package nodecache

import (
	"encoding/json"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// Entry is the stored result of a node: its UI output, its files, and references of its values if they are expensive
// to compute again.
type Entry struct {
	Key    Key              `json:"-"`
	Class  string           `json:"class"`
	Job    string           `json:"job,omitempty"` // that ran it
	UI     json.RawMessage  `json:"ui,omitempty"`
	Files  []job.OutputFile `json:"files,omitempty"`
	Values []string         `json:"values,omitempty"` // by slot
	Nodes  []Shown          `json:"nodes,omitempty"`  // of a segment: its nodes that showed something, in place of UI
	Bytes  int64            `json:"-"`                // of the values in the store
}

// Shown is what a node of a segment showed.
type Shown struct {
	Node  string           `json:"node"`
	Class string           `json:"class"`
	UI    json.RawMessage  `json:"ui,omitempty"`
	Files []job.OutputFile `json:"files,omitempty"`

	Within *job.Expansion `json:"within,omitempty"` // nil = a node of the prompt
}

// Shown returns what the nodes of a unit showed: of a segment, or of the node of that id.
func (e *Entry) Shown(id, class string) []Shown {
	if len(e.Nodes) > 0 || len(e.UI) == 0 {
		return e.Nodes
	}
	return []Shown{{Node: id, Class: class, UI: e.UI, Files: e.Files}}
}

// Answer is the result of the cache lookup of a run.
type Answer struct {
	Units  []int         // units that need not run, in plan order
	Hits   map[int]Entry // the entries of these units, where there is one
	Values map[int]bool  // units whose values are read by nodes that run
}

// Resolve decides which units need not run. An output is cached if it has an entry. An inner node is cached if a
// running node reads it and its values are readable. A node that only cached nodes read need not run either.
// readable reports whether the values of an entry still exist.
func Resolve(plan *graph.Plan, hits map[int]Entry, readable func(Entry) bool) Answer {
	r := resolver{
		plan: plan, hits: hits, readable: readable,
		read: make([]bool, len(plan.Nodes)), runs: make([]bool, len(plan.Nodes)), skipped: make([]bool, len(plan.Nodes)),
	}
	a := Answer{Hits: map[int]Entry{}, Values: map[int]bool{}}
	if len(hits) == 0 {
		return a
	}
	for u := len(plan.Nodes) - 1; u >= 0; u-- { // a unit's readers come after it
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
