package activities_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// slot is the slot of the job of a bench.
type slot struct {
	*bench
	t        *testing.T
	released []int64 // versions of the stream at which it was given back
	free     bool
	refusals int                  // before it is free
	wait     job.SegmentWaitingV1 // for which TakeSlot was called last
}

func (s *slot) ReleaseSlot(_ context.Context, ref job.RunRef, version int64, _ job.Bounds) (bool, error) {
	s.released = append(s.released, version)
	s.append(s.t, job.TypeSlotReleased, job.SlotReleasedV1{Run: ref.Run})
	return true, nil
}

func (s *slot) TakeSlot(_ context.Context, _ job.RunRef, _ job.Bounds, wait job.SegmentWaitingV1) (bool, error) {
	s.wait = wait
	taken := s.free
	if s.refusals > 0 {
		s.refusals--
		s.free = s.refusals == 0
	}
	return taken, nil
}

// eventCount counts the events that are read.
type eventCount struct {
	eventlog.Store
	read int
}

func (c *eventCount) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventlog.Recorded, error) {
	events, err := c.Store.ReadStream(ctx, stream, after, limit)
	c.read += len(events)
	return events, err
}

// A waiting segment gives the slot of its job back as often as the job has one again for another segment that ends, but not while
// something of the job runs or wants the slot. It reads each event of the job once.
func TestWaitingSegmentGivesTheSlotBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, `{"1":{"class_type":"Step","inputs":{}}}`, []string{"1"})
	log := &eventCount{Store: b.log}
	b.activities.Events, b.activities.Tiers = log, noLimits{}
	synctest.Test(t, func(t *testing.T) {
		s := &slot{bench: b, t: t}
		ctx, stop := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer stop()
		go b.activities.WaitWithoutSlot(ctx, b.ref, 1, "1", s)
		after := func(releases int, why string) {
			t.Helper()
			<-time.After(10 * time.Second) // of the bubble
			synctest.Wait()
			require.Len(t, s.released, releases, why)
		}
		started := func(id string) {
			b.append(t, job.TypeNodeStarted, job.NodeStartedV1{Run: 1, Node: id, Class: "Step", Attempt: 1})
		}
		started("1")
		after(1, "node 1 began on a server that was lost")
		b.append(t, job.TypeSlotTaken, job.SlotTakenV1{Run: 1})
		started("2")
		after(1, "node 2 runs")
		b.append(t, job.TypeNodeExecuted, job.NodeExecutedV1{Run: 1, Node: "2"})
		after(2, "another segment has taken the slot and has ended")
		b.append(t, job.TypeSegmentWaiting, job.SegmentWaitingV1{Run: 1, Segment: 2, Slot: true})
		after(2, "other nodes want the slot")
		b.append(t, job.TypeSlotTaken, job.SlotTakenV1{Run: 1})
		after(3, "they have had it")
		b.append(t, job.TypeSegmentWaiting, job.SegmentWaitingV1{Run: 1, Segment: 1, Slot: true})
		after(4, "an earlier driver of this segment wanted it")
		recorded, err := b.log.ReadStream(t.Context(), b.ref.Job.Stream(), 0, 100)
		require.NoError(t, err)
		require.Equal(t, len(recorded), log.read)
	})
}

// stopping is a slot whose job is canceled as soon as it has it.
type stopping struct {
	*slot
	stop context.CancelCauseFunc
}

func (s *stopping) TakeSlot(ctx context.Context, ref job.RunRef, bounds job.Bounds, wait job.SegmentWaitingV1) (bool, error) {
	taken, err := s.slot.TakeSlot(ctx, ref, bounds, wait)
	if taken {
		s.stop(activities.ErrStopped)
	}
	return taken, err
}

