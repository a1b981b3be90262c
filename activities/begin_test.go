package activities_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
)

// counted is a log that counts the reads of streams.
type counted struct {
	*eventlogtest.Memory
	reads atomic.Int64
}

func (c *counted) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventlog.Recorded, error) {
	c.reads.Add(1)
	return c.Memory.ReadStream(ctx, stream, after, limit)
}

// ends is a store that ends jobs in a log.
type ends struct{ log *eventlogtest.Memory }

func (e ends) End(ctx context.Context, end job.Ending) (job.Ended, error) {
	expected := eventlog.AnyVersion
	if end.After > 0 {
		expected = end.After
	}
	last := eventlog.Event{ID: uuid.New(), Type: end.Type, Data: end.Data}
	_, err := e.log.Append(ctx, eventlog.Append{
		Stream: end.ID.Stream(), Account: end.Account, Expected: expected, Close: true, Events: append(slices.Clip(end.Before), last),
	})
	if errors.Is(err, eventlog.ErrVersion) {
		err = job.ErrOvertaken
	}
	return job.Ended{Applied: err == nil}, err
}

type noLimits struct{}

func (noLimits) Bounds(context.Context, string) (b job.Bounds, err error) { return b, nil }

// beginning is a bench whose job was accepted by this process, which counts reads.
func beginning(t *testing.T, prompt string, at time.Time) (*bench, *counted) {
	t.Helper()
	step := &node.Class{
		Name: "Step", Module: "nodes", OutputNode: true, Outputs: []node.Output{{Name: "STEP", Type: "STEP"}},
		Run: func(context.Context, *node.Call) (node.Result, error) {
			return node.Result{Outputs: []node.Value{"done"}}, nil
		},
	}
	costly := &node.Class{
		Name: "Costly", Module: "nodes", OutputNode: true, Inputs: []node.Input{{Name: "from", Type: "STEP"}},
		Cost: func(node.Args, int64) time.Duration { return time.Minute },
		Run:  func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil },
	}
	shown := &node.Class{
		Name: "Shown", Module: "nodes", OutputNode: true, Run: costly.Run,
		Cost: func(node.Args, int64) time.Duration { return 30 * time.Millisecond },
	}
	b := newBench(t, prompt, []string{"1", "2"}, step, costly, shown)
	log := &counted{Memory: b.log}
	state, err := eventlog.Fold(b.activities.Types, eventlog.Read(t.Context(), b.log, b.ref.Job.Stream(), 0), job.Job{}, job.Fold)
	require.NoError(t, err)
	doc, err := b.activities.Sources.Events.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 1)
	require.NoError(t, err)
	data, err := b.log.Decode(doc[0])
	require.NoError(t, err)
	g, err := graph.Parse([]byte(prompt), graph.Limits{})
	require.NoError(t, err)
	submitted, ok := data.(job.SubmittedV1)
	require.True(t, ok)
	b.activities.Events, b.activities.Jobs, b.activities.Tiers = log, ends{b.log}, noLimits{}
	b.activities.Graphs = graph.NewHandover[job.Fresh]()
	b.activities.Graphs.Put(string(b.ref.Job), g, job.Fresh{Job: state, Document: submitted.Document, At: at})
	return b, log
}

func (b *bench) beginRun(t *testing.T) (res activities.BeginResult) {
	t.Helper()
	env := environment(t.Context())
	env.RegisterActivity(b.activities.Begin)
	value, err := env.ExecuteActivity(b.activities.Begin, activities.BeginParams{RunRef: b.ref, Execution: "x"})
	require.NoError(t, err)
	require.NoError(t, value.Get(&res))
	return res
}

const (
	onlyCheap  = `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Step","inputs":{}}}`
	thenShown  = `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Shown","inputs":{}}}`
	thenCostly = `{"1":{"class_type":"Step","inputs":{}},"2":{"class_type":"Costly","inputs":{"from":["1",0]}}}`
)

// The run of a job that this process has just accepted begins without a read of its events.
func TestAFreshJobBeginsWithoutARead(t *testing.T) {
	t.Parallel()
	for name, prompt := range map[string]string{"one append": onlyCheap, "two appends": thenShown} {
		b, log := beginning(t, prompt, time.Now())
		require.True(t, b.beginRun(t).Ended, name)
		require.Zero(t, log.reads.Load(), name)
		require.Equal(t, []string{"started 1", "executed 1", "started 2", "executed 2"}, b.events(t), name)
	}

	b, log := beginning(t, onlyCheap, time.Now().Add(-time.Hour))
	require.True(t, b.beginRun(t).Ended)
	require.NotZero(t, log.reads.Load(), "nobody remembers whether it was canceled meanwhile")
}

