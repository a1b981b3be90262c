package activities_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// step gives a list with one more element, which no constant can hold.
func step() *node.Class {
	return &node.Class{
		Name: "Step", Module: "nodes", OutputNode: false, Inputs: []node.Input{{Name: "in", Type: node.Any, Section: node.Optional}},
		Outputs: []node.Output{{Type: node.Any}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			before, _ := call.Args["in"].([]any)
			return node.Result{Outputs: []node.Value{append(slices.Clone(before), "x")}}, nil
		},
	}
}

// unfold expands to what make says.
func unfold(expand func(value node.Value) (*node.Expansion, node.Value)) *node.Class {
	return &node.Class{
		Name: "Unfold", Module: "nodes", OutputNode: true, Inputs: []node.Input{{Name: "in", Type: node.Any, Section: node.Optional}},
		Outputs: []node.Output{{Type: node.Any}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			e, out := expand(call.Args["in"])
			return node.Result{Outputs: []node.Value{out}, Expand: e}, nil
		},
	}
}

const unfoldPrompt = `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Unfold","inputs":{"in":["1",0]}}}`

func chainOfSteps(n int) func(node.Value) (*node.Expansion, node.Value) {
	return func(value node.Value) (*node.Expansion, node.Value) {
		e := &node.Expansion{}
		for range n {
			value = node.From{Node: e.Add("Step", node.Args{"in": value})}
		}
		return e, value
	}
}

func TestExpansionIsTheSameOnEveryAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t, unfoldPrompt, []string{"2"}, step(), unfold(chainOfSteps(2)))
	sched, failed := b.whole(t)
	require.Empty(t, failed)
	require.True(t, sched.Finished())
	require.Equal(t, []string{
		"started 1", "executed 1", "started 2", "started 2.0.0.1", "executed 2.0.0.1", "started 2.0.0.2", "executed 2.0.0.2", "executed 2",
	}, b.events(t))
}

// A node that expands does not end its batch: the nodes after it run before those of its expansion.
func TestABatchGoesOnAfterAnExpansion(t *testing.T) {
	t.Parallel()
	last := step()
	last.Name, last.OutputNode = "Last", true
	prompt := `{"1":{"class_type":"Unfold","inputs":{}},"2":{"class_type":"Last","inputs":{}}}`
	b := newBench(t, prompt, []string{"1", "2"}, step(), last, unfold(chainOfSteps(1)))
	_, failed := b.whole(t)
	require.Empty(t, failed)
	require.Equal(t, []string{"started 1", "started 2", "executed 2", "started 1.0.0.1", "executed 1.0.0.1", "executed 1"}, b.events(t))
}

// A node that waits for an expansion runs in another batch: what it reads of this one is stored.
func TestWhatWaitsForAnExpansionIsStored(t *testing.T) {
	t.Parallel()
	last := step()
	last.Name, last.OutputNode, last.Inputs = "Last", true, append(slices.Clone(last.Inputs), node.Input{Name: "other", Type: node.Any})
	prompt := `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Unfold","inputs":{}},
		"3":{"class_type":"Last","inputs":{"in":["1",0],"other":["2",0]}}}`
	b := newBench(t, prompt, []string{"3"}, step(), last, unfold(chainOfSteps(1)))
	plan := b.begin(t)
	sched := plan.Scheduler()
	res := b.once(t, b.params(sched, sched.Next()[0], plan.PlanHash, nil))
	for _, u := range res.Units {
		require.Equal(t, u.Status == graph.Done, len(u.Values) == 1)
	}
	require.Len(t, res.Units, 2)
}

// An expansion whose UI output cannot be encoded does not run without it.
func TestTheUIOutputOfAnExpansionIsNotLost(t *testing.T) {
	t.Parallel()
	class := unfold(chainOfSteps(1))
	expand := class.Run
	class.Run = func(ctx context.Context, call *node.Call) (node.Result, error) {
		res, err := expand(ctx, call)
		res.UI = map[string][]any{"value": {math.NaN()}}
		return res, err
	}
	b := newBench(t, unfoldPrompt, []string{"2"}, step(), class)
	plan := b.begin(t)
	sched := plan.Scheduler()
	_, err := b.batch(t, b.params(sched, sched.Next()[0], plan.PlanHash, nil))
	require.ErrorContains(t, err, "encode the UI output of node 2")
}

