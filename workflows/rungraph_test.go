package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/workflows"
)

// engine plays the activities of one run by a script and notes what was asked of them.
type engine struct {
	begin func(activities.BeginParams) activities.BeginResult
	run   func(activities.RunParams) (activities.RunResult, error) // nil: every unit is done

	ended *activities.FinishResult // nil: the run did not end, because its job is queued again

	beside bool // run is called for several batches at once; otherwise for one at a time
	exact  bool // what run returns is the result, whatever it is
	refuse int  // endings with the news that the log has lost events of the run

	runs   sync.Mutex // held while run is called for one batch
	mu     sync.Mutex
	log    []string
	finish activities.FinishParams
}

// environment runs a workflow on a machine that may stand still for a minute.
func environment() *testsuite.TestWorkflowEnvironment {
	env := (&testsuite.WorkflowTestSuite{}).NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)                                             // three seconds otherwise
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // one second otherwise
	return env
}

func (e *engine) note(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log = append(e.log, fmt.Sprintf(format, args...))
}

func (e *engine) environment() *testsuite.TestWorkflowEnvironment {
	env := environment()
	env.RegisterWorkflowWithOptions(workflows.RunGraph, workflow.RegisterOptions{Name: workflows.RunGraphName})
	for name, fn := range map[string]any{
		"Begin": func(_ context.Context, p activities.BeginParams) (activities.BeginResult, error) {
			e.note("begin replan=%t", p.Replan)
			return e.begin(p), nil
		},
		"RunCheap": e.batch("cheap"), "RunLong": e.batch("long"), "RunSegment": e.batch("segment"),
		"Finish": func(_ context.Context, p activities.FinishParams) (res activities.FinishResult, err error) {
			e.note("finish %s", p.Outcome)
			e.finish = p
			if e.refuse--; e.refuse >= 0 {
				return res, temporal.NewNonRetryableApplicationError("lost", attempt.ErrPlanChanged, nil)
			}
			if e.ended != nil {
				res = *e.ended
			}
			return res, nil
		},
	} {
		env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	}
	return env
}

func (e *engine) batch(kind string) func(context.Context, activities.RunParams) (activities.RunResult, error) {
	return func(_ context.Context, p activities.RunParams) (activities.RunResult, error) {
		e.note("%s %v of %s", kind, p.Units, p.PlanHash)
		if e.run != nil {
			if !e.beside {
				e.runs.Lock()
				defer e.runs.Unlock()
			}
			if res, err := e.run(p); e.exact || err != nil || len(res.Units)+len(res.Lost) > 0 {
				return res, err
			}
		}
		return done(p), nil
	}
}

// done is the result of a batch all of whose units ran; kept values are named after their units.
func done(p activities.RunParams) (res activities.RunResult) {
	for _, u := range p.Units {
		r := graph.UnitResult{Unit: u, Status: graph.Done}
		if slices.Contains(p.Keep, u) {
			r.Values = []string{fmt.Sprintf("value-%d", u)}
		}
		res.Units = append(res.Units, r)
	}
	return res
}

func (e *engine) execute(t *testing.T, resumed *workflows.Resumption) error {
	t.Helper()
	env := e.environment()
	return executed(t, env, resumed)
}

func executed(t *testing.T, env *testsuite.TestWorkflowEnvironment, resumed *workflows.Resumption) error {
	t.Helper()
	env.ExecuteWorkflow(workflows.RunGraphName, workflows.RunGraphParams{
		RunRef: job.RunRef{Job: job.NewID(), Account: "a", Run: 1}, Resumed: resumed,
	})
	require.True(t, env.IsWorkflowCompleted())
	return env.GetWorkflowError()
}

// suggestContinuing tells the workflow that its history is long. An activity may call it: the workflow runs in another goroutine, which
// reads the suggestion, so the loop of the environment sets it.
func suggestContinuing(env *testsuite.TestWorkflowEnvironment) {
	env.RegisterDelayedCallback(func() { env.SetContinueAsNewSuggested(true) }, 0)
}

func plans(results ...activities.BeginResult) func(activities.BeginParams) activities.BeginResult {
	return func(activities.BeginParams) activities.BeginResult {
		next := results[0]
		if len(results) > 1 {
			results = results[1:]
		}
		return next
	}
}

const long = 1000 // milliseconds: too much for a fused batch

