package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
	"github.com/millrace-dev/millrace/internal/stream"
)

// noFiles is a node's view of an account without files.
type noFiles struct{ node.Files }

func (noFiles) Saved() []job.OutputFile { return nil }

type noAssets struct{}

func (noAssets) ResolveForJob(context.Context, job.RunRef, *graph.Graph) error { return nil }

type noBus struct{}

func (noBus) Publish(context.Context, stream.Frame) error { return nil }

// bench is a worker's activities over a log in memory that holds one admitted job.
type bench struct {
	activities *activities.Graph
	stops      *activities.Stops
	log        *eventlogtest.Memory
	ref        job.RunRef
	calls      *faulttest.Calls // of its stores
	repeated   bool             // an activity whose call failed was repeated
}

func newBench(t *testing.T, prompt string, targets []string, classes ...*node.Class) *bench {
	t.Helper()
	return newBenchOf(t, job.Source{Prompt: json.RawMessage(prompt)}, targets, classes...)
}

func newBenchOf(t *testing.T, submitted job.Source, targets []string, classes ...*node.Class) *bench {
	t.Helper()
	return newBenchFrom(t, submitted, job.SubmittedV1{Targets: targets}, classes...)
}

// newBenchFrom is newBenchOf for a submission with these properties.
func newBenchFrom(t *testing.T, submitted job.Source, submission job.SubmittedV1, classes ...*node.Class) *bench {
	t.Helper()
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	registry, err := node.NewRegistry(classes...)
	require.NoError(t, err)
	log, blobs, stops := eventlogtest.NewMemory(types), mem.New(), activities.NewStops()
	b := &bench{stops: stops, log: log, ref: job.RunRef{Job: job.NewID(), Account: "a", Run: 1}}
	b.activities = activities.NewGraph(activities.Deps{
		Events: log, Types: types, Sources: job.Sources{Events: log, Registry: types, Blobs: blobs},
		Assets: noAssets{}, Classes: registry, Values: nodevalue.New(blobs, 1<<20, 1<<20, time.Minute), Bus: noBus{}, Stops: stops,
		Files:     func(job.RunRef, string) activities.NodeFiles { return noFiles{} },
		Heartbeat: func(context.Context) error { return nil },
		Worker:    "w", Log: slog.New(slog.DiscardHandler),
	})
	source, err := json.Marshal(submitted)
	require.NoError(t, err)
	submission.Document = job.Document{Inline: string(source)}
	b.append(t, job.TypeSubmitted, submission)
	b.append(t, job.TypeAdmitted, job.AdmittedV1{Run: 1})
	return b
}

func (b *bench) append(t *testing.T, eventType string, data any) []eventlog.Recorded {
	t.Helper()
	recorded, err := b.log.Append(t.Context(), eventlog.Append{
		Stream: b.ref.Job.Stream(), Account: b.ref.Account, Expected: eventlog.AnyVersion,
		Events: []eventlog.Event{{ID: uuid.New(), Type: eventType, Data: data}},
	})
	require.NoError(t, err)
	return recorded
}

// events are the recorded events of nodes, "type node", in order.
func (b *bench) events(t *testing.T) []string {
	t.Helper()
	recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 1000)
	require.NoError(t, err)
	var out []string
	for _, rec := range recorded {
		data, err := b.log.Decode(rec)
		require.NoError(t, err)
		switch e := data.(type) {
		case job.NodeStartedV1:
			out = append(out, "started "+e.Node)
		case job.NodeExecutedV1:
			out = append(out, "executed "+e.Node)
		}
	}
	return out
}

// environment runs activities as a worker does whose own context is ctx.
func environment(ctx context.Context) *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Minute) // an activity has three seconds otherwise
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	return env
}

