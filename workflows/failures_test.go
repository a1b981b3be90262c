package workflows_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/workflows"
)

var errFinal = temporal.NewNonRetryableApplicationError("no attempt succeeds", "x", errors.New("x"))

// A workflow ends as canceled, and gives nothing up, if it is canceled during its work. If the work fails and cannot be given up either,
// the workflow fails.
func TestAWorkflowDoesNotHideHowItsWorkEnded(t *testing.T) {
	t.Parallel()
	file, ref := asset.IngestRef{Asset: "1", Account: "a", Size: 5}, task.Ref{Task: "t", Account: "a"}
	for name, c := range map[string]struct {
		workflow, params any
		work, giveUp     string
	}{
		"a scan":     {workflows.IngestAsset, workflows.IngestAssetParams{IngestRef: file}, "ScanAsset", "GiveUpScan"},
		"an export":  {workflows.ExportAssets, workflows.TaskParams{Ref: ref}, "PackExport", "GiveUpExport"},
		"a download": {workflows.DownloadAsset, workflows.TaskParams{Ref: ref}, "FetchDownload", "GiveUpDownload"},
	} {
		for end, outcome := range map[string]struct{ work, giveUp error }{
			"done": {}, "canceled": {work: temporal.NewCanceledError()}, "given up": {work: errFinal}, "failed": {errFinal, errFinal},
		} {
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				env := environment()
				env.RegisterWorkflow(c.workflow)
				var did []string
				step := func(name string, err error) {
					env.RegisterActivityWithOptions(func(context.Context) error {
						did = append(did, name)
						return err
					}, activity.RegisterOptions{Name: name})
				}
				env.RegisterActivityWithOptions(func(context.Context, asset.IngestRef) (upkeep.Verified, error) { return upkeep.Verified{}, nil },
					activity.RegisterOptions{Name: "VerifyAsset"})
				step(c.work, outcome.work)
				step(c.giveUp, outcome.giveUp)
				env.ExecuteWorkflow(c.workflow, c.params)
				require.True(t, env.IsWorkflowCompleted())
				want := []string{c.work}
				if errors.Is(outcome.work, errFinal) {
					want = append(want, c.giveUp)
				}
				require.Equal(t, want, did)
				err := env.GetWorkflowError()
				require.Equal(t, end == "canceled", temporal.IsCanceledError(err), "%v", err)
				require.Equal(t, end == "canceled" || end == "failed", err != nil, "%v", err)
			})
		}
	}
}

// An asset of several that cannot be verified does not keep the others, and its failure is that of the workflow.
func TestAnAssetThatCannotBeVerifiedKeepsNoOther(t *testing.T) {
	t.Parallel()
	env := environment()
	env.RegisterWorkflow(workflows.IngestAssets)
	refs := []asset.IngestRef{{Asset: "1", Account: "a"}, {Asset: "2", Account: "a"}, {Asset: "3", Account: "a"}}
	env.RegisterActivityWithOptions(func(context.Context, upkeep.VerifyAssetsParams) (upkeep.VerifiedAssets, error) {
		return upkeep.VerifiedAssets{Left: refs}, nil
	}, activity.RegisterOptions{Name: "VerifyAssets"})
	var mu sync.Mutex // activities run at once
	var verified []asset.ID
	env.RegisterActivityWithOptions(func(_ context.Context, ref asset.IngestRef) (upkeep.Verified, error) {
		mu.Lock()
		defer mu.Unlock()
		verified = append(verified, ref.Asset)
		if ref.Asset == "1" {
			return upkeep.Verified{}, errFinal
		}
		return upkeep.Verified{Complete: true}, nil
	}, activity.RegisterOptions{Name: "VerifyAsset"})
	env.ExecuteWorkflow(workflows.IngestAssets, workflows.IngestAssetsParams{Assets: refs})
	require.ErrorContains(t, env.GetWorkflowError(), "no attempt succeeds")
	require.ElementsMatch(t, []asset.ID{"1", "2", "3"}, verified)
}

// A pool without orders fails rather than being taken for one that is over.
func TestAPoolWithoutOrdersFails(t *testing.T) {
	t.Parallel()
	env := environment()
	env.RegisterActivityWithOptions(func(context.Context, upkeep.NextParams) (upkeep.MachineOrders, error) {
		return upkeep.MachineOrders{Over: true}, errFinal
	}, activity.RegisterOptions{Name: "AwaitOrders"})
	env.ExecuteWorkflow(workflows.RunPool, workflows.RunPoolParams{Pool: "p"})
	require.ErrorContains(t, env.GetWorkflowError(), "no attempt succeeds")
}

// A run whose end cannot be recorded fails. It is not planned again.
func TestARunWhoseEndIsNotRecordedFails(t *testing.T) {
	t.Parallel()
	planned := activities.BeginResult{PlanHash: "p", Shape: steps()}
	e := &engine{begin: plans(planned)}
	env := e.environment()
	env.OnActivity("Finish", mock.Anything, mock.Anything).Return(activities.FinishResult{}, errFinal)
	require.ErrorContains(t, executed(t, env, nil), "no attempt succeeds")
	require.NotContains(t, e.log, "begin replan=true")
}

