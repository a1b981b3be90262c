package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/graph"
	"github.com/millrace-dev/millrace/internal/job"
	"github.com/millrace-dev/millrace/internal/node"
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

// whole runs a job as its workflow does. Every batch runs twice, as after a worker that was lost before it
// could say what it did.
func (b *bench) whole(t *testing.T) (sched *graph.Scheduler, failed string) {
	t.Helper()
	plan, values := b.begin(t), map[int][]string{}
	sched = graph.NewScheduler(plan.Shape)
	for next := sched.Next(); len(next) > 0 && failed == ""; next = sched.Next() {
		params := b.params(sched, next[0], plan.PlanHash, values)
		once, err := b.batch(t, params)
		require.NoError(t, err)
		again, err := b.batch(t, params)
		require.NoError(t, err)
		require.Equal(t, b.untimed(t, once), b.untimed(t, again), "another attempt comes to the same")
		for _, u := range again.Units {
			if len(u.Values) > 0 {
				values[u.Unit] = u.Values
			}
		}
		failed = again.Failed
		sched.Done(next[0].ID, again.Units)
	}
	return sched, failed
}

// attempt is what a batch came to, but for how long its nodes took.
type attempt struct {
	activities.RunResult
	expansions []map[string]any // as they were stored
}

func (b *bench) untimed(t *testing.T, res activities.RunResult) attempt {
	t.Helper()
	out := attempt{RunResult: res}
	out.Units = slices.Clone(res.Units)
	for i, u := range out.Units {
		if u.Grown == nil {
			continue
		}
		raw, err := b.activities.Values.Doc(t.Context(), u.Grown.Refs[0])
		require.NoError(t, err)
		var doc map[string]any
		require.NoError(t, json.Unmarshal(raw, &doc))
		delete(doc, "millis")
		out.expansions = append(out.expansions, doc)
		grown := *u.Grown
		grown.Refs, out.Units[i].Grown = grown.Refs[1:], &grown
	}
	return out
}

func (b *bench) params(sched *graph.Scheduler, next graph.Batch, hash string, values map[int][]string) activities.RunParams {
	p := activities.RunParams{RunRef: b.ref, PlanHash: hash, Units: next.Units, Keep: next.Keep}
	for _, unit := range next.Needs {
		p.Inputs = append(p.Inputs, activities.Input{Unit: unit, Values: values[unit]})
	}
	for _, g := range sched.Grown() {
		p.Grown = append(p.Grown, activities.Grown{Unit: g.Unit, Ref: g.Refs[0], Size: len(g.Units)})
	}
	return p
}

func (b *bench) batch(t *testing.T, params activities.RunParams) (activities.RunResult, error) {
	t.Helper()
	env := environment(t.Context())
	env.RegisterActivity(b.activities.RunCheap)
	value, err := env.ExecuteActivity(b.activities.RunCheap, params)
	if err != nil {
		return activities.RunResult{}, err
	}
	var res activities.RunResult
	return res, value.Get(&res)
}

func chainOfSteps(n int) func(node.Value) (*node.Expansion, node.Value) {
	return func(value node.Value) (*node.Expansion, node.Value) {
		e := &node.Expansion{}
		for range n {
			value = node.From{Node: e.Add("Step", node.Args{"in": value})}
		}
		return e, value
	}
}

func TestAnExpansionRunsOnWhatItWasHandedAndEveryAttemptIsTheSame(t *testing.T) {
	t.Parallel()
	b := newBench(t, unfoldPrompt, []string{"2"}, step(), unfold(chainOfSteps(2)))
	sched, failed := b.whole(t)
	require.Empty(t, failed)
	require.True(t, sched.Finished())
	require.Equal(t, []string{
		"started 1", "executed 1", "started 2", "started 2.0.0.1", "executed 2.0.0.1", "started 2.0.0.2", "executed 2.0.0.2", "executed 2",
	}, b.facts(t))
}

func TestAnExpansionWhoseStoredPlanIsGoneHasTheRunPlannedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, unfoldPrompt, []string{"2"}, step(), unfold(chainOfSteps(2)))
	plan := b.begin(t)
	_, err := b.batch(t, activities.RunParams{RunRef: b.ref, PlanHash: plan.PlanHash, Units: []int{1}, Grown: []activities.Grown{
		{Unit: 1, Ref: "blake3:" + fmt.Sprintf("%064x", 7), Size: 3},
	}})
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, activities.ErrPlanChanged, app.Type())
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
		say    string
	}{
		"without an end":       {self, "nest deeper than 16"},
		"of too many nodes":    {chainOfSteps(1200), "more than 1000 nodes"},
		"in a cycle":           {cycle, "Dependency cycle detected"},
		"to what is not there": {dangling, "which is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, unfoldPrompt, []string{"2"}, step(), unfold(c.expand))
			_, failed := b.whole(t)
			require.NotEmpty(t, failed)
			recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 1000)
			require.NoError(t, err)
			last, err := b.log.Decode(recorded[len(recorded)-1])
			require.NoError(t, err)
			told, ok := last.(job.NodeFailedV1)
			require.True(t, ok)
			require.Contains(t, told.Failure.Message, c.say)
			require.Equal(t, "2", told.Failure.Node)
			require.Equal(t, "Unfold", told.Failure.Class)
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