// begin plans the run and runs nothing.
func (b *bench) begin(t *testing.T) activities.BeginResult {
	t.Helper()
	env := environment(t.Context())
	env.RegisterActivity(b.activities.Begin)
	value, err := env.ExecuteActivity(b.activities.Begin, activities.BeginParams{RunRef: b.ref, Execution: "x", Replan: true})
	require.NoError(t, err)
	var plan activities.BeginResult
	require.NoError(t, value.Get(&plan))
	return plan
}

func (b *bench) run(ctx context.Context, plan activities.BeginResult, units ...int) (activities.RunResult, error) {
	env := environment(ctx)
	env.RegisterActivity(b.activities.RunLong)
	value, err := env.ExecuteActivity(b.activities.RunLong, activities.RunParams{RunRef: b.ref, PlanHash: plan.PlanHash, Units: units})
	if err != nil {
		return activities.RunResult{}, err
	}
	var res activities.RunResult
	return res, value.Get(&res)
}

// waiting is a class that runs until it is interrupted, and says on the channel that it has begun.
func waiting() (*node.Class, <-chan struct{}) {
	begun := make(chan struct{})
	return &node.Class{
		Name: "Wait", Module: "nodes", OutputNode: true, Cost: func(node.Args, int64) time.Duration { return time.Minute },
		Run: func(ctx context.Context, _ *node.Call) (node.Result, error) {
			close(begun)
			<-ctx.Done()
			return node.Result{}, context.Cause(ctx)
		},
	}, begun
}

const waitPrompt = `{"1":{"class_type":"Wait","inputs":{}}}`

func TestCanceledNodeEndsTheRunAndIsNamed(t *testing.T) {
	t.Parallel()
	class, begun := waiting()
	b := newBench(t, waitPrompt, []string{"1"}, class)
	plan := b.begin(t)
	go func() {
		<-begun
		b.stops.Observe([]eventlog.Recorded{{Type: job.TypeCancelRequested, Stream: b.ref.Job.Stream()}})
	}()
	res, err := b.run(t.Context(), plan, 0)
	require.NoError(t, err)
	require.True(t, res.Stopped)
	require.Equal(t, &job.NodeRef{Node: "1", Class: "Wait"}, res.At)
}

// A batch that is interrupted records the nodes that are done. If a canceled one cannot, it is tried again; one whose worker stops leaves
// them to the next attempt.
func TestAnInterruptedBatchRecordsItsFinishedNodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ canceled, away bool }{
		"canceled": {true, false}, "canceled, and the log is away": {true, true},
		"its worker stops": {false, false}, "its worker stops, and the log is away": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, last := step(), step()
			var begun chan struct{}
			last.Name, last.OutputNode = "Wait", true
			last.Run = func(ctx context.Context, _ *node.Call) (node.Result, error) {
				close(begun)
				<-ctx.Done()
				return node.Result{}, errors.New("interrupted")
			}
			b := newBench(t, `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Wait","inputs":{"in":["1",0]}}}`, []string{"2"}, first, last)
			plan := b.begin(t)
			if c.away {
				b.activities.Events = &failing{b.log, -2, 0}
			}
			synctest.Test(t, func(t *testing.T) { // in which both nodes are quick, so that nothing is recorded before
				begun = make(chan struct{})
				ctx, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				go func() {
					<-begun
					if c.canceled {
						b.stops.Observe([]eventlog.Recorded{{Type: job.TypeCancelRequested, Stream: b.ref.Job.Stream()}})
					} else {
						stop(errors.New("the worker stops"))
					}
				}()
				res, err := b.run(ctx, plan, 0, 1)
				if !c.canceled || c.away {
					require.Equal(t, activities.RunResult{}, res)
					retried(t, err)
				} else {
					require.NoError(t, err)
					require.Equal(t, activities.RunResult{
						Units: []graph.UnitResult{{Unit: 0, Status: graph.Done}}, Stopped: true, At: &job.NodeRef{Node: "2", Class: "Wait"}, Version: 5,
					}, res)
				}
			})
			want := []string{"started 1", "executed 1", "started 2"}
			if c.away {
				want = nil
			}
			require.Equal(t, want, b.events(t))
		})
	}
}

