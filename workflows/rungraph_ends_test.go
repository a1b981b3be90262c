package workflows_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/workflows"
)

// A run ends as its activities say, with all that the end needs to know: what failed and where, or where it was stopped.
func TestARunEndsAsItsActivitiesSay(t *testing.T) {
	t.Parallel()
	final := func(kind string) error {
		return temporal.NewNonRetryableApplicationError("20 attempts in a day", kind, errors.New("x"))
	}
	failure := func(message string) *job.Failure {
		return &job.Failure{Code: fault.CodeUpstreamError, Message: message, ExceptionType: "ServiceError"}
	}
	at := &job.NodeRef{Node: "5", Class: "KSampler"}
	planned := activities.BeginResult{PlanHash: "p", Shape: steps()}
	changed := temporal.NewNonRetryableApplicationError("changed", attempt.ErrPlanChanged, nil)
	for name, c := range map[string]struct {
		begin []activities.BeginResult
		run   func(activities.RunParams) (activities.RunResult, error)
		log   []string
		want  activities.FinishParams
	}{
		"it was begun before": {begin: []activities.BeginResult{{Skip: true}}, log: []string{"begin replan=false"}},
		"it was canceled before": {
			begin: []activities.BeginResult{{Canceled: true}}, log: []string{"begin replan=false", "finish canceled"},
			want: activities.FinishParams{Outcome: activities.Canceled},
		},
		"it had ended when it was planned again": {
			begin: []activities.BeginResult{planned, {Skip: true}},
			run:   func(activities.RunParams) (activities.RunResult, error) { return activities.RunResult{}, changed },
			log:   []string{"begin replan=false", "cheap [0] of p", "begin replan=true", "finish canceled"},
			want:  activities.FinishParams{Outcome: activities.Canceled},
		},
		"it was canceled when it was planned again": {
			begin: []activities.BeginResult{planned, {Canceled: true}},
			run:   func(activities.RunParams) (activities.RunResult, error) { return activities.RunResult{}, changed },
			log:   []string{"begin replan=false", "cheap [0] of p", "begin replan=true", "finish canceled"},
			want:  activities.FinishParams{Outcome: activities.Canceled},
		},
		"an activity finds it canceled": {
			begin: []activities.BeginResult{planned},
			run: func(activities.RunParams) (activities.RunResult, error) {
				units := []graph.UnitResult{{Unit: 0, Status: graph.Done, Values: []string{"v"}}}
				return activities.RunResult{Stopped: true, At: at, Version: 9, Units: units}, nil
			},
			log:  []string{"begin replan=false", "cheap [0] of p", "finish canceled"},
			want: activities.FinishParams{Outcome: activities.Canceled, At: at, Seen: 9, Values: []string{"v"}},
		},
		"a node fails": {
			begin: []activities.BeginResult{planned},
			run: func(activities.RunParams) (activities.RunResult, error) {
				return activities.RunResult{Failed: "n0", Version: 7, Units: []graph.UnitResult{{Unit: 0, Status: graph.Failed}}}, nil
			},
			log:  []string{"begin replan=false", "cheap [0] of p", "finish failed"},
			want: activities.FinishParams{Outcome: activities.Failed, Node: "n0", Seen: 7},
		},
		"a batch cannot run": {
			begin: []activities.BeginResult{planned},
			run: func(activities.RunParams) (activities.RunResult, error) {
				return activities.RunResult{}, final(attempt.ErrFinal)
			},
			log:  []string{"begin replan=false", "cheap [0] of p", "finish failed"},
			want: activities.FinishParams{Outcome: activities.Failed, Failure: failure("a part of the graph could not be run")},
		},
		"a batch is given up": {
			begin: []activities.BeginResult{planned},
			run: func(activities.RunParams) (activities.RunResult, error) {
				return activities.RunResult{}, final(attempt.ErrGivenUp)
			},
			log: []string{"begin replan=false", "cheap [0] of p", "finish failed"},
			want: activities.FinishParams{
				Outcome: activities.Failed, Failure: failure("a part of the graph could not be run: 20 attempts in a day"),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &engine{begin: plans(c.begin...), run: c.run}
			if c.run != nil {
				e.exact = true
			}
			require.NoError(t, e.execute(t, nil))
			require.Equal(t, c.log, e.log)
			e.finish.RunRef = job.RunRef{}
			require.Equal(t, c.want, e.finish)
		})
	}
}

// A run that cannot be planned fails.
func TestARunThatCannotBePlannedFails(t *testing.T) {
	t.Parallel()
	e := &engine{begin: plans(activities.BeginResult{})}
	env := e.environment()
	env.OnActivity("Begin", mock.Anything, mock.Anything).Return(activities.BeginResult{},
		temporal.NewNonRetryableApplicationError("a bug", attempt.ErrFinal, errors.New("x")))
	require.NoError(t, executed(t, env, nil))
	require.Equal(t, []string{"finish failed"}, e.log)
	require.Equal(t, &job.Failure{Code: fault.CodeUpstreamError, Message: "the run could not be planned", ExceptionType: "ServiceError"},
		e.finish.Failure)
}

