package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// firstBatch runs the first batch of a run.
func (b *bench) firstBatch(t *testing.T) (*graph.Scheduler, graph.Batch, activities.RunResult, activities.BeginResult) {
	t.Helper()
	plan := b.begin(t)
	sched := plan.Scheduler()
	batch := sched.Next()[0]
	return sched, batch, b.once(t, b.params(sched, batch, plan.PlanHash, nil)), plan
}

// storedExpansion returns the stored graph of the node that expanded in a batch, and its shape.
func (b *bench) storedExpansion(t *testing.T, res activities.RunResult) (raw []byte, stored graph.Expansion, shape graph.ExpansionShape) {
	t.Helper()
	last := res.Units[len(res.Units)-1]
	require.Equal(t, graph.Expanded, last.Status)
	raw, err := b.activities.Values.Doc(t.Context(), last.Expansion.Refs[0])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &stored))
	return raw, stored, *last.Expansion
}

// The values that a node passes to its expansion are stored once each, with the type and the size by which the expansion is planned.
func TestAnExpansionStoresItsValues(t *testing.T) {
	t.Parallel()
	image := func(frames, height, width int) *raster.Image {
		im, err := raster.NewImage8(frames, height, width, 3, make([]uint8, frames*height*width*3))
		require.NoError(t, err)
		return im
	}
	mask, err := raster.NewMask(1, 2, 2, make([]float32, 4))
	require.NoError(t, err)
	sound, err := media.NewSound(8000, [][]float32{{0, 1}})
	require.NoError(t, err)
	stack := &layers.Stack{Canvas: layers.Size{Width: 3, Height: 5}, Layers: []layers.Layer{{Image: image(1, 5, 3)}}}
	values := []node.Value{
		image(2, 3, 4), mask, sound, &media.Video{File: "clip.mp4"}, stack, node.List{image(1, 2, 3), image(1, 4, 5), image(1, 1, 1)}, []any{"x"},
	}
	want := []graph.GivenValue{
		{ID: "2.value.0", Type: node.Image, Pixels: 24},
		{ID: "2.value.1", Type: node.Mask, Pixels: 4},
		{ID: "2.value.2", Type: node.Audio},
		{ID: "2.value.3", Type: node.Video},
		{ID: "2.value.4", Type: node.Layers, Pixels: 15},
		{ID: "2.value.5", Type: node.Any, Pixels: 20},
		{ID: "2.value.6", Type: node.Any},
	}
	for _, cached := range []bool{false, true} {
		class := unfold(nil)
		class.Outputs = append(class.Outputs, class.Outputs...)
		class.Run = func(context.Context, *node.Call) (node.Result, error) {
			e := &node.Expansion{}
			for _, value := range values {
				e.Add("Step", node.Args{"in": value})
			}
			e.Add("Step", node.Args{"in": values[1]})
			return node.Result{Expand: e, Outputs: []node.Value{values[0], node.From{Node: 3}}}, nil
		}
		b := newBench(t, unfoldPrompt, []string{"2"}, step(), class)
		if cached {
			b.activities.Cache = &nodecache.Cache{Store: &shelf{entries: map[nodecache.Key]nodecache.Entry{}}}
		}
		_, _, res, _ := b.firstBatch(t)
		_, stored, shape := b.storedExpansion(t, res)
		refs := shape.Refs[:1]
		for i := range stored.Given {
			g := &stored.Given[i]
			refs = append(refs, g.Ref)
			known := g.Type != node.Video // the name of a file says nothing of its content
			require.Equal(t, cached && known, g.Digest != "", "%s: results of other jobs are found by the content of a value", g.ID)
			g.Ref, g.Digest = "", ""
		}
		require.Equal(t, want, stored.Given)
		require.Equal(t, shape.Refs, refs, "the run deletes them at its end")
		var nodes []graph.ExpansionNode
		for i, given := range []int{0, 1, 2, 3, 4, 5, 6, 1} {
			nodes = append(nodes, graph.ExpansionNode{
				ID: fmt.Sprint("2.0.0.", i+1), Class: "Step", Inputs: map[string]any{"in": []any{fmt.Sprint("2.value.", given), 0.0}},
			})
		}
		require.Equal(t, nodes, stored.Nodes)
		require.Equal(t, [][]graph.ExpansionValue{{{ID: "2.value.0"}, {ID: "2.0.0.3"}}}, stored.Calls)
		require.False(t, stored.Mapped)
	}
}