// The last batch ends its run if all of its nodes are done, and only then.
func TestARunEndsWithItsLastBatch(t *testing.T) {
	t.Parallel()
	lost := []activities.Input{{Unit: 0, Values: []string{"blake3:" + strings.Repeat("07", 32)}}}
	for name, c := range map[string]struct {
		err    error // of the node
		inputs []activities.Input
		cancel bool
		want   activities.RunResult
		ends   bool
	}{
		"done": {nil, nil, false, activities.RunResult{Units: []graph.UnitResult{{Unit: 1, Status: graph.Done}}, Ended: true}, true},
		"failed": {fault.New(fault.Invalid, "", "no"), nil, false, activities.RunResult{
			Units: []graph.UnitResult{{Unit: 1, Status: graph.Failed}}, Failed: "2", Version: 4,
		}, false},
		"away": {errAway, nil, false, activities.RunResult{}, false},
		"canceled": {errors.New("interrupted"), nil, true, activities.RunResult{
			Stopped: true, At: &job.NodeRef{Node: "2", Class: "Last"}, Version: 3,
		}, false},
		"lost input": {nil, lost, false, activities.RunResult{Lost: []int{0}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, last := step(), step()
			last.Name, last.OutputNode = "Last", true
			b := newBench(t, `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Last","inputs":{"in":["1",0]}}}`, []string{"2"}, first, last)
			last.Run = func(ctx context.Context, _ *node.Call) (node.Result, error) {
				if c.cancel {
					b.stops.Observe([]eventlog.Recorded{{Type: job.TypeCancelRequested, Stream: b.ref.Job.Stream()}})
					<-ctx.Done()
				}
				return node.Result{Outputs: []node.Value{nil}}, c.err
			}
			b.activities.Jobs, b.activities.Tiers = ends{b.log}, noLimits{}
			plan := b.begin(t)
			ref, err := b.activities.Values.Put(t.Context(), b.ref.Job, []any{"x"})
			require.NoError(t, err)
			inputs := []activities.Input{{Unit: 0, Values: []string{ref}}}
			if c.inputs != nil {
				inputs = c.inputs
			}
			res, err := b.batch(t, activities.RunParams{
				RunRef: b.ref, PlanHash: plan.PlanHash, Units: []int{1}, Inputs: inputs, Last: true, Stored: []string{ref},
			})
			if errors.Is(c.err, errAway) {
				retried(t, err)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, c.want, res)
			_, succeeded := b.last(t).(job.SucceededV1)
			require.Equal(t, c.ends, succeeded)
			require.Equal(t, !c.ends, b.activities.Values.Has(t.Context(), []string{ref}), "values that no node reads are deleted with the end")
		})
	}
}

// A batch does not go on with a run whose events the log has lost, and such a run does not succeed; one that the log
// has not admitted is not ended in its place.
func TestRunIsComparedWithTheLog(t *testing.T) {
	t.Parallel()
	class := &node.Class{
		Name: "Wait", Module: "nodes", OutputNode: true, Cost: func(node.Args, int64) time.Duration { return time.Minute },
		Run: func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil },
	}
	b := newBench(t, waitPrompt, []string{"1"}, class)
	plan := b.begin(t)
	res, err := b.run(t.Context(), plan, 0)
	require.NoError(t, err)
	events, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 100)
	require.NoError(t, err)
	require.Equal(t, events[len(events)-1].Version, res.Version)

	env := environment(t.Context())
	env.RegisterActivity(b.activities.RunLong)
	env.RegisterActivity(b.activities.Finish)
	params := activities.RunParams{RunRef: b.ref, PlanHash: plan.PlanHash, Units: []int{0}, Seen: res.Version}
	_, err = env.ExecuteActivity(b.activities.RunLong, params)
	require.NoError(t, err)
	var app *temporal.ApplicationError
	params.Seen += 100
	_, err = env.ExecuteActivity(b.activities.RunLong, params)
	require.ErrorAs(t, err, &app)
	require.Equal(t, attempt.ErrPlanChanged, app.Type())
	_, err = env.ExecuteActivity(b.activities.Finish, activities.FinishParams{RunRef: b.ref, Outcome: activities.Succeeded, Seen: params.Seen})
	require.ErrorAs(t, err, &app)
	require.Equal(t, attempt.ErrPlanChanged, app.Type())

	waits := b.ref
	waits.Run = 2
	_, err = env.ExecuteActivity(b.activities.Finish, activities.FinishParams{RunRef: waits, Outcome: activities.Canceled})
	require.NoError(t, err, "and without a store of jobs, nothing was ended")
}

