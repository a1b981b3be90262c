package graph

import "sync"

// handoverBytes bounds the prompts whose graphs a Handover keeps. A parsed graph takes about ten times the memory.
const handoverBytes = 4 << 20

// Handover passes parsed graphs from the part of a process that accepts submissions to the part that plans their
// runs, so that a process with both parts parses each graph once. With each graph it passes a T, which says more of the
// job. It keeps the latest graphs; a planner that finds no graph parses the prompt. A nil Handover keeps nothing. Its
// methods may be called concurrently.
type Handover[T any] struct {
	mu     sync.Mutex // guards the fields below
	graphs map[string]handed[T]
	order  []string // job names, oldest first, including graphs that were taken
	bytes  int      // total size of the prompts of graphs
}

type handed[T any] struct {
	graph *Graph
	with  T
}

// NewHandover returns an empty Handover.
func NewHandover[T any]() *Handover[T] { return &Handover[T]{graphs: map[string]handed[T]{}} }

// Put keeps the graph of a job until Take removes it or newer graphs need its space. It does not keep a graph whose
// asset references were replaced, because the run resolves these references anew. The caller must not change the
// graph afterwards.
func (h *Handover[T]) Put(job string, g *Graph, with T) {
	if h == nil || g.replaced || g.size > handoverBytes/4 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(job)
	h.graphs[job] = handed[T]{g, with}
	h.order = append(h.order, job)
	for h.bytes += g.size; h.bytes > handoverBytes || len(h.order) > 2*len(h.graphs)+64; {
		h.remove(h.order[0])
		h.order = h.order[1:]
	}
}

// Take removes and returns the graph of a job and what it was put with. The graph is nil if there is no such graph. The
// caller owns the graph.
func (h *Handover[T]) Take(job string) (g *Graph, with T) {
	if h == nil {
		return nil, with
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := h.remove(job)
	return kept.graph, kept.with
}

func (h *Handover[T]) remove(job string) handed[T] {
	kept, ok := h.graphs[job]
	if ok {
		delete(h.graphs, job)
		h.bytes -= kept.graph.size
	}
	return kept
}
