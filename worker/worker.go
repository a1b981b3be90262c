// Package worker builds the Temporal workers: what each runs, how much of it concurrently, and how it stops. It
// promises that running activities get time to finish when a worker stops. Packages workflows and activities contain
// the work itself; package sweep restarts work that lost its workflow.
package worker

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/workflows"
)

// Options tune a worker. The zero value works.
type Options struct {
	TaskQueue string        // of jobs, default "millrace"; a worker for other work polls a queue that is named after it
	StopAfter time.Duration // how long running activities may continue after Run's context ends; default 10 s
	NoCache   bool          // forget workflows between tasks, as after a crash; for tests

	Deployment Deployment
}

func (o *Options) setDefaults() {
	o.TaskQueue = cmp.Or(o.TaskQueue, "millrace")
	o.StopAfter = cmp.Or(o.StopAfter, 10*time.Second)
}

// worker returns the worker of the SDK for a task queue.
func (o Options) worker(c client.Client, queue string, tuned worker.Options, behavior workflow.VersioningBehavior) worker.Worker {
	tuned.WorkerStopTimeout = o.StopAfter
	return worker.New(c, queue, o.Deployment.options(tuned, behavior))
}

// upkeep returns the worker of the SDK for a task queue on which little arrives. Its workflows continue with the current version.
func (o Options) upkeep(c client.Client, queue string, tuned worker.Options) worker.Worker {
	tuned.MaxConcurrentWorkflowTaskPollers = 2 // the SDK's minimum
	tuned.MaxConcurrentActivityTaskPollers = 1
	return o.worker(c, queue, tuned, workflow.VersioningBehaviorAutoUpgrade)
}

// registerActivities registers activities under their stored names.
func registerActivities(w worker.ActivityRegistry, all map[string]any) {
	for name, fn := range all {
		w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	}
}

// Worker executes workflows and activities.
type Worker struct {
	what  string // it works on
	build func() service
}

// heartbeatThrottle is the shortest time between two heartbeats of an activity.
const heartbeatThrottle = 2 * time.Second

// New returns the worker for graphs: for the task queue of jobs and the queues of short batches and partner nodes. Run starts it.
func New(c client.Client, graph *activities.Graph, opts Options) *Worker {
	opts.setDefaults()
	if opts.NoCache {
		worker.SetStickyWorkflowCacheSize(0) // for the whole process, because the SDK has one cache
	}
	build := func() service {
		nodes := runtime.NumCPU() // concurrent long batches, and as many short ones
		w := opts.worker(c, opts.TaskQueue, worker.Options{
			MaxConcurrentActivityExecutionSize:      nodes,
			MaxConcurrentLocalActivityExecutionSize: 8 * runtime.NumCPU(), // fused chains and bookkeeping activities
			MaxConcurrentWorkflowTaskPollers:        4,
			MaxConcurrentActivityTaskPollers:        batchPollers,
			MaxHeartbeatThrottleInterval:            heartbeatThrottle,
			DefaultHeartbeatThrottleInterval:        heartbeatThrottle,
		}, workflow.VersioningBehaviorPinned)
		RegisterWorkflows(w)
		registerActivities(w, map[string]any{
			"Begin": graph.Begin, "RunCheap": graph.RunCheap, "RunLong": graph.RunLong, "RunSegment": graph.RunSegment, "Finish": graph.Finish,
		})
		long := map[string]any{"RunLong": graph.RunLong}
		return services{
			w,
			// Short batches wait for each other, but never for a long one; partner nodes wait for models.
			opts.activities(c, workflows.ShortQueue, nodes, batchPollers, long),
			opts.activities(c, workflows.PartnerQueue, maxPartnerNodes, batchPollers, long),
		}
	}
	return &Worker{what: "graphs", build: build}
}

// batchPollers is the number of pollers for batches: long work arrives rarely; two pollers cover each other's gaps.
const batchPollers = 2

// ActivitiesWait returns a function that reports whether activities of a task queue wait for a slot of a worker.
func ActivitiesWait(c client.Client, namespace string) func(ctx context.Context, queue string) (bool, error) {
	return func(ctx context.Context, queue string) (bool, error) {
		resp, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: queue}, TaskQueueType: enums.TASK_QUEUE_TYPE_ACTIVITY, ReportStats: true,
		})
		if err != nil {
			return false, fmt.Errorf("read the waiting activities: %w", err)
		}
		return resp.GetStats().GetApproximateBacklogCount() > 0, nil
	}
}

// maxPartnerNodes bounds the partner nodes of this process that wait for their models.
const maxPartnerNodes = 1024

// activities returns the worker of the SDK for activities with a task queue and slots of their own.
func (o Options) activities(c client.Client, queue string, slots, pollers int, all map[string]any) worker.Worker {
	w := o.worker(c, o.TaskQueue+queue, worker.Options{
		DisableWorkflowWorker:              true,
		MaxConcurrentActivityExecutionSize: slots,
		MaxConcurrentActivityTaskPollers:   pollers,
		MaxHeartbeatThrottleInterval:       heartbeatThrottle,
		DefaultHeartbeatThrottleInterval:   heartbeatThrottle,
	}, workflow.VersioningBehaviorPinned)
	registerActivities(w, all)
	return w
}

// RegisterWorkflows registers the workflows of jobs under fixed names, so that renaming a Go function does not break a
// running workflow.
func RegisterWorkflows(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(workflows.RunGraph, workflow.RegisterOptions{Name: workflows.RunGraphName})
}

// maxSegments bounds the segments that this process drives, waiting for a ComfyUI server or running on one. Each
// needs little more than a connection.
const maxSegments = 4096

// NewSegments returns the worker that drives segments on ComfyUI servers.
func NewSegments(c client.Client, graph *activities.Graph, opts Options) *Worker {
	opts.setDefaults()
	return &Worker{what: "graphs", build: func() service {
		return opts.activities(c, workflows.SegmentQueue, maxSegments, 4, map[string]any{"RunSegment": graph.RunSegment})
	}}
}

// Run works until ctx ends. Running activities then have until StopAfter to finish.
func (w *Worker) Run(ctx context.Context) error {
	return run(ctx, w.what, w.build, nil)
}
