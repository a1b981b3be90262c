package graph

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// order sorts the nodes of the plan as ComfyUI runs them. Among the nodes that are ready, output nodes and calls of
// partner models come first, then nodes that an output node reads, then nodes two links from an output node, then the
// node that ComfyUI discovers first from the outputs. Therefore, when a node fails, the outputs that were ready
// before it are saved.
func (b *builder) order(outputs []string) {
	nodes := b.plan.Nodes
	rank, found := b.ranks(), b.discovery(outputs)
	before := func(a, b int) int { return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(found[a], found[b])) }
	readers, waits := make([][]int, len(nodes)), make([]int, len(nodes))
	var ready []int // in the order in which they run
	release := func(u int) {
		at, _ := slices.BinarySearchFunc(ready, u, before)
		ready = slices.Insert(ready, at, u)
	}
	for u := range nodes {
		for from := range nodes[u].producers() {
			readers[from] = append(readers[from], u)
			waits[u]++
		}
		if waits[u] == 0 {
			release(u)
		}
	}
	order := make([]int, 0, len(nodes))
	for len(ready) > 0 {
		u := ready[0]
		ready = ready[1:]
		order = append(order, u)
		for _, r := range readers[u] {
			if waits[r]--; waits[r] == 0 {
				release(r)
			}
		}
	}
	b.renumber(order)
}

// producers returns the units that a node reads, directly or through lazy inputs.
func (n *PlanNode) producers() map[int]bool {
	from := make(map[int]bool, len(n.Links))
	for _, link := range n.Links {
		from[link.Unit] = true
	}
	return from
}

// farFromOutput is the rank of a unit that is more than two links from an output node.
const farFromOutput = 3

// ranks returns the rank of each unit: its distance from an output node in links, without lazy links, and at most
// farFromOutput. Calls of partner models rank as output nodes, because they only wait.
func (b *builder) ranks() []int {
	nodes := b.plan.Nodes
	distance, ranks := make([]int, len(nodes)), make([]int, len(nodes))
	for u := range distance {
		distance[u] = farFromOutput
	}
	for u := len(nodes) - 1; u >= 0; u-- { // consumers come after the nodes that they read
		class, _ := b.g.byID[nodes[u].ID].classIn(b.classes)
		if class.OutputNode {
			distance[u] = 0
		}
		if ranks[u] = distance[u]; class.Partner {
			ranks[u] = 0
		}
		for name, link := range nodes[u].Links {
			if !nodes[u].IsLazy(name) {
				distance[link.Unit] = min(distance[link.Unit], distance[u]+1)
			}
		}
	}
	return ranks
}

// discovery returns, by unit, the order in which ComfyUI discovers the units. ComfyUI follows the inputs of each
// output, beginning with the last input.
func (b *builder) discovery(outputs []string) []int {
	found, count := make([]int, len(b.plan.Nodes)), 0
	for _, id := range outputs {
		for stack := []int{b.units[id]}; len(stack) > 0; {
			u := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if found[u] != 0 {
				continue
			}
			count++
			found[u] = count
			pn := &b.plan.Nodes[u]
			for _, in := range b.g.byID[pn.ID].Inputs {
				if link, linked := pn.Links[in.Name]; linked {
					stack = append(stack, link.Unit)
				}
			}
		}
	}
	return found
}

// renumber puts the units in the given order.
func (b *builder) renumber(order []int) {
	index, nodes := make([]int, len(order)), make([]PlanNode, len(order))
	for to, from := range order {
		index[from], nodes[to] = to, b.plan.Nodes[from]
	}
	for i := range nodes {
		for name, link := range nodes[i].Links {
			nodes[i].Links[name] = Link{Unit: index[link.Unit], Slot: link.Slot}
		}
		b.units[nodes[i].ID] = i
	}
	b.plan.Nodes = nodes
}

// sortedKeys returns the keys of m sorted, because results must not depend on the order of a map.
func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// Downstream returns a node and all nodes that read its outputs, directly or through others, in document order. It
// returns nil for a node that the graph does not have.
func (g *Graph) Downstream(id string) []string {
	if _, ok := g.Node(id); !ok {
		return nil
	}
	readers := map[string][]string{}
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			if ref, _, good := asReference(in.Value); good {
				readers[ref.node] = append(readers[ref.node], n.ID)
			}
		}
	}
	reached := map[string]bool{id: true}
	for pending := []string{id}; len(pending) > 0; {
		next := pending[0]
		pending = pending[1:]
		for _, reader := range readers[next] {
			if !reached[reader] {
				reached[reader] = true
				pending = append(pending, reader)
			}
		}
	}
	var found []string
	for _, n := range g.Nodes {
		if reached[n.ID] {
			found = append(found, n.ID)
		}
	}
	return found
}

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
		u := Unit{
			Millis: int64((n.Cost + time.Millisecond - 1) / time.Millisecond), Output: n.Output, Given: n.Given != "",
			Segment: n.Segment != nil, Waits: n.Waits,
		}
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
