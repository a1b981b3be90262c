package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/workflows"
)

// A call is polled in the pauses that its provider asks for. One whose cancellation is in the log is stopped at once, also by a workflow
// that replaces a lost one.
func TestACallIsPolledUntilItIsStopped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop  bool
		polls int
		takes time.Duration
	}{
		"polled":   {false, 2, 2 * time.Hour},
		"canceled": {true, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := environment()
			env.RegisterWorkflow(workflows.RunModel)
			polls, stops := 0, 0
			env.RegisterActivityWithOptions(func(context.Context, call.Run) (modelcall.Step, error) {
				if polls++; polls < c.polls {
					return modelcall.Step{Next: modelcall.NextPoll, After: time.Hour}, nil
				}
				return modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeSucceeded}, nil
			}, activity.RegisterOptions{Name: "Poll"})
			env.RegisterActivityWithOptions(func(context.Context, call.Run) (modelcall.Step, error) {
				stops++
				return modelcall.Step{Next: modelcall.NextNothing, Outcome: modelcall.OutcomeSucceeded}, nil
			}, activity.RegisterOptions{Name: "Stop"})
			began := env.Now()
			env.ExecuteWorkflow(workflows.RunModel, workflows.RunModelParams{
				Run:  call.Run{Call: call.NewID(), Account: "a", Run: 1},
				Next: &modelcall.Step{Next: modelcall.NextPoll, After: time.Hour, Stop: c.stop},
			})
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, []int{c.polls, map[bool]int{true: 1}[c.stop]}, []int{polls, stops})
			require.InDelta(t, c.takes.Minutes(), env.Now().Sub(began).Minutes(), 1)
		})
	}
}

func TestAWorkflowEndsAsItsCall(t *testing.T) {
	t.Parallel()
	for outcome, check := range map[modelcall.Outcome]func(error){
		modelcall.OutcomeSucceeded: func(err error) { require.NoError(t, err) },
		modelcall.OutcomeCanceled:  func(err error) { require.True(t, temporal.IsCanceledError(err), "%v", err) },
		modelcall.OutcomeFailed:    func(err error) { requireBenign(t, err, workflows.CallFailed, "the call failed: provider_error") },
		modelcall.OutcomeUnknown: func(err error) {
			requireBenign(t, err, workflows.CallFailed, "the outcome of the call is unknown: provider_error")
		},
	} {
		env := environment()
		env.RegisterWorkflow(workflows.RunModel)
		env.RegisterActivityWithOptions(func(context.Context, call.Run) (modelcall.Step, error) {
			return modelcall.Step{Next: modelcall.NextNothing, Outcome: outcome, Cause: call.ProviderError}, nil
		}, activity.RegisterOptions{Name: "Dispatch"})
		env.ExecuteWorkflow(workflows.RunModel, workflows.RunModelParams{Run: call.Run{Call: call.NewID(), Account: "a", Run: 1}})
		check(env.GetWorkflowError())
	}
}
