package workflows_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/workflows"
)

// limits are the queue, the attempts and the time limits of an activity.
type limits struct {
	queue                      string // suffix of that of the workflow
	attempts                   int
	start, schedule, heartbeat time.Duration
}

// stub returns an activity without work. It fails as often as the test says.
func stub[P, R any](failing int, result R) func(context.Context, P) (R, error) {
	var mu sync.Mutex // guards failing
	return func(context.Context, P) (R, error) {
		mu.Lock()
		defer mu.Unlock()
		if failing--; failing >= 0 {
			var none R
			return none, errors.New("it fails")
		}
		return result, nil
	}
}

// Each activity has the time that its work may take, and is tried as often as its work must outlive outages: a lost attempt is found by
// its missing heartbeats, and bookkeeping does not end for want of attempts.
func TestTheLimitsOfActivities(t *testing.T) {
	t.Parallel()
	const decade, day, never = 10 * 365 * 24 * time.Hour, 24 * time.Hour, 8 // a decade is as long as there is
	plan := func(unit graph.Unit) activities.BeginResult {
		unit.Output = true
		return activities.BeginResult{PlanHash: "p", Shape: graph.Shape{Units: []graph.Unit{unit}}}
	}
	done := activities.RunResult{Units: []graph.UnitResult{{Status: graph.Done}}}
	run := workflows.RunGraphParams{RunRef: job.RunRef{Job: job.NewID(), Account: "a", Run: 1}}
	model := workflows.RunModelParams{Run: call.Run{Call: call.NewID(), Account: "a", Run: 1}}
	next := func(n modelcall.Next) workflows.RunModelParams {
		p := model
		p.Next = &modelcall.Step{Next: n}
		return p
	}
	over := modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeSucceeded}
	small, large := asset.IngestRef{Asset: "1", Account: "a", Size: 16 << 20}, asset.IngestRef{Asset: "1", Account: "a", Size: 16<<20 + 1}
	ref := task.Ref{Task: task.NewID(), Account: "a", Bytes: 3 << 20}
	bookkeeping := limits{"", never + 1, 15 * time.Second, decade, 0}
	long := limits{"", never + 1, 2 * time.Hour, decade, 10 * time.Second}
	short, partners, segments := long, long, long
	short.queue, partners.queue, segments.queue, segments.start = workflows.ShortQueue, workflows.PartnerQueue, workflows.SegmentQueue, 30*day
	policies := map[int]temporal.RetryPolicy{
		never + 1: {InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
		3:         {InitialInterval: time.Second, BackoffCoefficient: 4, MaximumAttempts: 3},
		4:         {InitialInterval: 2 * time.Second, BackoffCoefficient: 2, MaximumAttempts: 4},
	}
	for name, c := range map[string]struct {
		workflow, params any
		stubs            map[string]any
		want             map[string]limits
	}{
		"a cheap node": {workflows.RunGraph, run, map[string]any{
			"Begin":    stub[activities.BeginParams](never, plan(graph.Unit{Millis: 1})),
			"RunCheap": stub[activities.RunParams](0, done), "Finish": stub[activities.FinishParams](never, activities.FinishResult{}),
		}, map[string]limits{"Begin": bookkeeping, "Finish": bookkeeping, "RunCheap": {"", 1, time.Minute, time.Minute, 0}}},
		"a node that takes a second": {workflows.RunGraph, run, map[string]any{
			"Begin":   stub[activities.BeginParams](0, plan(graph.Unit{Millis: 1000})),
			"RunLong": stub[activities.RunParams](never, done), "Finish": stub[activities.FinishParams](0, activities.FinishResult{}),
		}, map[string]limits{"RunLong": short}},
		"a node that takes a minute": {workflows.RunGraph, run, map[string]any{
			"Begin":   stub[activities.BeginParams](0, plan(graph.Unit{Millis: 60_000})),
			"RunLong": stub[activities.RunParams](never, done), "Finish": stub[activities.FinishParams](0, activities.FinishResult{}),
		}, map[string]limits{"RunLong": long}},
		"a partner node": {workflows.RunGraph, run, map[string]any{
			"Begin":   stub[activities.BeginParams](0, plan(graph.Unit{Millis: 60_000, Waits: true})),
			"RunLong": stub[activities.RunParams](never, done), "Finish": stub[activities.FinishParams](0, activities.FinishResult{}),
		}, map[string]limits{"RunLong": partners}},
		"a segment": {workflows.RunGraph, run, map[string]any{
			"Begin":      stub[activities.BeginParams](0, plan(graph.Unit{Segment: true})),
			"RunSegment": stub[activities.RunParams](never, done), "Finish": stub[activities.FinishParams](0, activities.FinishResult{}),
		}, map[string]limits{"RunSegment": segments}},
		"a call": {workflows.RunModel, model, map[string]any{
			"Dispatch": stub[call.Run](1, over), "Resolve": stub[call.Run](never, over),
		}, map[string]limits{"Dispatch": {"", 1, time.Hour, time.Hour, 0}, "Resolve": {"", never + 1, time.Hour, decade, 0}}},
		"a call that is polled": {
			workflows.RunModel, next(modelcall.NextPoll),
			map[string]any{"Poll": stub[call.Run](never, over)},
			map[string]limits{"Poll": {"", never + 1, 10 * time.Minute, decade, 0}},
		},
		"a call with assets that cannot be copied": {
			workflows.RunModel, next(modelcall.NextHost),
			map[string]any{"Host": stub[call.Run](never, over), "Deliver": stub[call.Run](never, over)},
			map[string]limits{"Host": {"", 3, 15 * time.Minute, decade, 30 * time.Second}, "Deliver": {"", never + 1, time.Hour, decade, 0}},
		},
		"a small upload": {workflows.IngestAsset, workflows.IngestAssetParams{IngestRef: small}, map[string]any{
			"VerifyAsset": stub[asset.IngestRef](never, upkeep.Verified{}), "ScanAsset": stub[asset.IngestRef](never, 0),
			"GiveUpScan": stub[asset.IngestRef](never, 0),
		}, map[string]limits{
			"VerifyAsset": bookkeeping, "ScanAsset": {"", 3, 2 * time.Minute, decade, 0}, "GiveUpScan": {"", never + 1, 15 * time.Second, decade, 0},
		}},
		"a large upload": {workflows.IngestAsset, workflows.IngestAssetParams{IngestRef: large}, map[string]any{
			"VerifyAsset": stub[asset.IngestRef](never, upkeep.Verified{Complete: true}),
		}, map[string]limits{"VerifyAsset": {"", never + 1, 76 * time.Second, decade, 0}}},
		"several uploads": {workflows.IngestAssets, workflows.IngestAssetsParams{Assets: []asset.IngestRef{small}}, map[string]any{
			"VerifyAssets": stub[upkeep.VerifyAssetsParams](never, upkeep.VerifiedAssets{}),
			"VerifyAsset":  stub[asset.IngestRef](never, upkeep.Verified{Complete: true}),
		}, map[string]limits{"VerifyAssets": {"", 3, time.Minute, decade, 0}, "VerifyAsset": bookkeeping}},
		"a download": {workflows.DownloadAsset, workflows.TaskParams{Ref: ref}, map[string]any{
			"FetchDownload": stub[task.Ref](never, 0),
		}, map[string]limits{"FetchDownload": {"", never + 1, 65 * time.Minute, day, 10 * time.Second}}},
		"an export": {workflows.ExportAssets, workflows.TaskParams{Ref: ref}, map[string]any{
			"PackExport": stub[task.Ref](never, 0),
		}, map[string]limits{"PackExport": {"", never + 1, 5*time.Minute + 3*time.Second, day, 10 * time.Second}}},
		"an export that is given up": {workflows.ExportAssets, workflows.TaskParams{Ref: ref}, map[string]any{
			"PackExport": stub[task.Ref](1<<20, 0), "GiveUpExport": stub[task.Ref](never, 0),
		}, map[string]limits{"GiveUpExport": {"", never + 1, 15 * time.Second, decade, 0}}},
		"a pool": {workflows.RunPool, workflows.RunPoolParams{Pool: "p"}, map[string]any{
			"AwaitOrders":  stub[upkeep.NextParams](never, upkeep.MachineOrders{Start: []string{"1"}, Stop: []string{"2"}, Over: true}),
			"StartMachine": stub[upkeep.MachineParams](never, 0), "StopMachine": stub[upkeep.MachineParams](never, 0),
		}, map[string]limits{
			"AwaitOrders":  {"", never + 1, 5 * time.Minute, decade, 10 * time.Second},
			"StartMachine": {"", 4, 15 * time.Minute, decade, 10 * time.Second}, "StopMachine": {"", 4, 15 * time.Minute, decade, 10 * time.Second},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := environment()
			env.RegisterWorkflow(c.workflow)
			for name, fn := range c.stubs {
				env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
			}
			var mu sync.Mutex // guards found
			found, retries := map[string]limits{}, map[string]*temporal.RetryPolicy{}
			note := func(info *activity.Info) {
				mu.Lock()
				defer mu.Unlock()
				l := found[info.ActivityType.Name]
				retries[info.ActivityType.Name] = info.RetryPolicy
				found[info.ActivityType.Name] = limits{
					strings.TrimPrefix(info.TaskQueue, "default-test-taskqueue"), l.attempts + 1, info.StartToCloseTimeout,
					info.ScheduleToCloseTimeout, info.HeartbeatTimeout,
				}
			}
			env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) { note(info) })
			env.SetOnLocalActivityStartedListener(func(info *activity.Info, _ context.Context, _ []any) { note(info) })
			env.ExecuteWorkflow(c.workflow, c.params)
			require.True(t, env.IsWorkflowCompleted())
			require.NoError(t, env.GetWorkflowError())
			for name, want := range c.want {
				require.Equal(t, want, found[name], name)
				if policy, known := policies[want.attempts]; known && retries[name] != nil { // local activities do not say theirs
					got := *retries[name]
					if policy.MaximumInterval == 0 {
						got.MaximumInterval = 0 // not set
					}
					require.Equal(t, policy, got, name)
				}
			}
			require.Len(t, found, len(c.stubs))
		})
	}
}
