package nodecache_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

var scope = nodecache.Scope{Account: "a", Surface: "cloud"}

// registry holds the class Source, changed as a case wants it, and Join.
func registry(t *testing.T, change func(*node.Class)) *node.Registry {
	t.Helper()
	run := func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil }
	source := &node.Class{Name: "Source", Module: "nodes", Run: run, Outputs: []node.Output{{Type: node.Any}, {Type: node.Any}}}
	if change != nil {
		change(source)
	}
	r, err := node.NewRegistry(source, &node.Class{Name: "Join", Module: "nodes", Run: run, Outputs: []node.Output{{Type: node.Any}}})
	require.NoError(t, err)
	return r
}

func plain(*node.Class, node.Args) (string, error) { return "", nil }

// pair is a source and a node that reads one of its outputs.
func pair(ids string, constant any, slot int) *graph.Plan {
	return &graph.Plan{Nodes: []graph.PlanNode{
		{ID: ids + "1", Class: "Source", Constants: node.Args{"n": constant}},
		{ID: ids + "2", Class: "Join", Links: map[string]graph.Link{"x": {Unit: 0, Slot: slot}}, Output: true},
	}}
}

func TestKeyDependsOnWhatChangesTheResult(t *testing.T) {
	t.Parallel()
	base := nodecache.Keys(scope, pair("", int64(1), 0), registry(t, nil), plain)
	require.False(t, base[1].IsZero())
	require.Equal(t, base, nodecache.Keys(scope, pair("other", int64(1), 0), registry(t, nil), plain), "ids of nodes are no part of a key")

	prompt := func(c *node.Class) { c.Inputs = []node.Input{{Name: "prompt", Type: "PROMPT", Section: node.Hidden}} }
	require.Equal(t, base, nodecache.Keys(scope, pair("other", int64(1), 0), registry(t, prompt), plain), "the class does not ask for ids")
	idOf := func(c *node.Class) { c.Inputs = []node.Input{{Name: "id", Type: "UNIQUE_ID", Section: node.Hidden}} }
	for name, keys := range map[string][]nodecache.Key{
		"a constant":          nodecache.Keys(scope, pair("", int64(2), 0), registry(t, nil), plain),
		"its type":            nodecache.Keys(scope, pair("", 1.0, 0), registry(t, nil), plain),
		"text for a number":   nodecache.Keys(scope, pair("", "1", 0), registry(t, nil), plain),
		"the output read":     nodecache.Keys(scope, pair("", int64(1), 1), registry(t, nil), plain),
		"the account":         nodecache.Keys(nodecache.Scope{Account: "b", Surface: "cloud"}, pair("", int64(1), 0), registry(t, nil), plain),
		"the surface":         nodecache.Keys(nodecache.Scope{Account: "a", Surface: "v2"}, pair("", int64(1), 0), registry(t, nil), plain),
		"the class's version": nodecache.Keys(scope, pair("", int64(1), 0), registry(t, func(c *node.Class) { c.Version = 1 }), plain),
		"a file's content": nodecache.Keys(scope, pair("", int64(1), 0), registry(t, nil),
			func(*node.Class, node.Args) (string, error) { return "blake3:1", nil }),
		"its own id, hidden": nodecache.Keys(scope, pair("x", int64(1), 0), registry(t, idOf), plain),
		"its own id, not idempotent": nodecache.Keys(scope, pair("y", int64(1), 0), registry(t, func(c *node.Class) { c.NotIdempotent = true }),
			plain),
	} {
		require.NotEqual(t, base[1], keys[1], name)
		require.False(t, keys[1].IsZero(), name)
	}
	two, one := pair("", int64(1), 0), pair("", int64(1), 0)
	two.Nodes[0].Constants["o"] = int64(2)
	pad := strings.Repeat("\x00", 8)
	one.Nodes[0].Constants = node.Args{strings.Join([]string{"n", "int64", "1", "constant", "o"}, pad): int64(2)}
	require.NotEqual(t, nodecache.Keys(scope, two, registry(t, nil), plain), nodecache.Keys(scope, one, registry(t, nil), plain),
		"a name that reads like two constants")
}

