package workflows_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/workflows"
)

// Jobs go first, since their outputs and archives are what the other steps look at; a sweep of jobs that
// fails is reported, and keeps assets and blobs waiting no longer.
func TestSweepRetiresJobsThenAssetsThenBlobs(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]error{
		"well":      nil,
		"jobs fail": temporal.NewNonRetryableApplicationError("no", "x", errors.New("x")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := environment()
			var order []string
			step := func(name string, fn any) {
				env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
			}
			step("ExpireJobs", func(context.Context) (upkeep.JobSweep, error) {
				order = append(order, "jobs")
				return upkeep.JobSweep{Retired: 2}, broken
			})
			step("ExpireAssets", func(context.Context) (int, error) { order = append(order, "assets"); return 3, nil })
			step("CollectBlobs", func(context.Context) (asset.Collection, error) {
				order = append(order, "blobs")
				return asset.Collection{Removed: 1}, nil
			})
			env.ExecuteWorkflow(workflows.Retention)
			require.Equal(t, []string{"jobs", "assets", "blobs"}, order)
			if broken != nil {
				require.Error(t, env.GetWorkflowError())
				return
			}
			require.NoError(t, env.GetWorkflowError())
			var res workflows.RetentionResult
			require.NoError(t, env.GetWorkflowResult(&res))
			require.Equal(t, workflows.RetentionResult{Expired: 3, Jobs: upkeep.JobSweep{Retired: 2}, Collected: asset.Collection{Removed: 1}}, res)
		})
	}
}

// A sweep of assets that fails leaves the blobs alone, which the assets may name, and says what failed. A canceled sweep ends.
func TestASweepEndsAtItsAssets(t *testing.T) {
	t.Parallel()
	fails := func(text string) error { return temporal.NewNonRetryableApplicationError(text, "x", errors.New("x")) }
	for name, c := range map[string]struct {
		jobs, assets, blobs error

		order []string
		says  []string
	}{
		"assets fail":          {nil, fails("no assets"), nil, []string{"jobs", "assets"}, []string{"no assets"}},
		"jobs and assets fail": {fails("no jobs"), fails("no assets"), nil, []string{"jobs", "assets"}, []string{"no jobs", "no assets"}},
		"blobs fail":           {nil, nil, fails("no blobs"), []string{"jobs", "assets", "blobs"}, []string{"no blobs"}},
		"jobs and blobs fail": {
			fails("no jobs"), nil, fails("no blobs"), []string{"jobs", "assets", "blobs"}, []string{"no jobs", "no blobs"},
		},
		"canceled": {temporal.NewCanceledError(), nil, nil, []string{"jobs"}, []string{"canceled"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := environment()
			var order []string
			for step, err := range map[string]error{"ExpireJobs": c.jobs, "ExpireAssets": c.assets, "CollectBlobs": c.blobs} {
				env.RegisterActivityWithOptions(func(context.Context) error {
					order = append(order, map[string]string{"ExpireJobs": "jobs", "ExpireAssets": "assets", "CollectBlobs": "blobs"}[step])
					return err
				}, activity.RegisterOptions{Name: step})
			}
			env.ExecuteWorkflow(workflows.Retention)
			require.Equal(t, c.order, order)
			for _, text := range c.says {
				require.ErrorContains(t, env.GetWorkflowError(), text)
			}
		})
	}
}
