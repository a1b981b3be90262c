package worker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/workflows"
)

// ModelQueue returns the name of the task queue of model calls for a task queue of jobs. Calls wait minutes for
// providers, so they have a queue of their own and take no capacity from nodes.
func ModelQueue(queue string) string { return queue + "-models" }

// HeartbeatStore records heartbeats of dispatching processes.
type HeartbeatStore interface {
	Heartbeat(ctx context.Context, worker string) error
}

// ModelOptions tune the worker for model calls. The zero value works.
type ModelOptions struct {
	TaskQueue  string        // task queue of jobs; the worker polls its ModelQueue. Default "millrace"
	Concurrent int           // concurrent exchanges with providers; default 1,000, because they only wait
	Hosting    int           // answers whose assets are copied concurrently; default 4
	StopAfter  time.Duration // how long exchanges may continue after Run's context ends; default 10 s

	Deployment Deployment
}

func (o *ModelOptions) setDefaults() {
	o.TaskQueue = cmp.Or(o.TaskQueue, "millrace")
	o.Concurrent = cmp.Or(o.Concurrent, 1000)
	o.Hosting = cmp.Or(o.Hosting, 4)
	o.StopAfter = cmp.Or(o.StopAfter, 10*time.Second)
}

// ModelWorker runs model calls.
type ModelWorker struct {
	build      func() service
	models     *modelcall.Activities
	heartbeats HeartbeatStore
	log        *slog.Logger
	opts       ModelOptions
}

// NewModels returns a worker on the client's namespace. Run starts it.
func NewModels(c client.Client, models *modelcall.Activities, heartbeats HeartbeatStore, log *slog.Logger, opts ModelOptions) *ModelWorker {
	opts.setDefaults()
	build := func() service {
		w := worker.New(c, ModelQueue(opts.TaskQueue), opts.Deployment.options(worker.Options{
			MaxConcurrentWorkflowTaskExecutionSize:  opts.Concurrent, // each exchange occupies one
			MaxConcurrentLocalActivityExecutionSize: opts.Concurrent,
			MaxConcurrentActivityExecutionSize:      opts.Hosting,
			MaxConcurrentWorkflowTaskPollers:        4,
			MaxConcurrentActivityTaskPollers:        2,
			WorkerStopTimeout:                       opts.StopAfter,
		}, workflow.VersioningBehaviorPinned))
		RegisterModelWorkflows(w)
		for name, fn := range map[string]any{
			"Dispatch": models.Dispatch, "Resolve": models.Resolve, "Poll": models.Poll,
			"Stop": models.Stop, "Host": models.Host, "Deliver": models.Deliver,
		} {
			w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
		}
		return w
	}
	return &ModelWorker{build: build, models: models, heartbeats: heartbeats, log: log, opts: opts}
}

// RegisterModelWorkflows registers the workflows of model calls under their stored names.
func RegisterModelWorkflows(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(workflows.RunModel, workflow.RegisterOptions{Name: workflows.RunModelName})
}

// heartbeatEvery is the interval of a dispatching process's heartbeats. The process counts as dead after several
// missed heartbeats.
const heartbeatEvery = 4 * time.Second

// Run works until ctx ends. Running exchanges then have until StopAfter to finish.
func (w *ModelWorker) Run(ctx context.Context) error {
	if err := retryUntilAnswered(ctx, func() error { return w.heartbeats.Heartbeat(ctx, w.models.Worker) }); err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it began
		}
		return fmt.Errorf("first heartbeat: %w", err)
	}
	w.models.SetAlive(true)
	alive, die := context.WithCancel(context.WithoutCancel(ctx))
	var group errgroup.Group
	group.Go(func() error { w.recordHeartbeats(alive); return nil })
	defer group.Wait() //nolint:errcheck // the tasks return no errors
	defer die()
	if err := run(ctx, "model calls", w.build, func() { w.models.SetAlive(false) }); err != nil {
		return err
	}
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.opts.StopAfter)
	defer cancel()
	if err := w.models.Drain(rest); err != nil {
		w.log.Warn("calls still in progress at the stop; their outcome will be unknown", "error", err)
	}
	return nil
}

// recordHeartbeats records heartbeats of the process until ctx ends.
func (w *ModelWorker) recordHeartbeats(ctx context.Context) {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := w.heartbeats.Heartbeat(ctx, w.models.Worker); err != nil && ctx.Err() == nil {
			w.log.Warn("heartbeat not recorded", "error", err)
		}
	}
}
