package graph

import "sync"

// handoverBytes bounds the prompts whose graphs a Handover keeps. A parsed graph takes about ten times the memory.
const handoverBytes = 4 << 20

// Handover passes parsed graphs from the part of a process that accepts submissions to the part that plans their runs, so
// that a process that does both parses a graph once. It keeps the latest; whoever finds none parses the prompt. A nil
// Handover keeps nothing. Its methods may be called concurrently.
type Handover struct {
	mu     sync.Mutex // guards the fields below
	graphs map[string]*Graph
	order  []string // of names, oldest first; some may be taken
	bytes  int      // of the prompts of graphs
}

// NewHandover returns an empty Handover.
func NewHandover() *Handover { return &Handover{graphs: map[string]*Graph{}} }

// Put keeps the graph of a job until it is taken or newer ones need its space. It does not keep a graph whose asset
// references were replaced: the run looks at these assets anew. The caller no longer changes the graph.
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

// Take returns the graph of a job, which is then the caller's, or nil.
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