func TestUncacheableUnitAndDependentsHaveNoKey(t *testing.T) {
	t.Parallel()
	changing := registry(t, func(c *node.Class) { c.Uncached = true })
	unknown := func(*node.Class, node.Args) (string, error) { return "", errors.New("no such file") }
	for name, keys := range map[string][]nodecache.Key{
		"a class of changing results": nodecache.Keys(scope, pair("", int64(1), 0), changing, plain),
		"a file that is not there":    nodecache.Keys(scope, pair("", int64(1), 0), registry(t, nil), unknown),
	} {
		require.True(t, keys[0].IsZero(), name)
		require.True(t, keys[1].IsZero(), name)
	}
	linked := &graph.Plan{Nodes: []graph.PlanNode{
		{ID: "1", Class: "Join"}, {ID: "2", Class: "Source", Links: map[string]graph.Link{"file": {Unit: 0}}},
	}}
	loads := registry(t, func(c *node.Class) {
		c.Inputs = []node.Input{{Name: "file", Type: node.Combo, Folder: node.FolderInput}}
	})
	require.True(t, nodecache.Keys(scope, linked, loads, plain)[1].IsZero(), "which file it loads shows only when it runs")
}

// A value that was handed to an expansion is known by its content, whichever job it is stored for.
func TestHandedValueIsKeyedByItsContent(t *testing.T) {
	t.Parallel()
	handed := func(ref string, value node.Value) nodecache.Key {
		digest, err := nodecache.Digest(value)
		require.NoError(t, err)
		plan := &graph.Plan{Nodes: []graph.PlanNode{
			{ID: "value", Given: ref, Digest: digest},
			{ID: "2", Class: "Join", Links: map[string]graph.Link{"x": {Unit: 0}}, Output: true},
		}}
		return nodecache.Keys(scope, plan, registry(t, nil), plain)[1]
	}
	im, err := raster.NewImage8(1, 1, 2, 3, []byte{1, 2, 3, 4, 5, 6})
	require.NoError(t, err)
	other, err := raster.NewImage8(1, 2, 1, 3, []byte{1, 2, 3, 4, 5, 6})
	require.NoError(t, err)
	base := handed("of one job", im)
	require.False(t, base.IsZero())
	require.Equal(t, base, handed("of another", im))
	seen := map[nodecache.Key]bool{base: true}
	for _, value := range []node.Value{other, node.List{im}, "1", int64(1), 1.0, true, nil, []any{"x"}, &media.Video{Frames: im, FPS: 1}} {
		key := handed("of one job", value)
		require.False(t, key.IsZero(), "%T", value)
		require.False(t, seen[key], "%T", value)
		seen[key] = true
	}
	require.True(t, handed("r", &media.Video{File: "clip.mp4"}).IsZero(), "another file may have that name tomorrow")
	require.True(t, handed("r", node.List{im, &media.Video{File: "clip.mp4"}}).IsZero())
	_, err = nodecache.Digest(func() {})
	require.Error(t, err, "what cannot be stored has no content")
}

// random is a plan of sources and joins, each reading some before it.
func random(r *rand.Rand, size int) *graph.Plan {
	p := &graph.Plan{}
	for u := range size {
		n := graph.PlanNode{ID: strconv.Itoa(u), Class: "Source", Constants: node.Args{"n": int64(u)}, Links: map[string]graph.Link{}}
		if u > 0 {
			n.Class = "Join"
			for i := range 1 + r.IntN(3) {
				n.Links[strconv.Itoa(i)] = graph.Link{Unit: r.IntN(u)}
			}
		}
		p.Nodes = append(p.Nodes, n)
	}
	p.Nodes[size-1].Output = true
	return p
}

func TestKeyChangesForDependentsOnly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		plan := random(r, 2+r.IntN(20))
		before := nodecache.Keys(scope, plan, registry(t, nil), plain)
		changed := r.IntN(len(plan.Nodes))
		plan.Nodes[changed].Constants["n"] = int64(-1)
		after := nodecache.Keys(scope, plan, registry(t, nil), plain)
		reached := make([]bool, len(plan.Nodes))
		for u, n := range plan.Nodes {
			reached[u] = u == changed
			for _, link := range n.Links {
				reached[u] = reached[u] || reached[link.Unit]
			}
			require.Equal(t, reached[u], before[u] != after[u], "seed %d, unit %d", seed, u)
		}
	}
}

