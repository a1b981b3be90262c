package segment_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/segment"
)

// classes are named "<side><type>", such as "sMODEL": a class of that side with one output of that type.
func classes(t testing.TB) *node.Registry {
	t.Helper()
	run := func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil }
	var all []*node.Class
	for _, side := range []string{"h", "s", "e"} {
		for _, kind := range []node.Type{node.Image, "MODEL", node.Int} {
			all = append(all, &node.Class{Name: side + string(kind), Run: run, Outputs: []node.Output{{Type: kind}}})
		}
		all = append(all, &node.Class{
			Name: side + "Any", Run: run, Inputs: []node.Input{{Name: "0", Type: node.Any, MatchTemplate: "T"}},
			Outputs: []node.Output{{Type: node.Any, MatchTemplate: "T"}},
		})
	}
	r, err := node.NewRegistry(all...)
	require.NoError(t, err)
	return r
}

func side(class string) segment.Side {
	switch class[0] {
	case 's':
		return segment.Server
	case 'e':
		return segment.Either
	}
	return segment.Here
}

// plan builds a plan of lines "id class read read…"; the last unit is an output.
func plan(lines ...string) *graph.Plan {
	p := &graph.Plan{}
	index := map[string]int{}
	for _, line := range lines {
		words := strings.Fields(line)
		n := graph.PlanNode{ID: words[0], Class: words[1], Links: map[string]graph.Link{}}
		for i, from := range words[2:] {
			n.Links[strconv.Itoa(i)] = graph.Link{Unit: index[from]}
		}
		index[words[0]] = len(p.Nodes)
		p.Nodes = append(p.Nodes, n)
	}
	p.Nodes[len(p.Nodes)-1].Output = true
	return p
}

// shown formats a cut: units in order, segments in brackets.
func shown(p *graph.Plan) string {
	var parts []string
	for _, n := range p.Nodes {
		if n.Segment == nil {
			parts = append(parts, n.ID)
			continue
		}
		var ids []string
		for _, in := range n.Segment.Nodes {
			ids = append(ids, in.ID)
		}
		parts = append(parts, "["+strings.Join(ids, " ")+"]")
	}
	return strings.Join(parts, " ")
}

func TestCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan *graph.Plan
		want string
	}{
		"a plan without servers stays": {plan("a eIMAGE", "b hIMAGE a"), "a b"},
		"text to image is one segment": {
			plan("ckpt sMODEL", "latent eIMAGE", "sample sIMAGE ckpt latent", "save eIMAGE sample"), "[ckpt latent sample save]",
		},
		"what is only here stands after the segment it reads": {
			plan("sample sIMAGE", "partner hIMAGE sample", "save eIMAGE partner"), "[sample] partner save",
		},
		"a value that comes back makes a second segment": {
			plan("a sIMAGE", "b hIMAGE a", "c sIMAGE b a"), "[a] b [c]",
		},
		"a loader that only the second segment reads goes with it": {
			plan("ckpt sMODEL", "a sIMAGE", "b hIMAGE a", "c sIMAGE b ckpt"), "[a] b [ckpt c]",
		},
		"parts without a tie are segments of their own": {
			plan("a sIMAGE", "b sIMAGE", "c hIMAGE a b"), "[a] [b] c",
		},
		"either stays here where nothing ties it to a server": {
			plan("load eIMAGE", "scale eIMAGE load", "partner hIMAGE scale", "a sIMAGE partner"), "load scale partner [a]",
		},
		"either goes with a class that is only here when its value cannot cross": {
			plan("e eMODEL", "h hIMAGE e", "s sIMAGE h"), "e h [s]",
		},
		"a branch beside keeps its segment whole": {
			plan("a sIMAGE", "h hIMAGE a", "b sIMAGE a", "c eIMAGE b", "d hIMAGE h c"), "[a b c] h d",
		},
		"the type of a switch is that of what it reads": {
			plan("a sMODEL", "any eAny a", "b sIMAGE any"), "[a any b]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cut, err := segment.Cut(c.plan, classes(t), side, nil)
			require.NoError(t, err)
			require.Equal(t, c.want, shown(cut))
		})
	}
}

// able says that nodes whose ids begin with x or y each need a server of their own, and all others can run on both.
func able(n *graph.PlanNode) []bool { return []bool{n.ID[0] != 'y', n.ID[0] != 'x'} }

