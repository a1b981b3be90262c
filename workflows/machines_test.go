package workflows_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/workflows"
)

// Each order is carried out once, a command that fails ends nothing, and an execution ends before its history grows long.
func TestAPoolCarriesOutItsOrders(t *testing.T) {
	t.Parallel()
	for name, rounds := range map[string]int{"until it is over": 5, "in further executions": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := environment()
			round := 0
			var mu sync.Mutex // activities run at once
			run := map[string]int{}
			step := func(name string, fn any) { env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name}) }
			step("AwaitOrders", func(_ context.Context, p upkeep.NextParams) (upkeep.MachineOrders, error) {
				require.Equal(t, "p", p.Pool)
				switch round++; round {
				case 1:
					return upkeep.MachineOrders{Start: []string{"p-1", "p-2"}}, nil
				case 2:
					require.Subset(t, []string{"p-1", "p-2"}, p.InFlight)
					return upkeep.MachineOrders{Stop: []string{"p-3"}}, nil
				}
				return upkeep.MachineOrders{Over: round == rounds}, nil
			})
			command := func(what string) func(_ context.Context, p upkeep.MachineParams) error {
				return func(_ context.Context, p upkeep.MachineParams) error {
					mu.Lock()
					defer mu.Unlock()
					if run[what+p.Machine]++; p.Machine == "p-2" {
						return errors.New("it fails")
					}
					return nil
				}
			}
			step("StartMachine", command("start "))
			step("StopMachine", command("stop "))
			env.ExecuteWorkflow(workflows.RunPool, workflows.RunPoolParams{Pool: "p"})
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, 1, run["start p-1"])
			require.Equal(t, 4, run["start p-2"], "a failing command is tried a few times")
			require.Equal(t, 1, run["stop p-3"])
			if rounds == 5 {
				require.NoError(t, env.GetWorkflowError())
				return
			}
			var again *workflow.ContinueAsNewError
			require.ErrorAs(t, env.GetWorkflowError(), &again)
			require.Equal(t, workflows.RunPoolName, again.WorkflowType.Name)
			require.Equal(t, 200, round)
			var params workflows.RunPoolParams
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &params))
			require.Equal(t, workflows.RunPoolParams{Pool: "p"}, params)
		})
	}
}