// steps are two expensive units in a row that a cheap one joins with a third.
func steps() graph.Shape {
	return graph.Shape{Units: []graph.Unit{
		{Millis: 1}, {Millis: long, Deps: []int{0}}, {Millis: long, Deps: []int{0}}, {Millis: 1, Deps: []int{1, 2}, Output: true},
	}}
}

func TestRunEndedByBeginIsOver(t *testing.T) {
	t.Parallel()
	e := &engine{begin: plans(activities.BeginResult{Ended: true})}
	require.NoError(t, e.execute(t, nil))
	require.Equal(t, []string{"begin replan=false"}, e.log)
}

func TestRunContinuesAfterTheBatchOfBegin(t *testing.T) {
	t.Parallel()
	var read []activities.Input
	e := &engine{
		begin: plans(activities.BeginResult{PlanHash: "p", Shape: steps(), First: &activities.RunResult{
			Units: []graph.UnitResult{{Unit: 0, Status: graph.Done, Values: []string{"value-0"}}},
		}}),
		run: func(p activities.RunParams) (activities.RunResult, error) {
			read = append(read, p.Inputs...)
			return activities.RunResult{}, nil
		},
	}
	require.NoError(t, e.execute(t, nil))
	require.ElementsMatch(t, []string{"begin replan=false", "long [1] of p", "long [2] of p", "cheap [3] of p", "finish succeeded"}, e.log)
	require.Equal(t, "finish succeeded", e.log[len(e.log)-1])
	require.Contains(t, read, activities.Input{Unit: 0, Values: []string{"value-0"}})
	require.ElementsMatch(t, []string{"value-0", "value-1", "value-2"}, e.finish.Values, "what was stored is forgotten")
}

func TestANodeThatFailsInTheFirstBatchFailsTheRun(t *testing.T) {
	t.Parallel()
	e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: steps(), First: &activities.RunResult{
		Units: []graph.UnitResult{{Unit: 0, Status: graph.Failed}}, Failed: "n0",
	}})}
	require.NoError(t, e.execute(t, nil))
	require.Equal(t, []string{"begin replan=false", "finish failed"}, e.log)
	require.Equal(t, "n0", e.finish.Node)
}

// Nodes of the runtime run one by one, an output before others that are ready: an output that runs beside a node that
// fails is saved, a node beside it that is no output is stopped.
func TestAnOutputThatRunsBesideAFailingNodeIsSaved(t *testing.T) {
	t.Parallel()
	failed, begun := make(chan struct{}), sync.WaitGroup{}
	begun.Add(3)
	e := &engine{
		begin: plans(activities.BeginResult{PlanHash: "p", Shape: graph.Shape{Units: []graph.Unit{
			{Millis: long}, {Millis: long, Output: true}, {Millis: long}, {Millis: 1, Deps: []int{0, 2}, Output: true},
		}}}),
		beside: true,
		run: func(p activities.RunParams) (activities.RunResult, error) {
			begun.Done()
			begun.Wait()
			if p.Units[0] == 0 {
				return activities.RunResult{Units: []graph.UnitResult{{Unit: 0, Status: graph.Failed}}, Failed: "n0"}, nil
			}
			<-failed
			return activities.RunResult{Units: []graph.UnitResult{{
				Unit: p.Units[0], Status: graph.Done,
				Values: []string{fmt.Sprintf("value-%d", p.Units[0])},
			}}}, nil
		},
	}
	env := e.environment()
	env.SetOnActivityCompletedListener(func(_ *activity.Info, result converter.EncodedValue, _ error) {
		var res activities.RunResult
		if result != nil && result.Get(&res) == nil && res.Failed != "" {
			close(failed)
		}
	})
	require.NoError(t, executed(t, env, nil))
	require.Equal(t, "n0", e.finish.Node)
	require.Equal(t, []string{"value-1"}, e.finish.Values)
}