// Unconnected parts that one server can run are one prompt, as on the server alone.
func TestUnconnectedPartsOfOneServerAreJoined(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan *graph.Plan
		lazy string // node whose first input is lazy
		want string
	}{
		"beside each other":        {plan("a sIMAGE", "b sIMAGE", "c hIMAGE a b"), "", "[a b] c"},
		"on different servers":     {plan("xa sIMAGE", "yb sIMAGE", "c hIMAGE xa yb"), "", "[xa] [yb] c"},
		"on either of two servers": {plan("xa sIMAGE", "yb sIMAGE", "c sIMAGE", "d hIMAGE xa yb c"), "", "[xa c] [yb] d"},
		"with a local node between": {
			plan("a sIMAGE", "h hIMAGE a", "b sIMAGE h", "c sIMAGE", "d hIMAGE b c"), "", "[a c] h [b] d",
		},
		"one that may not be asked for": {plan("a sIMAGE", "b sIMAGE", "c hIMAGE a b"), "c", "[a] [b] c"},
		"one behind a lazy input, read by another node": {
			plan("a sIMAGE", "b sIMAGE", "c hIMAGE a b", "d hIMAGE c a"), "c", "[a b] c d",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range c.plan.Nodes {
				if c.plan.Nodes[i].ID == c.lazy {
					c.plan.Nodes[i].Lazy = []string{"0"}
				}
			}
			cut, err := segment.Cut(c.plan, classes(t), side, able)
			require.NoError(t, err)
			require.Equal(t, c.want, shown(cut))
		})
	}
}

func TestAValueThatCannotCrossIsRefusedWithItsEdge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan     *graph.Plan
		from, to string
	}{
		"read by a class that is only here":           {plan("a sMODEL", "b hIMAGE a"), "a", "b"},
		"around a class that is only here":            {plan("m sMODEL", "a sIMAGE m", "h hIMAGE a", "b sIMAGE h m"), "m", "b"},
		"through either, read by one that is here":    {plan("a sMODEL", "e eMODEL a", "h hIMAGE e"), "a", "e"},
		"around one, through a chain of such classes": {plan("m sMODEL", "n sMODEL m", "a sIMAGE m", "h hIMAGE a", "b sIMAGE n h"), "n", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := segment.Cut(c.plan, classes(t), side, nil)
			var edge *segment.EdgeError
			require.ErrorAs(t, err, &edge)
			require.Equal(t, []any{c.from, c.to, node.Type("MODEL")}, []any{edge.From, edge.To, edge.Type})
		})
	}
}

// random returns a plan of nodes that each read up to three of the nodes before them.
func random(r *rand.Rand, size int) *graph.Plan {
	names := []string{"hIMAGE", "hINT", "sIMAGE", "sMODEL", "sINT", "eIMAGE", "eINT", "eMODEL", "sIMAGE", "eAny"}
	var lines []string
	for u := range size {
		line := fmt.Sprintf("n%d %s", u, names[r.IntN(len(names))])
		for range min(u, r.IntN(4)) {
			line += fmt.Sprintf(" n%d", max(0, u-1-r.IntN(min(u, 6))))
		}
		lines = append(lines, line)
	}
	return plan(lines...)
}

func TestCrosses(t *testing.T) {
	t.Parallel()
	for _, kind := range []node.Type{
		node.Image, node.Mask, segment.Latent, node.Audio, node.Video, node.String, node.Int, node.Float, node.Boolean, node.Combo,
	} {
		require.True(t, segment.Crosses(kind), kind)
	}
	for _, kind := range []node.Type{"MODEL", "CLIP", "VAE", "CONDITIONING", "SIGMAS", "GUIDER", node.Any} {
		require.False(t, segment.Crosses(kind), kind)
	}
}

func TestEveryCutIsWholeAndKeepsTheOrder(t *testing.T) {
	t.Parallel()
	cuts, refused := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		p := random(r, 2+r.IntN(25))
		able := []func(*graph.PlanNode) []bool{nil, able}[seed%2]
		cut, err := segment.Cut(p, classes(t), side, able)
		var edge *segment.EdgeError
		if errors.As(err, &edge) {
			refused++
			require.False(t, segment.Crosses(edge.Type), "seed %d", seed)
			continue
		}
		require.NoError(t, err)
		cuts++
		requireWhole(t, p, cut, seed)
	}
	require.Greater(t, cuts, 500)
	require.Greater(t, refused, 500)
}