// A node that expanded shows at its end, in the order of its calls, what each call showed and said, although its expansion ran in other
// batches.
func TestAnExpandedNodeShowsWhatItsCallsShowed(t *testing.T) {
	t.Parallel()
	class := unfold(nil)
	class.Inputs[0].Type = node.String
	class.Run = func(_ context.Context, call *node.Call) (node.Result, error) {
		text, _ := call.Args["in"].(string)
		e := &node.Expansion{}
		res := node.Result{Outputs: []node.Value{node.From{Node: e.Add("Step", node.Args{"in": text})}}, Expand: e}
		if text != "silent" {
			call.Live.Text("about " + text)
			res.UI = map[string][]any{"text": {text, text + " again"}}
		}
		return res, nil
	}
	texts := &node.Class{
		Name: "Step", Module: "nodes", Outputs: []node.Output{{Type: node.String, IsList: true}},
		Inputs: []node.Input{{Name: "in", Type: node.String, Section: node.Optional}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			if call.Args["in"] == nil {
				return node.Result{Outputs: []node.Value{node.List{"first", "silent", "last"}}}, nil
			}
			return node.Result{Outputs: []node.Value{node.List{call.Args["in"]}}}, nil
		},
	}
	b := newBench(t, unfoldPrompt, []string{"2"}, texts, class)
	_, _, failed := b.drive(t, b.begin(t), b.once)
	require.Empty(t, failed)
	got := b.executed(t)["2"]
	got.Millis = 0
	require.JSONEq(t, `{"text":["first","first again","last","last again"]}`, string(got.UI))
	got.UI = nil
	require.Equal(t, job.NodeExecutedV1{Run: 1, Node: "2", Class: "Unfold", Log: []string{"about first", "about last"}}, got)
}

// Events of the nodes of expansions say by which node they were made, which node of the prompt they come from, and which node clients
// see in their place: the one that the class names, or else the one that is seen in the place of the node that expanded.
func TestNodesOfAnExpansionSayWhereTheyAre(t *testing.T) {
	t.Parallel()
	expand := func(value node.Value) (*node.Expansion, node.Value) {
		e := &node.Expansion{}
		if _, inner := value.(bool); inner {
			e.Add("Step", node.Args{})
			return e, node.From{Node: e.Add("Step", node.Args{"in": node.From{Node: 1}})}
		}
		e.Add("Step", node.Args{})
		e.Add("Unfold", node.Args{"in": true})
		e.Nodes[1].Display = "1"
		return e, node.From{Node: e.Add("Step", node.Args{"in": node.From{Node: 2}})}
	}
	b := newBench(t, unfoldPrompt, []string{"2"}, step(), unfold(expand))
	_, failed := b.whole(t)
	require.Empty(t, failed)
	got := map[string]job.Expansion{}
	for id, e := range b.executed(t) {
		if e.Within != nil {
			got[id] = *e.Within
		}
	}
	require.Equal(t, map[string]job.Expansion{
		"2.0.0.2":       {Parent: "2", Display: "1", Real: "2"},
		"2.0.0.2.0.0.1": {Parent: "2.0.0.2", Display: "1", Real: "2"},
		"2.0.0.2.0.0.2": {Parent: "2.0.0.2", Display: "1", Real: "2"},
		"2.0.0.3":       {Parent: "2", Display: "2", Real: "2"},
	}, got)
}

// expandsTo is an Unfold with an expansion of one node, which has a constant.
func expandsTo(constant string) *node.Class {
	return unfold(func(node.Value) (*node.Expansion, node.Value) {
		e := &node.Expansion{}
		return e, node.From{Node: e.Add("Step", node.Args{"in": constant})}
	})
}