// A worker that shuts down, and a sibling that failed, interrupt a node too; neither is the user's wish.
func TestInterruptedNodeIsNotReportedAsCanceled(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{
		"the worker shuts down": worker.ErrWorkerShutdown, "the workflow cancels a sibling": temporal.NewCanceledError(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class, begun := waiting()
			b := newBench(t, waitPrompt, []string{"1"}, class)
			plan := b.begin(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-begun
				cancel(cause)
			}()
			res, err := b.run(ctx, plan, 0)
			require.Error(t, err)
			require.False(t, res.Stopped)
			var app *temporal.ApplicationError
			require.False(t, errors.As(err, &app) && app.NonRetryable(), "another worker is to run it again: %v", err)
		})
	}
}

// A producer whose stored value was lost runs again, in a batch with nodes that never ran.
func TestEventsOfRetriedNodesMayFollowNewerOnes(t *testing.T) {
	t.Parallel()
	class := &node.Class{
		Name: "Step", Module: "nodes", OutputNode: true,
		Run: func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil },
	}
	prompt := `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Step","inputs":{}},"3":{"class_type":"Step","inputs":{}}}`
	b := newBench(t, prompt, []string{"1", "2", "3"}, class)
	plan := b.begin(t)
	_, err := b.run(t.Context(), plan, 1)
	require.NoError(t, err)
	res, err := b.run(t.Context(), plan, 0, 1, 2)
	require.NoError(t, err)
	require.Len(t, res.Units, 3)
	require.Equal(t, []string{"started 2", "executed 2", "started 1", "executed 1", "started 3", "executed 3"}, b.events(t))
	_, err = b.run(t.Context(), plan, 1, 0, 2)
	require.NoError(t, err)
	require.Len(t, b.events(t), 6)
}

// A batch ends with the node that fails.
func TestNothingRunsAfterANodeThatFails(t *testing.T) {
	t.Parallel()
	class := &node.Class{
		Name: "Step", Module: "nodes", OutputNode: true,
		Run: func(context.Context, *node.Call) (node.Result, error) {
			return node.Result{}, fault.New(fault.Invalid, "", "no")
		},
	}
	b := newBench(t, `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Step","inputs":{}}}`, []string{"1", "2"}, class)
	b.activities.NodeTimeout = time.Minute
	res, err := b.run(t.Context(), b.begin(t), 0, 1)
	require.NoError(t, err)
	require.Equal(t, "1", res.Failed)
	require.Equal(t, []string{"started 1"}, b.events(t))
	require.Equal(t, "no", b.lastFailure(t).Failure.Message)
}

// lastFailure is the newest event, which tells that a node failed.
func (b *bench) lastFailure(t *testing.T) job.NodeFailedV1 {
	t.Helper()
	recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 1000)
	require.NoError(t, err)
	last, err := b.log.Decode(recorded[len(recorded)-1])
	require.NoError(t, err)
	require.IsType(t, job.NodeFailedV1{}, last)
	return last.(job.NodeFailedV1)
}