func TestRunIsPlannedAgainWhenAStoredExpansionIsLost(t *testing.T) {
	t.Parallel()
	b := newBench(t, unfoldPrompt, []string{"2"}, step(), unfold(chainOfSteps(2)))
	plan := b.begin(t)
	_, err := b.batch(t, activities.RunParams{RunRef: b.ref, PlanHash: plan.PlanHash, Units: []int{1}, Expansions: []activities.Expansion{
		{Unit: 1, Ref: "blake3:" + fmt.Sprintf("%064x", 7), Size: 3},
	}})
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, attempt.ErrPlanChanged, app.Type())
}

// The batches of a run share its plans: a plan with more expansions does not change one with fewer.
func TestPlansOfARunDoNotChange(t *testing.T) {
	t.Parallel()
	again := func(value node.Value) (*node.Expansion, node.Value) {
		if _, inner := value.(bool); inner {
			return chainOfSteps(1)(nil)
		}
		e := &node.Expansion{}
		return e, node.From{Node: e.Add("Unfold", node.Args{"in": true})}
	}
	b := newBench(t, unfoldPrompt, []string{"2"}, step(), unfold(again))
	sched, failed := b.whole(t)
	require.Empty(t, failed)
	p := b.params(sched, graph.Batch{}, "", nil)
	require.Len(t, p.Expansions, 2)
	require.Equal(t, []int{1, 2, 1}, b.activities.ExpandedNodes(t.Context(), p))
}

func TestExpansionsAreBounded(t *testing.T) {
	t.Parallel()
	self := func(value node.Value) (*node.Expansion, node.Value) {
		e := &node.Expansion{}
		return e, node.From{Node: e.Add("Unfold", node.Args{"in": value})}
	}
	cycle := func(node.Value) (*node.Expansion, node.Value) {
		e := &node.Expansion{}
		e.Add("Step", node.Args{"in": node.From{Node: 2}})
		return e, node.From{Node: e.Add("Step", node.Args{"in": node.From{Node: 1}})}
	}
	dangling := func(node.Value) (*node.Expansion, node.Value) { return &node.Expansion{}, node.From{Node: 3} }
	for name, c := range map[string]struct {
		expand func(node.Value) (*node.Expansion, node.Value)
		begun  int // nodes that expand
		say    string
	}{
		"without an end":       {self, 17, "nest deeper than 16"},
		"of too many nodes":    {chainOfSteps(1200), 1, "more than 1000 nodes"},
		"in a cycle":           {cycle, 1, "Dependency cycle detected"},
		"to what is not there": {dangling, 1, "which does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, unfoldPrompt, []string{"2"}, step(), unfold(c.expand))
			_, failed := b.whole(t)
			require.NotEmpty(t, failed)
			require.Len(t, b.events(t), 2+c.begun, "the first node ran")
			recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 1000)
			require.NoError(t, err)
			last, err := b.log.Decode(recorded[len(recorded)-1])
			require.NoError(t, err)
			got, ok := last.(job.NodeFailedV1)
			require.True(t, ok)
			require.Contains(t, got.Failure.Message, c.say)
			require.Equal(t, "2", got.Failure.Node)
			require.Equal(t, "Unfold", got.Failure.Class)
		})
	}
}

// A prompt may name its nodes like those of an expansion.
func TestAnExpansionDoesNotTakeTheIDsOfThePrompt(t *testing.T) {
	t.Parallel()
	prompt := `{"2.0.0.1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Unfold","inputs":{"in":["2.0.0.1",0]}}}`
	b := newBench(t, prompt, []string{"2"}, step(), unfold(chainOfSteps(1)))
	_, failed := b.whole(t)
	require.Equal(t, "2", failed)
}