func TestScheduledUnitsHaveTheirInputs(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		plan := random(r, 2+r.IntN(20))
		hits := map[int]nodecache.Entry{}
		for u := range plan.Nodes {
			if r.IntN(3) == 0 {
				hits[u] = nodecache.Entry{}
				if r.IntN(2) == 0 {
					hits[u] = nodecache.Entry{Values: []string{"x"}}
				}
			}
		}
		a := nodecache.Resolve(plan, hits, func(e nodecache.Entry) bool { return len(e.Values) > 0 })
		skipped := map[int]bool{}
		for _, u := range a.Units {
			skipped[u] = true
		}
		needed := map[int]bool{len(plan.Nodes) - 1: true}
		for u := len(plan.Nodes) - 1; u >= 0; u-- {
			if !needed[u] || skipped[u] {
				continue
			}
			for _, link := range plan.Nodes[u].Links {
				needed[link.Unit] = true
				if skipped[link.Unit] {
					require.True(t, a.Values[link.Unit], "seed %d: unit %d reads %d, which hands nothing on", seed, u, link.Unit)
					require.NotEmpty(t, a.Hits[link.Unit].Values)
				}
			}
		}
	}
}

func TestUnusedLazyBranchIsNotReportedAsCached(t *testing.T) {
	t.Parallel()
	plan := &graph.Plan{Nodes: []graph.PlanNode{
		{ID: "1", Class: "Source"},
		{ID: "2", Class: "Source"},
		{ID: "3", Class: "Join", Links: map[string]graph.Link{"a": {Unit: 0}, "b": {Unit: 1}}, Lazy: []string{"b"}, Output: true},
	}}
	a := nodecache.Resolve(plan, map[int]nodecache.Entry{2: {}}, func(nodecache.Entry) bool { return false })
	require.Equal(t, []int{0, 2}, a.Units)
}

// What a segment gave counts for the job that ran it and its retries, and only while everything that it reads is the same.
func TestKeysOfSegments(t *testing.T) {
	t.Parallel()
	plan := func(constant any, read int) *graph.Plan {
		inner := graph.PlanNode{ID: "s", Class: "Join", Constants: node.Args{"n": constant}}
		return &graph.Plan{Nodes: []graph.PlanNode{
			{ID: "a", Class: "Source", Constants: node.Args{"n": int64(1)}},
			{ID: "segment:s", Links: map[string]graph.Link{"0": {Unit: 0}}, Segment: &graph.Segment{
				Nodes: []graph.PlanNode{inner}, Inputs: []graph.SegmentIn{{Input: "in", From: "0"}}, Outputs: []graph.SegmentOut{{Slot: read}},
			}},
			{ID: "b", Class: "Join", Links: map[string]graph.Link{"in": {Unit: 1}}},
		}}
	}
	of := func(job string, p *graph.Plan, change func(*node.Class)) []nodecache.Key {
		return nodecache.Keys(nodecache.Scope{Account: "a", Surface: "cloud", Job: job}, p, registry(t, change), plain)
	}
	base := of("j", plan("x", 0), nil)
	require.False(t, base[1].IsZero())
	require.False(t, base[2].IsZero(), "what stands behind a segment has a key, too")
	require.Equal(t, base, of("j", plan("x", 0), nil))
	require.Equal(t, base[0], of("k", plan("x", 0), nil)[0], "native nodes are shared between jobs")
	for name, keys := range map[string][]nodecache.Key{
		"another job":      of("k", plan("x", 0), nil),
		"another constant": of("j", plan("y", 0), nil),
		"another output":   of("j", plan("x", 1), nil),
		"another input":    of("j", plan("x", 0), func(c *node.Class) { c.Version = 7 }),
	} {
		require.NotEqual(t, base[1], keys[1], name)
		require.NotEqual(t, base[2], keys[2], name)
	}
	require.True(t, of("j", plan("x", 0), func(c *node.Class) { c.Uncached = true })[1].IsZero(), "what it reads may be another each time")
	require.True(t, of("", plan("x", 0), nil)[1].IsZero())
}