// What the nodes gave that ran as the run began is kept for later jobs.
func TestABeginKeepsResults(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedPrompt, []string{"4"}, gated("")...)
	cache := &kept{}
	b.activities.Cache = &nodecache.Cache{Store: cache, Bytes: 1 << 20, Age: time.Hour}
	b.activities.Jobs, b.activities.Tiers, b.activities.FusedFor = ends{b.log}, noLimits{}, time.Minute
	require.True(t, b.beginRun(t).Ended)
	require.Equal(t, []string{"Show"}, cache.classes)
}

// unrecorded is a store that cannot record the first end of a job.
type unrecorded struct {
	ends
	lost bool
}

func (u *unrecorded) End(ctx context.Context, end job.Ending) (job.Ended, error) {
	if !u.lost {
		u.lost = true
		return job.Ended{}, errAway
	}
	return u.ends.End(ctx, end)
}

// A node whose result was kept, but whose end was not recorded, runs again in the same run: the account has not paid for it. After its
// end was recorded, another execution of the run takes the result.
func TestAnUnrecordedNodeIsNotCachedForItsOwnRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, gatedPrompt, []string{"4"}, gated("")...)
	cache := &shelf{entries: map[nodecache.Key]nodecache.Entry{}}
	b.activities.Cache = &nodecache.Cache{Store: cache, Bytes: 1 << 20, Age: time.Hour}
	b.activities.Jobs, b.activities.Tiers, b.activities.FusedFor = &unrecorded{ends: ends{b.log}}, noLimits{}, time.Minute
	env := environment(t.Context())
	env.RegisterActivity(b.activities.Begin)
	_, err := env.ExecuteActivity(b.activities.Begin, activities.BeginParams{RunRef: b.ref, Execution: "x"})
	retried(t, err)
	require.NotEmpty(t, cache.entries)
	require.Empty(t, b.events(t))
	require.True(t, b.beginRun(t).Ended)
	require.False(t, b.executed(t)["4"].Cached)

	again := newBench(t, gatedPrompt, []string{"4"}, gated("")...)
	again.activities.Cache, again.activities.Jobs, again.activities.Tiers = b.activities.Cache, ends{again.log}, noLimits{}
	for key, e := range cache.entries {
		e.Job = string(again.ref.Job)
		cache.entries[key] = e
	}
	again.append(t, job.TypeNodeExecuted, job.NodeExecutedV1{Run: 1, Node: "4", Class: "Show"})
	require.NotEmpty(t, again.started(t).Cached)
}

// An attempt after one that was lost reads what that one may have recorded.
func TestALaterAttemptReadsItsJob(t *testing.T) {
	t.Parallel()
	b, log := beginning(t, onlyCheap, time.Now())
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // one second otherwise
	lostOnce := func(ctx context.Context, p activities.BeginParams) (activities.BeginResult, error) {
		if activity.GetInfo(ctx).Attempt == 1 {
			return activities.BeginResult{}, errAway
		}
		return b.activities.Begin(ctx, p)
	}
	env.RegisterActivity(lostOnce)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour})
		return workflow.ExecuteActivity(ctx, lostOnce, activities.BeginParams{RunRef: b.ref, Execution: "x"}).Get(ctx, nil)
	})
	require.NoError(t, env.GetWorkflowError())
	require.NotZero(t, log.reads.Load())
	require.Empty(t, b.events(t), "it runs no nodes")
}

// What else happened to the job since its submission counts, although the run did not read it at first: nothing is
// recorded of the nodes that ran.
func TestAFreshJobDoesNotBeginPastItsEvents(t *testing.T) {
	t.Parallel()
	for name, prompt := range map[string]string{"one append": onlyCheap, "several batches": thenCostly} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := beginning(t, prompt, time.Now())
			b.append(t, job.TypeCancelRequested, job.CancelRequestedV1{})
			require.True(t, b.beginRun(t).Canceled)
			require.Empty(t, b.events(t))

			b, _ = beginning(t, prompt, time.Now())
			b.append(t, job.TypeStarted, job.StartedV1{Run: 1, Execution: "another"})
			require.True(t, b.beginRun(t).Skip)
			require.Empty(t, b.events(t))
		})
	}
}