// requireWhole checks the properties of every cut.
func requireWhole(t *testing.T, p, cut *graph.Plan, seed uint64) {
	t.Helper()
	require.Equal(t, len(p.Nodes), cut.Size(), "seed %d: every node once", seed)
	unit, inner := map[string]int{}, map[string]int{}
	for u := range cut.Nodes {
		n := &cut.Nodes[u]
		for name, link := range n.Links {
			require.Less(t, link.Unit, u, "seed %d: unit %d waits for one behind it at %s", seed, u, name)
		}
		if n.Segment == nil {
			unit[n.ID] = u
			require.NotEqual(t, segment.Server, side(n.Class), "seed %d: node %s", seed, n.ID)
			continue
		}
		for i, in := range n.Segment.Nodes {
			unit[in.ID], inner[in.ID] = u, i
			require.NotEqual(t, segment.Here, side(in.Class), "seed %d: node %s", seed, in.ID)
		}
	}
	require.Len(t, unit, len(p.Nodes), "seed %d: every node once", seed)
	for _, n := range p.Nodes {
		for name, link := range n.Links {
			requireLink(t, p, cut, unit, inner, &n, name, link, seed)
		}
	}
}

// requireLink checks that a link of the plan leads to the same output in the cut.
func requireLink(t *testing.T, p, cut *graph.Plan, unit, inner map[string]int, n *graph.PlanNode, name string, link graph.Link,
	seed uint64,
) {
	t.Helper()
	from := &p.Nodes[link.Unit]
	at, by := &cut.Nodes[unit[n.ID]], &cut.Nodes[unit[from.ID]]
	if at == by && at.Segment != nil {
		require.Equal(t, graph.Link{Unit: inner[from.ID], Slot: link.Slot}, at.Segment.Nodes[inner[n.ID]].Links[name], "seed %d", seed)
		return
	}
	to := at.Links[name]
	if at.Segment != nil {
		for _, in := range at.Segment.Inputs {
			if in.Node == inner[n.ID] && in.Input == name {
				to = at.Links[in.From]
				require.True(t, segment.Crosses(in.Type), "seed %d: %s at %s", seed, in.Type, n.ID)
			}
		}
	}
	require.Equal(t, unit[from.ID], to.Unit, "seed %d: %s reads %s", seed, n.ID, from.ID)
	if by.Segment != nil {
		out := by.Segment.Outputs[to.Slot]
		require.Equal(t, []any{inner[from.ID], link.Slot}, []any{out.Node, out.Slot}, "seed %d", seed)
		require.True(t, segment.Crosses(out.Type), "seed %d", seed)
	}
}

func TestCutIsDeterministic(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		first, err := segment.Cut(random(rand.New(rand.NewPCG(seed, 9)), 30), classes(t), side, nil)
		again, errAgain := segment.Cut(random(rand.New(rand.NewPCG(seed, 9)), 30), classes(t), side, nil)
		require.Equal(t, err, errAgain)
		require.Equal(t, first, again)
	}
}

// A chain of thousands of nodes, and thousands of independent nodes, are cut in bounded time.
func TestLargeGraphsAreCutQuickly(t *testing.T) {
	t.Parallel()
	const size = 5000
	chain, wide := []string{"n0 sIMAGE"}, []string{"n0 sMODEL"}
	for u := 1; u < size; u++ {
		chain = append(chain, fmt.Sprintf("n%d sIMAGE n%d", u, u-1))
		wide = append(wide, fmt.Sprintf("n%d sIMAGE n0", u))
	}
	began := time.Now()
	apart := []string{}
	for u := range size - 1 {
		apart = append(apart, fmt.Sprintf("n%d sIMAGE", u))
	}
	all := "n sIMAGE"
	for u := range size - 1 {
		all += fmt.Sprintf(" n%d", u)
	}
	for _, lines := range [][]string{chain, wide, append(apart, all)} {
		cut, err := segment.Cut(plan(lines...), classes(t), side, able)
		require.NoError(t, err)
		require.Len(t, cut.Nodes, 1)
		require.Equal(t, size, cut.Size())
	}
	require.Less(t, time.Since(began), time.Minute)
}
