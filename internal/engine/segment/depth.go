package segment

import (
	"container/heap"
	"slices"
)

// depths returns, by part, how often a value left the servers on its way to the part. Two neighbours of equal depth
// can share a prompt, because no local unit lies between them. A part whose readers all run on servers moves to the
// depth of its first reader, so that fewer prompts result.
func (c *cutter) depths(parts sets) []int {
	q := c.quotient(parts)
	depth := make([]int, len(c.side))
	for _, p := range q.order {
		for _, r := range q.readers[p] {
			d := depth[p]
			if c.onServer[p] && !c.onServer[r] {
				d++
			}
			depth[r] = max(depth[r], d)
		}
	}
	for _, p := range slices.Backward(q.order) {
		if !c.onServer[p] || len(q.readers[p]) == 0 {
			continue
		}
		least := depth[q.readers[p][0]]
		for _, r := range q.readers[p] {
			if !c.onServer[r] {
				least = depth[p]
			}
			least = min(least, depth[r])
		}
		depth[p] = max(depth[p], least)
	}
	return depth
}

// quotient is a plan with its parts as units.
type quotient struct {
	order   []int         // parts, each after those that it reads, otherwise in the order of their first units
	readers map[int][]int // by part: the parts that read it, each once
}

func (c *cutter) quotient(parts sets) quotient {
	q := quotient{readers: map[int][]int{}}
	waits := map[int]int{} // by part: the number of parts that it still waits for
	for u := range c.side {
		p := parts.find(u)
		if _, ok := waits[p]; !ok {
			waits[p] = 0
		}
		for _, e := range c.out[u] {
			if r := parts.find(e.to); r != p {
				q.readers[p] = append(q.readers[p], r)
			}
		}
	}
	for p := range q.readers {
		slices.Sort(q.readers[p])
		q.readers[p] = slices.Compact(q.readers[p])
		for _, r := range q.readers[p] {
			waits[r]++
		}
	}
	ready := &smallest{}
	for p, n := range waits {
		if n == 0 {
			heap.Push(ready, p)
		}
	}
	for ready.Len() > 0 {
		p, _ := heap.Pop(ready).(int)
		q.order = append(q.order, p)
		for _, r := range q.readers[p] {
			if waits[r]--; waits[r] == 0 {
				heap.Push(ready, r)
			}
		}
	}
	return q
}

// smallest is a heap of parts.
type smallest []int

// Len implements heap.Interface.
func (h smallest) Len() int { return len(h) }

// Less implements heap.Interface.
func (h smallest) Less(i, j int) bool { return h[i] < h[j] }

// Swap implements heap.Interface.
func (h smallest) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *smallest) Push(x any) { *h = append(*h, x.(int)) } //nolint:forcetypeassert // only parts are pushed

// Pop implements heap.Interface.
func (h *smallest) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
