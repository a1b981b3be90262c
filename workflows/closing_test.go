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
		"a node failed": {
			&activities.FinishResult{Outcome: activities.Failed, Node: "7", Class: "KSampler", Type: "OutOfMemoryError"},
			func(t *testing.T, err error) {
				requireBenign(t, err, workflows.NodeFailed, "node 7 (KSampler) failed: OutOfMemoryError")
			},
		},
		"it failed outside its nodes": {
			&activities.FinishResult{Outcome: activities.Failed, Type: "ServiceError"},
			func(t *testing.T, err error) {
				requireBenign(t, err, workflows.RunFailed, "outside its nodes: ServiceError")
			},
		},
		"it was canceled": {
			&activities.FinishResult{Outcome: activities.Canceled},
			func(t *testing.T, err error) { require.True(t, temporal.IsCanceledError(err), err) },
		},
		"it did not end, because its job is queued again": {nil, func(t *testing.T, err error) { require.NoError(t, err) }},
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
	require.True(t, app.NonRetryable())
	require.Equal(t, temporal.ApplicationErrorCategoryBenign, app.Category())
	require.ErrorContains(t, app, message)
}

// A replay of a run that its first activity ended proves that the nodes which ran finish the graph by this scheduler.
func TestARunThatBeginEndedAgreesWithTheScheduler(t *testing.T) {
	t.Parallel()
	two := graph.Shape{Units: []graph.Unit{{Millis: 1}, {Millis: 1, Deps: []int{0}, Output: true}}}
	ended := func(units ...graph.UnitResult) *engine {
		return &engine{begin: plans(activities.BeginResult{PlanHash: "p", Shape: two, Ended: true, First: &activities.RunResult{Units: units}})}
	}
	require.NoError(t, ended(graph.UnitResult{Unit: 0, Status: graph.Done}, graph.UnitResult{Unit: 1, Status: graph.Done}).execute(t, nil))
	require.ErrorContains(t, ended(graph.UnitResult{Unit: 0, Status: graph.Done}).execute(t, nil), "the scheduler has nodes left")
}