// The stored graph of an expansion, with its constants, has at most 4 MiB.
func TestConstantsOfAnExpansionAreBounded(t *testing.T) {
	t.Parallel()
	const bound = 4 << 20
	expand := func(constant string) (*bench, activities.RunResult) {
		b := newBench(t, unfoldPrompt, []string{"2"}, step(), expandsTo(constant))
		var res activities.RunResult
		synctest.Test(t, func(t *testing.T) { _, _, res, _ = b.firstBatch(t) }) // the time that it took, whose digits count, is 0
		return b, res
	}
	b, res := expand("")
	raw, _, _ := b.storedExpansion(t, res)
	for _, more := range []int{0, 1} {
		b, res := expand(strings.Repeat("x", bound-len(raw)+more))
		require.Equal(t, more > 0, res.Failed == "2")
		if more > 0 {
			require.Equal(t, "the constants of an expansion are longer than 4194304 bytes", b.lastFailure(t).Failure.Message)
		}
	}
}

// A run has no more nodes, with those of its expansions, than the operator allows for a workflow. Expansions of one batch count together.
func TestExpansionsCountAsNodesOfTheWorkflow(t *testing.T) {
	t.Parallel()
	const prompt = `{"1":{"class_type":"Unfold","inputs":{}},"2":{"class_type":"Unfold","inputs":{}}}`
	for most, failed := range map[int]string{8: "", 7: "2", 5: "2", 4: "1"} {
		b := newBench(t, prompt, []string{"1", "2"}, step(), unfold(chainOfSteps(2)))
		b.activities.Limits.MaxNodes = most
		_, _, res, _ := b.firstBatch(t)
		require.Equal(t, failed, res.Failed)
		if failed != "" {
			require.Equal(t, fmt.Sprintf("the workflow and its expansions have more than %d nodes", most), b.lastFailure(t).Failure.Message)
		}
	}
}

// A run has at most 500 nodes that expand, in all batches together.
func TestTheNumberOfExpansionsIsBounded(t *testing.T) {
	t.Parallel()
	const most = 500
	fan := func(value node.Value) (*node.Expansion, node.Value) {
		e := &node.Expansion{}
		n, _ := value.(int64)
		for range n {
			e.Add("Unfold", node.Args{"in": int64(0)})
		}
		return e, node.From{Node: e.Add("Step", node.Args{})}
	}
	for inner, refused := range map[int64]bool{most - 1: false, most: true} {
		b := newBench(t, fmt.Sprintf(`{"2":{"class_type":"Unfold","inputs":{"in":%d}}}`, inner), []string{"2"}, step(), unfold(fan))
		b.activities.Limits.MaxNodes = 4 * most
		_, _, failed := b.drive(t, b.begin(t), b.once)
		require.Equal(t, refused, failed != "")
		if refused {
			require.Equal(t, "more than 500 nodes of the workflow expand", b.lastFailure(t).Failure.Message)
		}
	}
}

// changedPlan requires the error that makes the workflow plan a run again.
func changedPlan(t *testing.T, err error) {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, attempt.ErrPlanChanged, app.Type())
}

// A run is planned again if a batch cannot have the expansion with which it was scheduled, or a value of it.
func TestARunIsPlannedAgainWithoutItsExpansion(t *testing.T) {
	t.Parallel()
	b := newBench(t, unfoldPrompt, []string{"2"}, step(), unfold(chainOfSteps(2)))
	sched, batch, res, plan := b.firstBatch(t)
	sched.Done(batch.ID, res.Units)
	p := b.params(sched, sched.Next()[0], plan.PlanHash, nil)

	p.Expansions[0].Size++
	_, err := b.batch(t, p)
	changedPlan(t, err)
	p.Expansions[0].Size--

	raw, _, _ := b.storedExpansion(t, res)
	b.activities.Values = nodevalue.New(mem.New(), 1<<20, 1<<20, time.Minute)
	_, err = b.batch(t, p)
	changedPlan(t, err)

	p.Expansions[0].Ref, err = b.activities.Values.PutDoc(t.Context(), b.ref.Job, raw) // without the values that it names
	require.NoError(t, err)
	_, err = b.batch(t, p)
	changedPlan(t, err)

	p.Expansions[0].Ref, err = b.activities.Values.PutDoc(t.Context(), b.ref.Job, []byte("{"))
	require.NoError(t, err)
	_, err = b.batch(t, p)
	retried(t, err)
	require.ErrorContains(t, err, "decode an expansion")
	require.Equal(t, []string{"started 1", "executed 1", "started 2"}, b.events(t))
}

