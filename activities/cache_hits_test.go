package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// ran counts how often nodes of a class ran.
type ran struct {
	mu      sync.Mutex
	byClass map[string]int
}

func (r *ran) count(class string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byClass[class]++
}

// maze holds classes whose results tell all that went into them: Mix, Show, which is an output, Tick, which is kept for
// nobody, and Grow, which expands to a graph of all of them that its seed says.
func (r *ran) maze() []*node.Class {
	optional := func(name string) node.Input { return node.Input{Name: name, Type: node.Any, Section: node.Optional} }
	kept := func(node.Args, int64) time.Duration { return time.Millisecond } // so that the store has the results
	mixed := func(class string, change func(*node.Class)) *node.Class {
		c := &node.Class{
			Name: class, Module: "nodes", Outputs: []node.Output{{Type: node.Any}},
			Inputs: []node.Input{{Name: "n", Type: node.Int}, optional("a"), optional("b")},
			Run: func(_ context.Context, call *node.Call) (node.Result, error) {
				r.count(class)
				text := digest(class, call.Args)
				res := node.Result{Outputs: []node.Value{text}, UI: map[string][]any{}}
				if call.Args["n"] == int64(1) {
					res.Outputs[0] = []any{text} // no constant, nor in a history
				}
				if class == "Show" {
					res.UI["text"] = []any{text}
				}
				return res, nil
			},
			Cost: kept,
		}
		change(c)
		return c
	}
	return []*node.Class{
		mixed("Mix", func(*node.Class) {}),
		mixed("Show", func(c *node.Class) { c.OutputNode = true }),
		mixed("Tick", func(c *node.Class) { c.Uncached = true }),
		mixed("Last", func(c *node.Class) {
			c.OutputNode, c.Uncached = true, true
			c.Cost = func(node.Args, int64) time.Duration { return time.Minute }
		}),
		{
			Name: "Grow", Module: "nodes", Outputs: []node.Output{{Type: node.Any}},
			Inputs: []node.Input{{Name: "n", Type: node.Int}, optional("a"), optional("b")}, Cost: kept,
			Run: func(_ context.Context, call *node.Call) (node.Result, error) {
				r.count("Grow")
				n, _ := call.Args["n"].(int64)
				return expandedMaze(n, call.Args["a"], call.Args["b"]), nil
			},
		},
	}
}

func digest(class string, args node.Args) string {
	raw, err := json.Marshal([]any{class, args})
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", blake3.Sum256(raw))[:12]
}

// expandedMaze is a random graph on two values; that of a seed from 100 has another within it.
func expandedMaze(seed int64, a, b node.Value) node.Result {
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	e, values := &node.Expansion{}, []node.Value{a, b, "constant"}
	for range 1 + r.IntN(5) {
		class, n := []string{"Mix", "Mix", "Show", "Tick", "Mix"}[r.IntN(5)], int64(r.IntN(3))
		if seed >= 100 && r.IntN(3) == 0 {
			class, n = "Grow", seed-100
		}
		args := node.Args{"n": n}
		for _, name := range []string{"a", "b"} {
			if v := values[r.IntN(len(values))]; v != nil {
				args[name] = v
			}
		}
		values = append(values, node.From{Node: e.Add(class, args)})
	}
	return node.Result{Expand: e, Outputs: []node.Value{values[len(values)-1]}}
}

// mazePrompt is a random prompt whose last node runs in every job. Few seeds make many parts that prompts share.
func mazePrompt(r *rand.Rand) (prompt string, outputs []string) {
	nodes := map[string]any{}
	size := 2 + r.IntN(6)
	for i := range size {
		class, inputs := []string{"Mix", "Grow", "Show", "Grow"}[r.IntN(4)], map[string]any{"n": r.IntN(3)}
		if class == "Grow" {
			inputs["n"] = r.IntN(6) + 100*r.IntN(3)
		}
		if i == size-1 {
			class = "Last"
		}
		for _, name := range []string{"a", "b"} {
			if i > 0 && r.IntN(4) > 0 {
				inputs[name] = []any{strconv.Itoa(r.IntN(i)), 0}
			}
		}
		if class == "Show" || class == "Last" {
			outputs = append(outputs, strconv.Itoa(i))
		}
		nodes[strconv.Itoa(i)] = map[string]any{"class_type": class, "inputs": inputs}
	}
	raw, err := json.Marshal(nodes)
	if err != nil {
		panic(err)
	}
	return string(raw), outputs
}