// The log behind a failover lacks events that it had: the run tells each batch how far it has seen it, starts over
// when it learns that this is gone, and so does one that is about to succeed.
func TestRunRestartsWhenItsEventsAreLost(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // batches run beside each other
	lost, seen := false, map[int]int64{}
	e := &engine{
		begin:  plans(activities.BeginResult{PlanHash: "p", Shape: steps()}),
		refuse: 1,
		run: func(p activities.RunParams) (activities.RunResult, error) {
			mu.Lock()
			defer mu.Unlock()
			seen[p.Units[0]] = p.Seen
			if !lost && slices.Contains(p.Units, 3) {
				lost = true
				return activities.RunResult{}, temporal.NewNonRetryableApplicationError("lost", attempt.ErrPlanChanged, nil)
			}
			res := done(p)
			res.Version = int64(p.Units[0] + 10)
			return res, nil
		},
	}
	require.NoError(t, e.execute(t, nil))
	count := func(line string) (n int) {
		for _, l := range e.log {
			if l == line {
				n++
			}
		}
		return n
	}
	require.Equal(t, 2, count("begin replan=true"), "for the batch, and for the end")
	require.Equal(t, 3, count("cheap [0] of p"))
	require.Equal(t, 2, count("finish succeeded"))
	require.Equal(t, "finish succeeded", e.log[len(e.log)-1])
	require.Zero(t, seen[0], "what was seen before is not asked for again")
	require.Equal(t, int64(12), seen[3])
	require.Equal(t, int64(13), e.finish.Seen)
}

// A worker of another version took over: the graph starts over under its plan.
func TestARunIsPlannedAgainWhenThePlanChanged(t *testing.T) {
	t.Parallel()
	e := &engine{
		begin: plans(activities.BeginResult{PlanHash: "old", Shape: steps()}, activities.BeginResult{PlanHash: "new", Shape: steps()}),
		run: func(p activities.RunParams) (activities.RunResult, error) {
			if p.PlanHash == "old" && slices.Contains(p.Units, 1) {
				return activities.RunResult{}, temporal.NewNonRetryableApplicationError("changed", attempt.ErrPlanChanged, nil)
			}
			return activities.RunResult{}, nil
		},
	}
	require.NoError(t, e.execute(t, nil))
	require.Contains(t, e.log, "begin replan=true")
	require.Contains(t, e.log, "cheap [0] of new", "it starts over")
	require.Contains(t, e.log, "cheap [3] of new")
	require.Equal(t, activities.Succeeded, e.finish.Outcome)
}

func TestAProducerWhoseStoredValueIsGoneRunsAgain(t *testing.T) {
	t.Parallel()
	lost := false
	e := &engine{
		begin: plans(activities.BeginResult{PlanHash: "p", Shape: steps()}),
		run: func(p activities.RunParams) (activities.RunResult, error) {
			if slices.Contains(p.Units, 3) && !lost {
				lost = true
				return activities.RunResult{Lost: []int{1}}, nil
			}
			return activities.RunResult{}, nil
		},
	}
	require.NoError(t, e.execute(t, nil))
	count := func(part string) (n int) {
		for _, line := range e.log {
			if strings.Contains(line, part) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 2, count("[1"), "%v", e.log)
	require.Equal(t, 1, count("[2]"), "what is stored does not run again: %v", e.log)
	require.Equal(t, activities.Succeeded, e.finish.Outcome)
}

func TestAnInputIsComputedOnlyWhenItsNodeAsksForIt(t *testing.T) {
	t.Parallel()
	for _, asked := range []string{"a", "b"} {
		t.Run(asked, func(t *testing.T) {
			t.Parallel()
			behind := map[string]int{"a": 0, "b": 1}
			needs := false
			e := &engine{
				begin: plans(activities.BeginResult{PlanHash: "p", Shape: graph.Shape{Units: []graph.Unit{
					{Millis: long},
					{Millis: long},
					{Millis: 1, Lazy: []graph.LazyDep{{Input: "a", Unit: 0}, {Input: "b", Unit: 1}}, Output: true},
				}}}),
				run: func(p activities.RunParams) (activities.RunResult, error) {
					if slices.Contains(p.Units, 2) && !needs {
						needs = true
						return activities.RunResult{Units: []graph.UnitResult{{Unit: 2, Status: graph.NeedsInputs, Needs: []string{asked}}}}, nil
					}
					return activities.RunResult{}, nil
				},
			}
			require.NoError(t, e.execute(t, nil))
			require.Equal(t, []string{
				"begin replan=false", "cheap [2] of p", fmt.Sprintf("long [%d 2] of p", behind[asked]), "finish succeeded",
			}, e.log)
		})
	}
}

func TestALongRunContinuesAsANewExecution(t *testing.T) {
	t.Parallel()
	e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: steps()})}
	env := e.environment()
	e.run = func(p activities.RunParams) (activities.RunResult, error) {
		if slices.Contains(p.Units, 1) {
			suggestContinuing(env)
		}
		return activities.RunResult{}, nil
	}
	err := executed(t, env, nil)
	var next *workflow.ContinueAsNewError
	require.True(t, errors.As(err, &next), "%v", err)
	require.NotContains(t, strings.Join(e.log, "\n"), "finish")
	var params workflows.RunGraphParams
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &params))

	var read []activities.Input
	rest := &engine{run: func(p activities.RunParams) (activities.RunResult, error) {
		read = append(read, p.Inputs...)
		return activities.RunResult{}, nil
	}}
	require.NoError(t, rest.execute(t, params.Resumed))
	require.Equal(t, []string{"cheap [3] of p", "finish succeeded"}, rest.log, "it neither plans nor repeats what is done")
	require.ElementsMatch(t, []activities.Input{{Unit: 1, Values: []string{"value-1"}}, {Unit: 2, Values: []string{"value-2"}}}, read)
	require.ElementsMatch(t, []string{"value-0", "value-1", "value-2"}, rest.finish.Values)
}