// The UI output of a node that expanded counts for its job when the node ends.
func TestUIOutputsOfExpandedNodesAreBounded(t *testing.T) {
	t.Parallel()
	class := unfold(nil)
	class.Run = func(context.Context, *node.Call) (node.Result, error) {
		res := node.Result{UI: map[string][]any{"text": {strings.Repeat("x", 3<<20)}}, Expand: &node.Expansion{}}
		res.Outputs = []node.Value{node.From{Node: res.Expand.Add("Step", node.Args{})}}
		return res, nil
	}
	const one = `{"class_type":"Unfold","inputs":{}}`
	b := newBench(t, `{"1":`+one+`,"2":`+one+`,"3":`+one+`}`, []string{"1", "2", "3"}, step(), class)
	b.activities.Values = nodevalue.New(b.activities.Sources.Blobs, 1<<20, 8<<20, time.Minute)
	_, _, failed := b.drive(t, b.begin(t), b.once)
	require.Equal(t, "3", failed)
	failure := b.lastFailure(t).Failure
	require.Equal(t, []string{"3", "Unfold"}, []string{failure.Node, failure.Class})
	require.Contains(t, failure.Message, "the UI outputs of this job")
}

// The result of a node that expanded is kept for later jobs, unless a node of its expansion must run in each of them. Then neither it, nor
// what reads it, nor the node within whose expansion it is, is kept.
func TestTheResultOfAnExpansionIsKeptIfItsNodesAre(t *testing.T) {
	t.Parallel()
	cost := func(node.Args, int64) time.Duration { return time.Minute }
	others := []string{"Step", "Last"} // a node that the expanded one reads, and a reader of that
	inner := append([]string{"Inner"}, others...)
	for name, c := range map[string]struct {
		change func(*node.Class)
		kept   []string
	}{
		"its node gives the same each time": {func(*node.Class) {}, append([]string{"Outer", "Unfold", "Between", "Last"}, inner...)},
		"its node is not cached":            {func(c *node.Class) { c.Uncached = true }, others},
		"its node is not idempotent":        {func(c *node.Class) { c.NotIdempotent = true }, inner},
		"its node saves files":              {func(c *node.Class) { c.OutputNode = true }, inner},
		"its node reads its id": {func(c *node.Class) {
			c.Inputs = append(c.Inputs, node.Input{Name: "id", Type: "UNIQUE_ID", Section: node.Hidden})
		}, inner},
		"its node loads files": {func(c *node.Class) {
			c.Fingerprint = func(context.Context, node.Files, node.Args) (string, error) { return "x", nil }
		}, inner},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, inner, between, last := step(), step(), step(), step()
			inner.Name, between.Name, last.Name = "Inner", "Between", "Last"
			last.OutputNode = true
			c.change(inner)
			expands := func(to string) func(node.Value) (*node.Expansion, node.Value) {
				return func(value node.Value) (*node.Expansion, node.Value) {
					e := &node.Expansion{}
					return e, node.From{Node: e.Add(to, node.Args{"in": value})}
				}
			}
			outer, nested := unfold(expands("Unfold")), unfold(expands("Inner"))
			outer.Name, outer.OutputNode, nested.OutputNode = "Outer", false, false
			classes := []*node.Class{source, inner, outer, nested, between, last}
			for _, class := range classes {
				class.Cost = cost
			}
			b := newBench(t, `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Outer","inputs":{"in":["1",0]}},
				"3":{"class_type":"Between","inputs":{"in":["2",0]}},"4":{"class_type":"Last","inputs":{"in":["3",0]}},
				"5":{"class_type":"Last","inputs":{"in":["1",0]}}}`, []string{"4", "5"}, classes...)
			cache := &kept{}
			b.activities.Cache = &nodecache.Cache{Store: cache, Bytes: 1 << 20, Age: time.Hour}
			b.finished(t)
			require.ElementsMatch(t, c.kept, cache.classes)
		})
	}
}
