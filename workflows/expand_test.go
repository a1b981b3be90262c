package workflows_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/workflows"
)

// expanding has a unit between two others that expands to a value and two long units in a row.
func expanding() (graph.Shape, *graph.ExpansionShape) {
	return graph.Shape{Units: []graph.Unit{{Millis: 1}, {Millis: 1, Deps: []int{0}}, {Millis: 1, Deps: []int{1}, Output: true}}},
		&graph.ExpansionShape{
			Units: []graph.Unit{{Given: true}, {Millis: long, Deps: []int{0}}, {Millis: long * 100, Deps: []int{1}}},
			Reads: []int{2}, Refs: []string{"plan", "handed"},
		}
}

// expands plays the expansion, at first sight of unit 1.
func expands(expansion *graph.ExpansionShape, seen *[]activities.Expansion) func(activities.RunParams) (activities.RunResult, error) {
	return func(p activities.RunParams) (activities.RunResult, error) {
		*seen = p.Expansions
		if slices.Contains(p.Units, 1) && len(p.Expansions) == 0 {
			return activities.RunResult{Units: []graph.UnitResult{
				{Unit: 0, Status: graph.Done}, {Unit: 1, Status: graph.Expanded, Expansion: expansion},
			}}, nil
		}
		return activities.RunResult{}, nil
	}
}

func TestExpandedUnitEndsAfterItsGraph(t *testing.T) {
	t.Parallel()
	shape, expansion := expanding()
	var seen []activities.Expansion
	e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: shape}), run: expands(expansion, &seen)}
	require.NoError(t, e.execute(t, nil))
	require.Equal(t, []string{
		"begin replan=false", "cheap [0 1 2] of p", "long [4] of p", "long [5] of p", "cheap [1 2] of p", "finish succeeded",
	}, e.log)
	require.Equal(t, []activities.Expansion{{Unit: 1, Ref: "plan", Size: 3}}, seen)
	require.Subset(t, e.finish.Values, []string{"plan", "handed"}, "what was stored for it is forgotten at the end")
}

func TestARunThatExpandedContinuesAsANewExecution(t *testing.T) {
	t.Parallel()
	shape, expansion := expanding()
	var seen []activities.Expansion
	e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: shape})}
	env := e.environment()
	play := expands(expansion, &seen)
	e.run = func(p activities.RunParams) (activities.RunResult, error) {
		if slices.Contains(p.Units, 4) {
			suggestContinuing(env)
		}
		return play(p)
	}
	err := executed(t, env, nil)
	var next *workflow.ContinueAsNewError
	require.True(t, errors.As(err, &next), "%v", err)
	var params workflows.RunGraphParams
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &params))

	rest := &engine{run: expands(expansion, &seen)}
	require.NoError(t, rest.execute(t, params.Resumed))
	require.Equal(t, []string{"long [5] of p", "cheap [1 2] of p", "finish succeeded"}, rest.log)
	require.Equal(t, []activities.Expansion{{Unit: 1, Ref: "plan", Size: 3}}, seen)
	require.Subset(t, rest.finish.Values, []string{"plan", "handed"})
}

// Units of an expansion that an earlier job ran are not given out; who reads them gets what is kept of them, which is not
// forgotten with this job's values.
func TestACachedUnitOfAnExpansionIsReadAndDoesNotRun(t *testing.T) {
	t.Parallel()
	shape, expansion := expanding()
	expansion.Cached = []graph.CachedUnit{{Unit: 1, Values: []string{"cached:kept"}}}
	var seen []activities.Expansion
	var read []activities.Input
	play := expands(expansion, &seen)
	e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: shape})}
	env := e.environment()
	e.run = func(p activities.RunParams) (activities.RunResult, error) {
		if slices.Contains(p.Units, 5) {
			read = p.Inputs
		}
		if slices.Contains(p.Units, 1) && len(p.Expansions) == 0 {
			suggestContinuing(env)
		}
		return play(p)
	}
	err := executed(t, env, nil)
	var next *workflow.ContinueAsNewError
	require.True(t, errors.As(err, &next), "%v", err)
	var params workflows.RunGraphParams
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &params))

	rest := &engine{run: e.run}
	require.NoError(t, rest.execute(t, params.Resumed))
	require.Equal(t, []string{"long [5] of p", "cheap [1 2] of p", "finish succeeded"}, rest.log)
	require.Equal(t, []activities.Input{{Unit: 4, Values: []string{"cached:kept"}}}, read)
}

// Each of several expansions that one batch returns reads what is kept of its own units.
func TestExpansionsOfOneBatchReadTheirOwnCachedUnits(t *testing.T) {
	t.Parallel()
	expanded := func(unit int, kept string) graph.UnitResult {
		_, expansion := expanding()
		expansion.Cached = []graph.CachedUnit{{Unit: 1, Values: []string{kept}}}
		return graph.UnitResult{Unit: unit, Status: graph.Expanded, Expansion: expansion}
	}
	var mu sync.Mutex // the long units run at once
	read := map[int][]string{}
	e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: graph.Shape{Units: []graph.Unit{
		{Millis: 1}, {Millis: 1}, {Millis: 1, Deps: []int{0, 1}, Output: true},
	}}}), run: func(p activities.RunParams) (res activities.RunResult, err error) {
		if len(p.Expansions) == 0 {
			res.Units = []graph.UnitResult{expanded(0, "cached:first"), expanded(1, "cached:second")}
		}
		mu.Lock()
		defer mu.Unlock()
		for _, in := range p.Inputs {
			read[in.Unit] = in.Values
		}
		return res, nil
	}}
	require.NoError(t, e.execute(t, nil))
	require.Equal(t, []string{"cached:first"}, read[4])
	require.Equal(t, []string{"cached:second"}, read[7])
}

// Where what was stored for an expansion is gone, the activities say that the plan is not theirs: the run is
// planned again and expands anew.
func TestARunWhoseExpansionIsLostIsPlannedAgain(t *testing.T) {
	t.Parallel()
	shape, expansion := expanding()
	var seen []activities.Expansion
	lost := false
	play := expands(expansion, &seen)
	e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: shape})}
	e.run = func(p activities.RunParams) (activities.RunResult, error) {
		if slices.Contains(p.Units, 5) && !lost {
			lost = true
			return activities.RunResult{}, temporal.NewNonRetryableApplicationError("changed", attempt.ErrPlanChanged, nil)
		}
		return play(p)
	}
	require.NoError(t, e.execute(t, nil))
	require.Equal(t, activities.Succeeded, e.finish.Outcome)
	require.Contains(t, e.log, "begin replan=true")
}
