package worker

import (
	"cmp"
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/workflows"
)

// PoolQueue returns the name of the task queue of pools of machines for a task queue of jobs. Each pool always has an activity that waits
// for its next order, so pools have a queue of their own.
func PoolQueue(queue string) string { return queue + "-pools" }

// poolSlots bounds the pools and the commands of machines of a process.
const poolSlots = 200

// PoolWorker runs pools of machines.
type PoolWorker struct{ build func() service }

// NewPools returns a worker on the client's namespace. Run starts it.
func NewPools(c client.Client, machines *upkeep.Machines, opts Options) *PoolWorker {
	build := func() service {
		w := worker.New(c, PoolQueue(cmp.Or(opts.TaskQueue, "millrace")), opts.Deployment.options(worker.Options{
			MaxConcurrentActivityExecutionSize: poolSlots,
			MaxConcurrentWorkflowTaskPollers:   2, // the SDK's minimum
			MaxConcurrentActivityTaskPollers:   1,
			WorkerStopTimeout:                  cmp.Or(opts.StopAfter, 10*time.Second),
		}, workflow.VersioningBehaviorAutoUpgrade))
		RegisterPoolWorkflows(w)
		for name, fn := range map[string]any{
			"AwaitOrders": machines.AwaitOrders, "StartMachine": machines.StartMachine, "StopMachine": machines.StopMachine,
		} {
			w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
		}
		return w
	}
	return &PoolWorker{build: build}
}

// RegisterPoolWorkflows registers the workflow of pools under its stored name.
func RegisterPoolWorkflows(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(workflows.RunPool, workflow.RegisterOptions{Name: workflows.RunPoolName})
}

// Run works until ctx ends.
func (w *PoolWorker) Run(ctx context.Context) error { return run(ctx, "pools", w.build, nil) }
