package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/upkeep"
)

// RunPoolName is the registered name of RunPool.
const RunPoolName = "RunPool"

// RunPoolParams identifies the pool.
type RunPoolParams struct{ Pool string }

// ordersOfPools is for AwaitOrders, which waits for up to a minute.
var ordersOfPools = workflow.ActivityOptions{
	StartToCloseTimeout: 5 * time.Minute,
	HeartbeatTimeout:    10 * time.Second,
	RetryPolicy:         &retryForever,
}

// commandsOfMachines bounds a command of a machine. After its attempts, the pool decides again.
var commandsOfMachines = workflow.ActivityOptions{
	StartToCloseTimeout: 15 * time.Minute,
	HeartbeatTimeout:    10 * time.Second,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 2 * time.Second, BackoffCoefficient: 2, MaximumAttempts: 4},
}

// poolRounds bounds the history of an execution: a round has a few events, and more for each command.
const poolRounds = 200

// RunPool starts and stops the machines of a pool until the pool was removed and has none. The activities decide, by the events of the
// pool; the workflow makes sure that each order is carried out, beside the others.
func RunPool(ctx workflow.Context, p RunPoolParams) error {
	var a *upkeep.Machines
	var inFlight []string
	over := false
	for round := 0; round < poolRounds && !over; round++ {
		var orders upkeep.MachineOrders
		params := upkeep.NextParams{Pool: p.Pool, InFlight: slices.Clone(inFlight)}
		waiting := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, ordersOfPools), a.AwaitOrders, params)
		if err := waiting.Get(ctx, &orders); err != nil {
			return err
		}
		over = orders.Over
		for i, machine := range slices.Concat(orders.Start, orders.Stop) {
			var command any = a.StartMachine
			if i >= len(orders.Start) {
				command = a.StopMachine
			}
			inFlight = append(inFlight, machine)
			workflow.Go(ctx, func(ctx workflow.Context) {
				params := upkeep.MachineParams{Pool: p.Pool, Machine: machine}
				err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, commandsOfMachines), command, params).Get(ctx, nil)
				if err != nil {
					workflow.GetLogger(ctx).Warn("command of a machine failed", "pool", p.Pool, "machine", machine, "error", err)
				}
				inFlight = slices.DeleteFunc(inFlight, func(m string) bool { return m == machine })
			})
		}
	}
	if err := workflow.Await(ctx, func() bool { return len(inFlight) == 0 }); err != nil || over {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, RunPoolName, p)
}