// A node has the time that the operator allows; an interrupted worker is something else.
func TestNodeOverItsTimeLimitFails(t *testing.T) {
	t.Parallel()
	slow, _ := waiting()
	b := newBench(t, `{"1":{"class_type":"Wait","inputs":{}}}`, []string{"1"}, slow)
	b.activities.NodeTimeout = 10 * time.Millisecond
	plan := b.begin(t)
	res, err := b.run(t.Context(), plan, 0)
	require.NoError(t, err)
	require.Equal(t, "1", res.Failed)
	failed := b.lastFailure(t)
	require.Equal(t, "ServiceError", failed.Failure.ExceptionType)
	require.Contains(t, failed.Failure.Message, "longer than its limit of 10ms")
}

// The calls of a partner node have limits of their own: what they wait for, such as this service while it is busy, is no failure of the
// node.
func TestAPartnerNodeHasTheLimitsOfItsCalls(t *testing.T) {
	t.Parallel()
	partner := &node.Class{
		Name: "Wait", Module: "nodes", OutputNode: true, Partner: true, Cost: func(node.Args, int64) time.Duration { return time.Minute },
		Run: func(ctx context.Context, _ *node.Call) (node.Result, error) {
			select {
			case <-ctx.Done():
				return node.Result{}, context.Cause(ctx)
			case <-time.After(50 * time.Millisecond):
				return node.Result{}, nil
			}
		},
	}
	b := newBench(t, waitPrompt, []string{"1"}, partner)
	b.activities.NodeTimeout = 10 * time.Millisecond
	res, err := b.run(t.Context(), b.begin(t), 0)
	require.NoError(t, err)
	require.Empty(t, res.Failed)
	require.Contains(t, b.events(t), "executed 1")
}

// A chain that takes longer than it was planned to ends early, but goes on until a node is done, and
// stores what the rest of it reads.
func TestFusedChainReturnsTheRestAtItsTimeLimit(t *testing.T) {
	t.Parallel()
	class := &node.Class{
		Name: "Next", Module: "nodes", OutputNode: true, Inputs: []node.Input{{Name: "in", Type: node.Int, Section: node.Optional}},
		Outputs: []node.Output{{Type: node.Int}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			before, _ := call.Args["in"].(int64)
			return node.Result{Outputs: []node.Value{before + 1}}, nil
		},
	}
	b := newBench(t, `{"1":{"class_type":"Next","inputs":{}},"2":{"class_type":"Next","inputs":{"in":["1",0]}},
		"3":{"class_type":"Next","inputs":{"in":["2",0]}}}`, []string{"1", "2", "3"}, class)
	b.activities.FusedFor = -time.Second
	plan := b.begin(t)
	sched, batches, failed := b.drive(t, plan, b.once)
	require.Empty(t, failed)
	require.True(t, sched.Finished())
	require.Equal(t, 3, batches)
	require.Equal(t, []string{"started 1", "executed 1", "started 2", "executed 2", "started 3", "executed 3"}, b.events(t))
}

// The engine tries a panic again for ever: a job must end with a reason rather than keep its place.
func TestPanicOutsideANodeEndsTheRun(t *testing.T) {
	t.Parallel()
	class := &node.Class{
		Name: "Broken", Module: "nodes", OutputNode: true,
		Cost: func(node.Args, int64) time.Duration { panic("no cost") },
		Run:  func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil },
	}
	b := newBench(t, `{"1":{"class_type":"Broken","inputs":{}}}`, []string{"1"}, class)
	for name, run := range map[string]func() error{
		"begin": func() error {
			env := environment(t.Context())
			env.RegisterActivity(b.activities.Begin)
			_, err := env.ExecuteActivity(b.activities.Begin, activities.BeginParams{RunRef: b.ref, Execution: "x"})
			return err
		},
		"batch": func() error {
			_, err := b.run(t.Context(), activities.BeginResult{}, 0)
			return err
		},
	} {
		for attempt := 1; attempt <= 5; attempt++ {
			err := run()
			require.ErrorContains(t, err, "panic: no cost", name)
			var app *temporal.ApplicationError
			require.ErrorAs(t, err, &app, name)
			require.Equal(t, attempt == 5, app.NonRetryable(), "%s, attempt %d", name, attempt)
		}
	}
}
