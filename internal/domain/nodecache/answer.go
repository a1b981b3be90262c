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
	Job    string           `json:"job,omitempty"` // job that ran the node
	UI     json.RawMessage  `json:"ui,omitempty"`
	Files  []job.OutputFile `json:"files,omitempty"`
	Values []string         `json:"values,omitempty"` // by slot
	Nodes  []Shown          `json:"nodes,omitempty"`  // of a segment, instead of UI: its nodes with UI output
	Bytes  int64            `json:"-"`                // size of the stored values
}

// Shown is the UI output of a node of a segment.
type Shown struct {
	Node  string           `json:"node"`
	Class string           `json:"class"`
	UI    json.RawMessage  `json:"ui,omitempty"`
	Files []job.OutputFile `json:"files,omitempty"`

	Within *job.Expansion `json:"within,omitempty"` // nil = a node of the prompt
}

// Shown returns the UI outputs of the nodes of a unit: those of a segment, or of the node with an id.
func (e *Entry) Shown(id, class string) []Shown {
	if len(e.Nodes) > 0 || len(e.UI) == 0 {
		return e.Nodes
	}
	return []Shown{{Node: id, Class: class, UI: e.UI, Files: e.Files}}
}

// Answer is the result of the cache lookup of a run.
type Answer struct {
	Units  []int         // cached units, in plan order
	Hits   map[int]Entry // the entries of these units, as far as they have one
	Values map[int]bool  // units whose values are read by nodes that run
}

// Resolve decides which units are cached. An output is cached if it has an entry. An inner node is cached if it has
// an entry with readable values, and a running node reads it. A node that only cached nodes read does not run either.
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
		case !n.IsLazy(name) && (hit || r.skipped[u]): // an earlier job ran the input, because it ran its reader
			r.skipped[link.Unit] = true
		}
	}
}