// A run is planned again at once, and then after pauses that double up to half a minute.
func TestThePausesBeforeARunIsPlannedAgain(t *testing.T) {
	t.Parallel()
	const changes = 9
	planned := 0
	var at []time.Duration
	e := &engine{}
	env := e.environment()
	began := env.Now()
	e.begin = func(activities.BeginParams) activities.BeginResult {
		planned++
		at = append(at, env.Now().Sub(began).Truncate(time.Second))
		return activities.BeginResult{PlanHash: fmt.Sprint(planned), Shape: steps()}
	}
	e.run = func(p activities.RunParams) (activities.RunResult, error) {
		if p.PlanHash != fmt.Sprint(changes) {
			return activities.RunResult{}, temporal.NewNonRetryableApplicationError("changed", attempt.ErrPlanChanged, nil)
		}
		return activities.RunResult{}, nil
	}
	require.NoError(t, executed(t, env, nil))
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	require.Equal(t, []time.Duration{0, 0, second(1), second(3), second(7), second(15), second(31), second(61), second(91)}, at)
}

// A run whose job is canceled while it waits to be planned again ends as canceled.
func TestARunIsCanceledWhileItWaitsToBePlanned(t *testing.T) {
	t.Parallel()
	e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: steps()}), exact: true}
	e.run = func(activities.RunParams) (activities.RunResult, error) {
		return activities.RunResult{}, temporal.NewNonRetryableApplicationError("changed", attempt.ErrPlanChanged, nil)
	}
	env := e.environment()
	env.RegisterDelayedCallback(env.CancelWorkflow, 5*time.Second)
	require.NoError(t, executed(t, env, nil))
	require.Equal(t, activities.Canceled, e.finish.Outcome)
	require.Equal(t, "finish canceled", e.log[len(e.log)-1])
	require.Len(t, slices.DeleteFunc(slices.Clone(e.log), func(l string) bool { return l != "begin replan=true" }), 3, "at 0, 1 and 3 seconds")
}

// The end of a run is described where its workflow has attributes: by its slowest class, its API, its server and its outcome.
func TestTheEndOfARunIsDescribed(t *testing.T) {
	t.Parallel()
	attributes := func(further ...temporal.SearchAttributeUpdate) temporal.SearchAttributes {
		return temporal.NewSearchAttributes(append(further, workflows.ClassAttribute.ValueSet("KSampler"),
			workflows.SurfaceAttribute.ValueSet("v2"))...)
	}
	planned := activities.BeginResult{PlanHash: "p", Shape: steps(), Class: "KSampler", Surface: job.SurfaceV2}
	for name, c := range map[string]struct {
		end      activities.FinishResult
		server   string
		want     temporal.SearchAttributes
		segments []string // servers of the two segments of a run that ends with the second
	}{
		"its last segment ended it": {
			activities.FinishResult{Outcome: activities.Succeeded},
			"", attributes(workflows.ServerAttribute.ValueSet("two")),
			[]string{"one", "two"},
		},
		"its last segment is of no server": {
			activities.FinishResult{Outcome: activities.Succeeded},
			"", attributes(workflows.ServerAttribute.ValueSet("one")),
			[]string{"one", ""},
		},
		"it succeeded on a server": {
			activities.FinishResult{Outcome: activities.Succeeded}, "one", attributes(workflows.ServerAttribute.ValueSet("one")), nil,
		},
		"it failed": {
			activities.FinishResult{Outcome: activities.Failed, Node: "5", Type: "OOMError"},
			"",
			attributes(workflows.OutcomeAttribute.ValueSet("OOMError")), nil,
		},
		"it was canceled": {
			activities.FinishResult{Outcome: activities.Canceled}, "", attributes(workflows.OutcomeAttribute.ValueSet("canceled")), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &engine{ended: &c.end, begin: plans(planned)}
			if c.segments != nil {
				e.begin = plans(activities.BeginResult{PlanHash: "p", Class: "KSampler", Surface: job.SurfaceV2, Shape: graph.Shape{Units: []graph.Unit{
					{Segment: true}, {Segment: true, Deps: []int{0}, Output: true},
				}}})
			}
			e.run = func(p activities.RunParams) (activities.RunResult, error) {
				res := done(p)
				res.Server = c.server
				if c.segments != nil {
					res.Server, res.Ended = c.segments[p.Units[0]], p.Last
				}
				return res, nil
			}
			env := e.environment()
			require.NoError(t, env.SetTypedSearchAttributesOnStart(temporal.NewSearchAttributes(workflows.AccountAttribute.ValueSet("a"))))
			var described []temporal.SearchAttributes
			env.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(args mock.Arguments) {
				described = append(described, args.Get(0).(temporal.SearchAttributes))
			}).Return(nil)
			require.Equal(t, c.end.Outcome == activities.Succeeded, executed(t, env, nil) == nil)
			require.Len(t, described, 1)
			require.Equal(t, c.want.GetUntypedValues(), described[0].GetUntypedValues())
		})
	}
	require.Equal(t, []string{"MillraceAccount", "MillraceClass", "MillraceSurface", "MillraceOutcome", "MillraceServer"},
		workflows.Attributes())
}
