package worker

import (
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

// NewPools returns the worker for pools of machines. Run starts it.
func NewPools(c client.Client, machines *upkeep.Machines, opts Options) *Worker {
	opts.setDefaults()
	return &Worker{what: "pools", build: func() service {
		w := opts.upkeep(c, PoolQueue(opts.TaskQueue), worker.Options{MaxConcurrentActivityExecutionSize: poolSlots})
		RegisterPoolWorkflows(w)
		registerActivities(w, map[string]any{
			"AwaitOrders": machines.AwaitOrders, "StartMachine": machines.StartMachine, "StopMachine": machines.StopMachine,
		})
		return w
	}}
}

// RegisterPoolWorkflows registers the workflow of pools under its stored name.
func RegisterPoolWorkflows(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(workflows.RunPool, workflow.RegisterOptions{Name: workflows.RunPoolName})
}
