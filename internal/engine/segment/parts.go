package segment

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// sets are disjoint sets of units. The smallest member of a set names it.
type sets []int

func newSets(n int) sets {
	s := make(sets, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func (s sets) find(u int) int {
	for s[u] != u {
		s[u] = s[s[u]]
		u = s[u]
	}
	return u
}

func (s sets) union(a, b int) {
	a, b = s.find(a), s.find(b)
	s[max(a, b)] = min(a, b)
}

// parts joins the units of servers to segments: first units that must not be separated, then parts that wait for each
// other, then all neighbours that can run in one prompt without a value leaving the server in between and coming
// back, then unconnected parts.
func (c *cutter) parts(able func(*graph.PlanNode) []bool) (sets, error) {
	parts := newSets(len(c.side))
	c.eachServerEdge(func(e edge) {
		if !e.crosses {
			parts.union(e.from, e.to)
		}
	})
	if err := c.joinCycles(parts); err != nil {
		return nil, err
	}
	depth := c.depths(parts)
	c.eachServerEdge(func(e edge) {
		if depth[parts.find(e.from)] == depth[parts.find(e.to)] {
			parts.union(e.from, e.to)
		}
	})
	if able != nil {
		c.joinUnconnected(parts, depth, able)
	}
	return parts, nil
}

// group is a part, or several that were joined, and the servers that can run it.
type group struct {
	part int
	on   []bool
}

// joinUnconnected joins parts of equal depth that certainly run and that one server can run.
func (c *cutter) joinUnconnected(parts sets, depth []int, able func(*graph.PlanNode) []bool) {
	certain := c.certain()
	runs, on := make([]bool, len(c.side)), make([][]bool, len(c.side)) // by part
	for u := range c.side {
		p := parts.find(u)
		runs[p] = runs[p] || certain[u]
		if c.onServer[u] {
			on[p] = both(on[p], able(&c.plan.Nodes[u]))
		}
	}
	groups := map[int][]*group{} // by depth
next:
	for p := range c.side {
		if parts.find(p) != p || !runs[p] || !slices.Contains(on[p], true) {
			continue
		}
		for _, g := range groups[depth[p]] {
			if shared := both(g.on, on[p]); slices.Contains(shared, true) {
				parts.union(g.part, p)
				g.on = shared
				continue next
			}
		}
		groups[depth[p]] = append(groups[depth[p]], &group{p, on[p]})
	}
}

// both returns the servers of two sets. A nil set has all servers.
func both(a, b []bool) []bool {
	if a == nil {
		return b
	}
	shared := make([]bool, len(b))
	for i := range b {
		shared[i] = a[i] && b[i]
	}
	return shared
}

// certain returns the units that run in any case. The others are read only by inputs whose nodes may not ask for them.
func (c *cutter) certain() []bool {
	certain := make([]bool, len(c.side))
	for u := len(certain) - 1; u >= 0; u-- { // units come after the units that they read
		pn := &c.plan.Nodes[u]
		certain[u] = certain[u] || pn.Output
		for _, e := range c.in[u] {
			certain[e.from] = certain[e.from] || certain[u] && !pn.IsLazy(e.input)
		}
	}
	return certain
}

// eachServerEdge calls f for the edges between units of servers.
func (c *cutter) eachServerEdge(f func(edge)) {
	for u := range c.in {
		for _, e := range c.in[u] {
			if c.onServer[e.from] && c.onServer[e.to] {
				f(e)
			}
		}
	}
}

// joinCycles joins parts that wait for each other. It refuses the plan if a local unit lies between them.
func (c *cutter) joinCycles(parts sets) error {
	members := map[int][]int{}
	for u := range c.side {
		root := parts.find(u)
		members[root] = append(members[root], u)
	}
	for _, cycle := range c.cycles(parts, members) {
		for _, part := range cycle {
			if !c.onServer[part] {
				return c.between(cycle, part, members)
			}
		}
		for _, part := range cycle[1:] {
			parts.union(cycle[0], part)
		}
	}
	return nil
}

// between returns the error for a cycle that a local unit separates. It names an edge whose value cannot cross, from
// a unit that does not depend on the local unit to one that does.
func (c *cutter) between(cycle []int, here int, members map[int][]int) error {
	behind := make([]bool, len(c.side))
	behind[here] = true
	for u := here + 1; u < len(c.side); u++ { // units come after the units that they read
		behind[u] = slices.ContainsFunc(c.in[u], func(e edge) bool { return behind[e.from] })
	}
	for _, part := range cycle {
		for _, u := range members[part] {
			for _, e := range c.in[u] {
				if !e.crosses && behind[u] && !behind[e.from] && c.onServer[u] && c.onServer[e.from] {
					return c.refuse(e)
				}
			}
		}
	}
	return c.refuse(c.in[here][0]) // not reached: every cycle through this unit has such an edge
}

// cycles returns the sets of two or more parts in which each part waits for all others (Tarjan's algorithm, with its
// own stack).
func (c *cutter) cycles(parts sets, members map[int][]int) [][]int {
	t := &tarjan{cutter: c, parts: parts, members: members, index: map[int]int{}, low: map[int]int{}, open: map[int]bool{}}
	for u := range c.side {
		if root := parts.find(u); t.index[root] == 0 {
			t.visit(root)
		}
	}
	return t.found
}

type tarjan struct {
	*cutter
	parts   sets
	members map[int][]int
	index   map[int]int // from 1, in the order of visits
	low     map[int]int
	open    map[int]bool
	stack   []int
	found   [][]int
}

// call is a part that is being visited, and the progress of the visit.
type call struct {
	part int
	next []int // parts that read this part and are not visited yet
}

func (t *tarjan) visit(root int) {
	for calls := []call{t.enter(root)}; len(calls) > 0; {
		top := &calls[len(calls)-1]
		if len(top.next) > 0 {
			next := top.next[0]
			top.next = top.next[1:]
			switch {
			case t.index[next] == 0:
				calls = append(calls, t.enter(next))
			case t.open[next]:
				t.low[top.part] = min(t.low[top.part], t.index[next])
			}
			continue
		}
		part := top.part
		calls = calls[:len(calls)-1]
		if len(calls) > 0 {
			below := calls[len(calls)-1].part
			t.low[below] = min(t.low[below], t.low[part])
		}
		t.leave(part)
	}
}

func (t *tarjan) enter(part int) call {
	t.index[part] = len(t.index) + 1
	t.low[part] = t.index[part]
	t.open[part] = true
	t.stack = append(t.stack, part)
	return call{part, t.readers(part)}
}

// leave closes a part. The parts above it on the stack wait for it, and it waits for them.
func (t *tarjan) leave(part int) {
	if t.low[part] != t.index[part] {
		return
	}
	at := slices.Index(t.stack, part)
	set := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, p := range set {
		t.open[p] = false
	}
	if len(set) > 1 {
		slices.Sort(set)
		t.found = append(t.found, set)
	}
}

// readers returns the other parts that read a part, each once.
func (t *tarjan) readers(part int) []int {
	var out []int
	for _, u := range t.members[part] {
		for _, e := range t.out[u] {
			if to := t.parts.find(e.to); to != part {
				out = append(out, to)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