func TestACanceledRunEndsAsCanceled(t *testing.T) {
	t.Parallel()
	e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: steps()})}
	env := e.environment()
	e.run = func(p activities.RunParams) (activities.RunResult, error) {
		if slices.Contains(p.Units, 0) {
			env.CancelWorkflow()
		}
		return activities.RunResult{}, nil
	}
	require.NoError(t, executed(t, env, nil))
	require.Equal(t, "finish canceled", e.log[len(e.log)-1])
}

// Two versions that plan differently and take turns must not keep a processor busy with planning.
func TestReplanningBacksOff(t *testing.T) {
	t.Parallel()
	const changes = 6
	planned := 0
	e := &engine{begin: func(activities.BeginParams) activities.BeginResult {
		planned++
		return activities.BeginResult{PlanHash: fmt.Sprint(planned), Shape: steps()}
	}}
	e.run = func(p activities.RunParams) (activities.RunResult, error) {
		if p.PlanHash != fmt.Sprint(changes) {
			return activities.RunResult{}, temporal.NewNonRetryableApplicationError("changed", attempt.ErrPlanChanged, nil)
		}
		return activities.RunResult{}, nil
	}
	env := e.environment()
	began := env.Now()
	require.NoError(t, executed(t, env, nil))
	require.Equal(t, changes, planned)
	require.Greater(t, env.Now().Sub(began), 5*time.Second, "by the engine's clock, which the test advances")
	require.Equal(t, activities.Succeeded, e.finish.Outcome)
}

// An accepted job outlives a database that is away for longer than one attempt may take.
func TestARunOutlivesALongOutage(t *testing.T) {
	t.Parallel()
	e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: steps()})}
	env := e.environment()
	began := env.Now()
	away := func() error {
		if env.Now().Sub(began) < 10*time.Minute {
			return errors.New("the database is not available")
		}
		return nil
	}
	env.OnActivity("Begin", mock.Anything, mock.Anything).Return(func(_ context.Context, p activities.BeginParams) (activities.BeginResult,
		error,
	) {
		if err := away(); err != nil {
			return activities.BeginResult{}, err
		}
		return e.begin(p), nil
	})
	require.NoError(t, executed(t, env, nil))
	require.Equal(t, activities.Succeeded, e.finish.Outcome)
	require.GreaterOrEqual(t, env.Now().Sub(began), 10*time.Minute)
}

// A batch that is larger than the planner could know, or that waits for the end of an outage or for a slot of its account, is not
// failed for it.
func TestBatchOverItsTimeLimitRunsAsALongOne(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]error{
		"timeout": temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil),
		"outage":  errors.New("the database is away"),
		"no slot": temporal.NewApplicationErrorWithOptions("", attempt.ErrNoSlot, temporal.ApplicationErrorOptions{NextRetryDelay: time.Second}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: steps()})}
			env := e.environment()
			env.OnActivity("RunCheap", mock.Anything, mock.Anything).Return(activities.RunResult{}, reason)
			require.NoError(t, executed(t, env, nil))
			require.Equal(t, activities.Succeeded, e.finish.Outcome)
			require.Nil(t, e.finish.Failure)
			require.True(t, slices.ContainsFunc(e.log, func(line string) bool { return strings.HasPrefix(line, "long [0") }))
		})
	}
}