// A driver whose job has no slot gives its server back, and waits for a slot and then for a server.
func TestAServerIsGivenBackForWantOfASlot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		free bool
		want string // why the segment waits for a server
	}{
		"a slot is free": {true, "its server was removed"}, "no slot is free": {false, ""},
	} {
		b := newBench(t, waitPrompt, []string{"1"}, quick(func() error { return nil }))
		b.activities.Tiers = noLimits{}
		ctx, stop := context.WithCancelCause(t.Context())
		s := &stopping{&slot{bench: b, t: t, free: c.free}, stop}
		if !c.free {
			s.refusals = 3
		}
		store := &lost{stop: func(error) {}}
		require.ErrorIs(t, b.activities.RunWithSlots(ctx, store, b.ref, s), activities.ErrStopped, name)
		require.Equal(t, !c.free, store.dropped == 1, name)
		require.Equal(t, "1", s.wait.Node, name)
		require.Equal(t, b.ref.Job, store.left.Key.Job, name)
		require.Equal(t, c.want, store.left.Cause, name)
	}
}

// Nodes that need no server do not run while the job has no slot: the attempt ends, so that it does not keep a worker's place.
func TestNodesWaitForTheSlotOfTheirJob(t *testing.T) {
	t.Parallel()
	class := &node.Class{
		Name: "Step", Module: "nodes", OutputNode: true,
		Run: func(context.Context, *node.Call) (node.Result, error) { return node.Result{}, nil },
	}
	b := newBench(t, `{"1":{"class_type":"Step","inputs":{}}}`, []string{"1"}, class)
	b.activities.Tiers = noLimits{}
	plan := b.begin(t)
	s := &slot{bench: b, t: t}
	b.activities.AddSegment(b.ref.Job, s)
	_, err := b.run(t.Context(), plan, 0)
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, attempt.ErrNoSlot, app.Type())
	require.False(t, app.NonRetryable())
	require.Equal(t, time.Second, app.NextRetryDelay())
	require.Empty(t, b.events(t))
	require.Equal(t, "its inputs are ready", s.wait.Reason)
	require.Equal(t, "1", s.wait.Node)
	s.free = true
	_, err = b.run(t.Context(), plan, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"started 1", "executed 1"}, b.events(t))
}

// An attempt that ended because the job had no slot is no attempt of its nodes: the first one with a slot has a whole turn.
func TestWaitsForASlotAreNoAttempts(t *testing.T) {
	t.Parallel()
	class := &node.Class{
		Name: "Long", Module: "nodes", OutputNode: true, Inputs: []node.Input{{Name: "in", Type: node.Int, Section: node.Optional}},
		Outputs: []node.Output{{Type: node.Int}}, Cost: func(node.Args, int64) time.Duration { return 10 * time.Second },
		Run: func(context.Context, *node.Call) (node.Result, error) {
			return node.Result{Outputs: []node.Value{int64(1)}}, nil
		},
	}
	b := newBench(t, `{"1":{"class_type":"Long","inputs":{}},"2":{"class_type":"Long","inputs":{"in":["1",0]}}}`, []string{"2"}, class)
	b.activities.Tiers, b.activities.FusedFor, b.activities.Turn = noLimits{}, -time.Second, time.Minute
	plan := b.begin(t)
	s := &slot{bench: b, t: t, refusals: 5}
	b.activities.AddSegment(b.ref.Job, s)
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // one second otherwise
	env.RegisterActivity(b.activities.RunLong)
	env.ExecuteWorkflow(func(ctx workflow.Context) (res activities.RunResult, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Hour, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second},
		})
		params := activities.RunParams{RunRef: b.ref, PlanHash: plan.PlanHash, Units: []int{0, 1}}
		return res, workflow.ExecuteActivity(ctx, b.activities.RunLong, params).Get(ctx, &res)
	})
	require.NoError(t, env.GetWorkflowError())
	var res activities.RunResult
	require.NoError(t, env.GetWorkflowResult(&res))
	require.Len(t, res.Units, 2, "both nodes ran in one turn")
	require.Equal(t, 1, s.wait.Attempt)
	require.Zero(t, s.refusals)
}

var _ activities.Slots = (*slot)(nil)
