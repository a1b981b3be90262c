package graph

import "sync"

// handoverBytes bounds the prompts whose graphs a Handover keeps. A parsed graph takes about ten times the memory.
const handoverBytes = 4 << 20

// Handover passes parsed graphs from the part of a process that accepts submissions to the part that plans their
// runs, so that a process with both parts parses each graph once. It keeps the latest graphs; a planner that finds no
// graph parses the prompt. A nil Handover keeps nothing. Its methods may be called concurrently.
type Handover struct {
	mu     sync.Mutex // guards the fields below
	graphs map[string]*Graph
	order  []string // job names, oldest first, including graphs that were taken
	bytes  int      // total size of the prompts of graphs
}

// NewHandover returns an empty Handover.
func NewHandover() *Handover { return &Handover{graphs: map[string]*Graph{}} }

// Put keeps the graph of a job until Take removes it or newer graphs need its space. It does not keep a graph whose
// asset references were replaced, because the run resolves these references anew. The caller must not change the
// graph afterwards.
func (h *Handover) Put(job string, g *Graph) {
	if h == nil || g.replaced || g.size > handoverBytes/4 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(job)
	h.graphs[job] = g
	h.order = append(h.order, job)
	for h.bytes += g.size; h.bytes > handoverBytes || len(h.order) > 2*len(h.graphs)+64; {
		h.remove(h.order[0])
		h.order = h.order[1:]
	}
}

// Take removes and returns the graph of a job, or nil if there is no such graph. The caller owns the graph.
func (h *Handover) Take(job string) *Graph {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.remove(job)
}

func (h *Handover) remove(job string) *Graph {
	g := h.graphs[job]
	if g != nil {
		delete(h.graphs, job)
		h.bytes -= g.size
	}
	return g
}