// Work that failed for long without a known reason ends its job with the number of attempts and nothing that is internal.
func TestARunSaysHowOftenItsWorkWasTried(t *testing.T) {
	t.Parallel()
	for kind, message := range map[string]string{
		attempt.ErrGivenUp: "a part of the graph could not be run: given up after 20 attempts in 24h0m0s",
		attempt.ErrFinal:   "a part of the graph could not be run",
	} {
		e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: steps()})}
		e.run = func(activities.RunParams) (activities.RunResult, error) {
			return activities.RunResult{}, temporal.NewNonRetryableApplicationError(
				"given up after 20 attempts in 24h0m0s", kind, errors.New("input/output error"))
		}
		require.NoError(t, e.execute(t, nil))
		require.Equal(t, activities.Failed, e.finish.Outcome)
		require.Equal(t, message, e.finish.Failure.Message)
	}
}

// A run that cannot be planned, or of whose plan no node can run, fails with a reason.
func TestARunThatCannotRunFails(t *testing.T) {
	t.Parallel()
	refused := temporal.NewNonRetryableApplicationError("a bug", attempt.ErrFinal, nil)
	for message, planned := range map[string]error{"the run could not be planned": refused, "no node of the graph can run": nil} {
		e := &engine{}
		env := e.environment()
		circle := activities.BeginResult{PlanHash: "p", Shape: graph.Shape{Units: []graph.Unit{{Millis: 1, Deps: []int{0}, Output: true}}}}
		env.OnActivity("Begin", mock.Anything, mock.Anything).Return(circle, planned)
		require.NoError(t, executed(t, env, nil))
		require.Equal(t, activities.Failed, e.finish.Outcome)
		require.Equal(t, message, e.finish.Failure.Message)
	}
}

// A graph of short nodes does not wait behind long ones, and nodes that work do not wait behind those that wait for a
// partner's model: the batches of either have a queue of their own. Where no worker takes
// them from there, they run with the long ones.
func TestShortBatchesHaveAQueueOfTheirOwn(t *testing.T) {
	t.Parallel()
	queues := func(millis int64, partner, waits bool) (seen []string) {
		shape := graph.Shape{Units: []graph.Unit{{Millis: millis, Output: true, Waits: partner}}}
		e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: shape})}
		env := e.environment()
		env.OnActivity("RunLong", mock.Anything, mock.Anything).Return(func(ctx context.Context, p activities.RunParams) (activities.RunResult,
			error,
		) {
			queue := activity.GetInfo(ctx).TaskQueue
			seen = append(seen, strings.TrimPrefix(queue, "default-test-taskqueue"))
			if waits && queue != "default-test-taskqueue" {
				return activities.RunResult{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
			}
			return done(p), nil
		})
		require.NoError(t, executed(t, env, nil))
		require.Equal(t, activities.Succeeded, e.finish.Outcome)
		return seen
	}
	require.Equal(t, []string{workflows.ShortQueue}, queues(1000, false, false))
	require.Equal(t, []string{""}, queues(20_000, false, false))
	require.Equal(t, []string{workflows.ShortQueue, ""}, queues(1000, false, true))
	require.Equal(t, []string{workflows.PartnerQueue}, queues(600_000, true, false))
	require.Equal(t, []string{workflows.PartnerQueue, ""}, queues(600_000, true, true))
}

// The activity of the run's last segment ends the run, if it can.
func TestTheLastSegmentEndsTheRun(t *testing.T) {
	t.Parallel()
	for ended, last := range map[bool]string{true: "segment [1] of p", false: "finish succeeded"} {
		e := &engine{
			begin: plans(activities.BeginResult{PlanHash: "p", Shape: graph.Shape{Units: []graph.Unit{
				{Segment: true}, {Segment: true, Deps: []int{0}, Output: true},
			}}}),
			run: func(p activities.RunParams) (activities.RunResult, error) {
				res := done(p)
				require.Equal(t, p.Units[0] == 1, p.Last)
				if p.Last {
					require.Equal(t, []string{"value-0"}, p.Stored)
				}
				res.Ended = p.Last && ended
				return res, nil
			},
		}
		require.NoError(t, e.execute(t, nil))
		require.Equal(t, last, e.log[len(e.log)-1])
	}
}