// finished runs a job as its workflow does and returns what its nodes showed and which of them were cached.
func (b *bench) finished(t *testing.T) (shown map[string]string, cached map[string]bool) {
	t.Helper()
	return b.finishedFrom(t, b.started(t), func(p activities.RunParams) activities.RunResult { return b.once(t, p) })
}

// finishedFrom is finished for a run that has begun, whose batches run runs.
func (b *bench) finishedFrom(t *testing.T, plan activities.BeginResult, run func(activities.RunParams) activities.RunResult,
) (shown map[string]string, cached map[string]bool) {
	t.Helper()
	sched, values := plan.Scheduler(), map[int][]string{}
	for _, s := range plan.Cached {
		values[s.Unit] = s.Values
	}
	for next := sched.Next(); len(next) > 0; next = sched.Next() {
		for _, batch := range next {
			res := run(b.params(sched, batch, plan.PlanHash, values))
			require.Empty(t, res.Failed)
			require.Empty(t, res.Lost)
			b.settle(sched, batch, res, values)
		}
	}
	require.True(t, sched.Finished())
	recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 10_000)
	require.NoError(t, err)
	shown, cached = map[string]string{}, map[string]bool{}
	for _, rec := range recorded {
		data, err := b.log.Decode(rec)
		require.NoError(t, err)
		if e, ok := data.(job.NodeExecutedV1); ok {
			if len(e.UI) > 0 {
				shown[e.Node] = string(e.UI)
			}
			cached[e.Node] = e.Cached
		}
	}
	return shown, cached
}

func (b *bench) settle(sched *graph.Scheduler, batch graph.Batch, res activities.RunResult, values map[int][]string) {
	for _, u := range res.Units {
		if len(u.Values) > 0 {
			values[u.Unit] = u.Values
		}
	}
	before, first := len(sched.Expansions()), sched.Size()
	sched.Done(batch.ID, res.Units)
	for _, g := range sched.Expansions()[before:] {
		for _, s := range g.Cached {
			values[first+s.Unit] = s.Values
		}
		first += len(g.Units)
	}
}

// A job shows the same with and without a cache, whatever earlier jobs left in it; and of a job that repeats another no
// node of an expansion runs, unless it or what it reads is kept for nobody.
func TestJobsWithExpansionsShowTheSameWithAndWithoutACache(t *testing.T) {
	t.Parallel()
	inside, repeated := 0, 0
	for seed := range uint64(8) {
		r, counts := rand.New(rand.NewPCG(seed, 5)), &ran{byClass: map[string]int{}}
		cache := &nodecache.Cache{Store: &shelf{entries: map[nodecache.Key]nodecache.Entry{}}}
		var values *nodevalue.Store
		for range 8 {
			prompt, outputs := mazePrompt(r)
			plain := newBench(t, prompt, outputs, counts.maze()...)
			want, cached := plain.finished(t)
			require.NotContains(t, cached, true)
			for again := range 2 {
				b := newBench(t, prompt, outputs, counts.maze()...)
				if values == nil {
					values = b.activities.Values
				}
				b.activities.Cache, b.activities.Values = cache, values
				clear(counts.byClass)
				got, cached := b.finished(t)
				require.Equal(t, want, got, "seed %d: %s", seed, prompt)
				inside += hitsInside(cached)
				if again == 1 && counts.byClass["Tick"] == 0 && !nested.MatchString(prompt) {
					require.Zero(t, ranInside(cached), "seed %d: %s", seed, prompt)
					repeated++
				}
			}
		}
	}
	require.Greater(t, inside, 100, "nodes of expansions are answered")
	require.Greater(t, repeated, 10)
}

// nested finds an expansion with another within.
var nested = regexp.MustCompile(`"n":[12]\d\d`)

func hitsInside(cached map[string]bool) (n int) {
	for id, hit := range cached {
		if strings.Contains(id, ".") && hit {
			n++
		}
	}
	return n
}

// ranInside counts the nodes of expansions that ran.
func ranInside(cached map[string]bool) (n int) {
	for id, hit := range cached {
		if strings.Contains(id, ".") && !hit {
			n++
		}
	}
	return n
}
