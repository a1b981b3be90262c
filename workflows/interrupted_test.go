package workflows_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/workflows"
)

// interrupted fails its first call the way a local activity ends on a worker that shuts down.
func interrupted[P, R any](calls *[]P, result R) func(context.Context, P) (R, error) {
	var mu sync.Mutex // activities run at once
	return func(_ context.Context, p P) (R, error) {
		mu.Lock()
		defer mu.Unlock()
		if *calls = append(*calls, p); len(*calls) == 1 {
			var none R
			return none, temporal.NewCanceledError()
		}
		return result, nil
	}
}

func TestAWorkerThatShutsDownDoesNotEndARun(t *testing.T) {
	t.Parallel()
	var begun []activities.BeginParams
	var finished []activities.FinishParams
	finish := interrupted(&finished, struct{}{})
	env := environment()
	env.RegisterWorkflow(workflows.RunGraph)
	env.RegisterActivityWithOptions(interrupted(&begun, activities.BeginResult{PlanHash: "h"}), activity.RegisterOptions{Name: "Begin"})
	env.RegisterActivityWithOptions(func(ctx context.Context, p activities.FinishParams) error {
		_, err := finish(ctx, p)
		return err
	}, activity.RegisterOptions{Name: "Finish"})
	env.ExecuteWorkflow(workflows.RunGraph, workflows.RunGraphParams{RunRef: job.RunRef{Job: job.NewID(), Account: "a", Run: 1}})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, begun, 2)
	require.Len(t, finished, 2)
	require.Equal(t, activities.Succeeded, finished[1].Outcome)
}

// An upload is verified although the worker that was about to do so shuts down, by itself or with others.
func TestAWorkerThatShutsDownDoesNotEndAnIngest(t *testing.T) {
	t.Parallel()
	small := asset.IngestRef{Asset: asset.NewID(), Account: "a", Size: 5}
	for name, c := range map[string]struct {
		run, params any
		alone       int // calls of VerifyAsset
	}{
		"alone":       {workflows.IngestAsset, workflows.IngestAssetParams{IngestRef: small}, 2},
		"with others": {workflows.IngestAssets, workflows.IngestAssetsParams{Assets: []asset.IngestRef{small, small}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var alone []asset.IngestRef
			var together []upkeep.VerifyAssetsParams
			env := environment()
			env.RegisterWorkflow(c.run)
			env.RegisterActivityWithOptions(interrupted(&alone, upkeep.Verified{Complete: true}), activity.RegisterOptions{Name: "VerifyAsset"})
			env.RegisterActivityWithOptions(interrupted(&together, upkeep.VerifiedAssets{}), activity.RegisterOptions{Name: "VerifyAssets"})
			env.ExecuteWorkflow(c.run, c.params)
			require.True(t, env.IsWorkflowCompleted())
			require.NoError(t, env.GetWorkflowError())
			require.Len(t, alone, c.alone)
		})
	}
}
