package graph

import (
	"container/heap"
	"slices"
)

// order sorts the nodes of the plan as ComfyUI runs them. Among the nodes that are ready, output nodes and calls of
// partner models come first, then nodes that an output node reads, then nodes two links from an output node, then the
// node that ComfyUI discovers first from the outputs. Therefore, when a node fails, the outputs that were ready
// before it are saved.
func (b *builder) order(outputs []string) {
	nodes := b.plan.Nodes
	q := &readyQueue{rank: b.ranks(), found: b.discovery(outputs)}
	readers, waits := make([][]int, len(nodes)), make([]int, len(nodes))
	for u := range nodes {
		for from := range nodes[u].producers() {
			readers[from] = append(readers[from], u)
			waits[u]++
		}
		if waits[u] == 0 {
			q.units = append(q.units, u)
		}
	}
	heap.Init(q)
	order := make([]int, 0, len(nodes))
	for q.Len() > 0 {
		u, _ := heap.Pop(q).(int)
		order = append(order, u)
		for _, r := range readers[u] {
			if waits[r]--; waits[r] == 0 {
				heap.Push(q, r)
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

// readyQueue is a heap of units that are ready.
type readyQueue struct {
	units       []int
	rank, found []int // by unit
}

// Len implements heap.Interface.
func (q *readyQueue) Len() int { return len(q.units) }

// Less implements heap.Interface.
func (q *readyQueue) Less(i, j int) bool {
	a, b := q.units[i], q.units[j]
	if q.rank[a] != q.rank[b] {
		return q.rank[a] < q.rank[b]
	}
	return q.found[a] < q.found[b]
}

// Swap implements heap.Interface.
func (q *readyQueue) Swap(i, j int) { q.units[i], q.units[j] = q.units[j], q.units[i] }

// Push implements heap.Interface.
func (q *readyQueue) Push(u any) { q.units = append(q.units, u.(int)) } //nolint:forcetypeassert // only units are pushed

// Pop implements heap.Interface.
func (q *readyQueue) Pop() any {
	last := q.units[len(q.units)-1]
	q.units = slices.Delete(q.units, len(q.units)-1, len(q.units))
	return last
}
