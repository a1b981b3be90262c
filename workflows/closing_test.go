package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/workflows"
)

func TestAWorkflowEndsAsItsJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end   *activities.FinishResult
		check func(*testing.T, error)
	}{
		"it succeeded": {&activities.FinishResult{Outcome: activities.Succeeded}, func(t *testing.T, err error) { require.NoError(t, err) }},
		"a node failed": {&activities.FinishResult{Outcome: activities.Failed, Node: "7", Class: "KSampler", Type: "OutOfMemoryError"}, func(t *testing.T, err error) {
			requireBenign(t, err, workflows.NodeFailed, "node 7 (KSampler) failed: OutOfMemoryError")
		}},
		"it failed outside its nodes": {&activities.FinishResult{Outcome: activities.Failed, Type: "ServiceError"}, func(t *testing.T, err error) {
			requireBenign(t, err, workflows.RunFailed, "outside its nodes: ServiceError")
		}},
		"it was canceled":                         {&activities.FinishResult{Outcome: activities.Canceled}, func(t *testing.T, err error) { require.True(t, temporal.IsCanceledError(err), err) }},
		"a version that did not say how it ended": {nil, func(t *testing.T, err error) { require.NoError(t, err) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &engine{ended: c.end, begin: plans(activities.BeginResult{PlanHash: "p", Shape: steps(), First: &activities.RunResult{
				Units: []graph.UnitResult{{Unit: 0, Status: graph.Failed}}, Failed: "n0",
			}})}
			c.check(t, e.execute(t, nil))
		})
	}
}

// requireBenign checks an error that ends a workflow and alarms nobody.
func requireBenign(t *testing.T, err error, kind, message string) {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, kind, app.Type())
	require.Equal(t, temporal.ApplicationErrorCategoryBenign, app.Category())
	require.ErrorContains(t, app, message)
}
