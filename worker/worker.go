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
	TaskQueue string        // default "millrace"
	Nodes     int           // concurrent long batches, and as many short ones; default the number of CPUs
	Cheap     int           // concurrent fused chains and bookkeeping activities; default 8 per CPU
	Pollers   int           // workflow task pollers; default 4
	StopAfter time.Duration // how long running activities may continue after Run's context ends; default 10 s
	NoCache   bool          // forget workflows between tasks, as after a crash; for tests

	Deployment Deployment
}

func (o *Options) setDefaults() {
	o.TaskQueue = cmp.Or(o.TaskQueue, "millrace")
	if o.Nodes == 0 {
		o.Nodes = runtime.NumCPU()
	}
	if o.Cheap == 0 {
		o.Cheap = 8 * runtime.NumCPU()
	}
	o.Pollers = cmp.Or(o.Pollers, 4)
	o.StopAfter = cmp.Or(o.StopAfter, 10*time.Second)
}

// Worker executes workflows and activities of one task queue and of its queue of short batches.
type Worker struct{ build func() service }

// New returns a worker on the client's namespace. Run starts it.
func New(c client.Client, graph *activities.Graph, opts Options) *Worker {
	opts.setDefaults()
	if opts.NoCache {
		worker.SetStickyWorkflowCacheSize(0) // for the whole process, because the SDK has one cache
	}
	build := func() service {
		w := worker.New(c, opts.TaskQueue, opts.Deployment.options(worker.Options{
			MaxConcurrentActivityExecutionSize:      opts.Nodes,
			MaxConcurrentLocalActivityExecutionSize: opts.Cheap,
			MaxConcurrentWorkflowTaskPollers:        opts.Pollers,
			MaxConcurrentActivityTaskPollers:        2, // long work arrives rarely; two pollers cover each other's gaps
			WorkerStopTimeout:                       opts.StopAfter,
			MaxHeartbeatThrottleInterval:            2 * time.Second,
			DefaultHeartbeatThrottleInterval:        2 * time.Second,
		}, workflow.VersioningBehaviorPinned))
		register(w, graph)
		return services{
			w,
			newBatches(c, graph, opts, workflows.ShortQueue, opts.Nodes),        // short batches wait for each other, but never for a long one
			newBatches(c, graph, opts, workflows.PartnerQueue, maxPartnerNodes), // partner nodes wait for models
		}
	}
	return &Worker{build: build}
}

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

// newBatches returns the worker for batches with a task queue and slots of their own.
func newBatches(c client.Client, graph *activities.Graph, opts Options, queue string, slots int) worker.Worker {
	w := worker.New(c, opts.TaskQueue+queue, opts.Deployment.options(worker.Options{
		DisableWorkflowWorker:              true,
		MaxConcurrentActivityExecutionSize: slots,
		MaxConcurrentActivityTaskPollers:   2, // as for long ones
		WorkerStopTimeout:                  opts.StopAfter,
		MaxHeartbeatThrottleInterval:       2 * time.Second,
		DefaultHeartbeatThrottleInterval:   2 * time.Second,
	}, workflow.VersioningBehaviorPinned))
	w.RegisterActivityWithOptions(graph.RunLong, activity.RegisterOptions{Name: "RunLong"})
	return w
}

// RegisterWorkflows registers the workflows of jobs under fixed names, so that renaming a Go function does not break a
// running workflow.
func RegisterWorkflows(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(workflows.RunGraph, workflow.RegisterOptions{Name: workflows.RunGraphName})
}

func register(w worker.Registry, graph *activities.Graph) {
	RegisterWorkflows(w)
	for name, fn := range map[string]any{
		"Begin": graph.Begin, "RunCheap": graph.RunCheap, "RunLong": graph.RunLong, "RunSegment": graph.RunSegment, "Finish": graph.Finish,
	} {
		w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	}
}

// maxSegments bounds the segments that this process drives, waiting for a ComfyUI server or running on one. Each
// needs little more than a connection.
const maxSegments = 4096

// NewSegments returns the worker that drives segments on ComfyUI servers.
func NewSegments(c client.Client, graph *activities.Graph, opts Options) *Worker {
	opts.setDefaults()
	build := func() service {
		w := worker.New(c, opts.TaskQueue+workflows.SegmentQueue, opts.Deployment.options(worker.Options{
			DisableWorkflowWorker:              true,
			MaxConcurrentActivityExecutionSize: maxSegments,
			MaxConcurrentActivityTaskPollers:   4,
			WorkerStopTimeout:                  opts.StopAfter,
			MaxHeartbeatThrottleInterval:       2 * time.Second,
			DefaultHeartbeatThrottleInterval:   2 * time.Second,
		}, workflow.VersioningBehaviorPinned))
		w.RegisterActivityWithOptions(graph.RunSegment, activity.RegisterOptions{Name: "RunSegment"})
		return w
	}
	return &Worker{build: build}
}

// Run works until ctx ends. Running activities then have until StopAfter to finish.
func (w *Worker) Run(ctx context.Context) error {
	return run(ctx, "graphs", w.build, nil)
}