// A run that is canceled while it is planned ends as canceled, and not as one that could not be planned.
func TestARunIsCanceledWhileItIsPlanned(t *testing.T) {
	t.Parallel()
	e := &engine{}
	env := e.environment()
	env.OnActivity("Begin", mock.Anything, mock.Anything).Return(func(context.Context, activities.BeginParams) (activities.BeginResult,
		error,
	) {
		env.CancelWorkflow()
		return activities.BeginResult{}, temporal.NewCanceledError()
	})
	require.NoError(t, executed(t, env, nil))
	require.Equal(t, []string{"finish canceled"}, e.log)
	require.Nil(t, e.finish.Failure)
}

// Activities get the run that they belong to, and units that an earlier job ran are read and not run.
func TestActivitiesGetTheirRun(t *testing.T) {
	t.Parallel()
	ref := job.RunRef{Job: job.NewID(), Account: "a", Run: 3}
	var begun activities.BeginParams
	var mu sync.Mutex // batches run beside each other
	read := map[int][]string{}
	e := &engine{begin: func(p activities.BeginParams) activities.BeginResult {
		begun = p
		return activities.BeginResult{
			PlanHash: "p", Shape: steps(), Cached: []activities.Input{{Unit: 0, Values: []string{"cached:0"}}}, Nodes: []string{"n0"},
		}
	}}
	env := e.environment()
	e.run = func(p activities.RunParams) (activities.RunResult, error) {
		mu.Lock()
		defer mu.Unlock()
		if p.RunRef != ref {
			return activities.RunResult{}, errFinal
		}
		for _, in := range p.Inputs {
			read[in.Unit] = in.Values
		}
		return activities.RunResult{}, nil
	}
	env.ExecuteWorkflow(workflows.RunGraphName, workflows.RunGraphParams{RunRef: ref})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, activities.BeginParams{RunRef: ref}, begun)
	require.Equal(t, ref, e.finish.RunRef)
	require.Equal(t, activities.Succeeded, e.finish.Outcome)
	require.Equal(t, map[int][]string{0: {"cached:0"}, 1: {"value-1"}, 2: {"value-2"}}, read)
	require.False(t, slices.ContainsFunc(e.log, func(line string) bool { return line == "cheap [0] of p" }))
	require.ElementsMatch(t, []string{"value-1", "value-2"}, e.finish.Values, "the cache keeps its own")
}

// The next execution of a run gets what the run has seen of its log, and not again what its first activity returned.
func TestTheNextExecutionGetsTheStateOfTheRun(t *testing.T) {
	t.Parallel()
	e := &engine{begin: plans(activities.BeginResult{
		PlanHash: "p", Shape: steps(), Cached: []activities.Input{{Unit: 0, Values: []string{"cached:0"}}},
	})}
	env := e.environment()
	e.run = func(p activities.RunParams) (activities.RunResult, error) {
		suggestContinuing(env)
		res := done(p)
		res.Version = 9
		return res, nil
	}
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, executed(t, env, nil), &next)
	require.Equal(t, workflows.RunGraphName, next.WorkflowType.Name)
	var params workflows.RunGraphParams
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &params))
	require.Empty(t, params.Resumed.Plan.Cached, "its values are in the state")
	require.Nil(t, params.Resumed.Plan.First)
	require.Equal(t, map[int][]string{0: {"cached:0"}, 1: {"value-1"}, 2: {"value-2"}}, params.Resumed.Values)
	require.Equal(t, int64(9), params.Resumed.Seen)
	var seen int64
	rest := &engine{run: func(p activities.RunParams) (activities.RunResult, error) {
		seen = p.Seen
		res := done(p)
		res.Version = 4
		return res, nil
	}}
	require.NoError(t, rest.execute(t, params.Resumed))
	require.Equal(t, []string{"cheap [3] of p", "finish succeeded"}, rest.log)
	require.Equal(t, int64(9), seen)
	require.Equal(t, int64(9), rest.finish.Seen, "an older version changes nothing")
}

// A run has at most twenty thousand units with its expansions.
func TestARunExpandsToABoundedNumberOfUnits(t *testing.T) {
	t.Parallel()
	for units, message := range map[int]string{20_000: "", 20_001: "the nodes of the graph expand to too many"} {
		shape, expansion := expanding()
		expansion.Units = append(expansion.Units, slices.Repeat([]graph.Unit{{Given: true}}, units-len(shape.Units)-len(expansion.Units))...)
		var seen []activities.Expansion
		e := &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: shape}), run: expands(expansion, &seen)}
		require.NoError(t, e.execute(t, nil))
		if message == "" {
			require.Equal(t, activities.Succeeded, e.finish.Outcome)
			require.Nil(t, e.finish.Failure)
			continue
		}
		require.Equal(t, activities.Failed, e.finish.Outcome)
		require.Equal(t, message, e.finish.Failure.Message)
	}
}
