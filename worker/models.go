package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/workflows"
)

// ModelQueue returns the name of the task queue of model calls for a task queue of jobs. Calls wait minutes for
// providers, so they have a queue of their own and take no capacity from nodes.
func ModelQueue(queue string) string { return queue + "-models" }

// HeartbeatStore records heartbeats of dispatching processes.
type HeartbeatStore interface {
	Heartbeat(ctx context.Context, worker string) error
}

// Bounds of one process.
const (
	maxExchanges = 1000 // with providers; they only wait
	maxHosting   = 4    // answers whose assets are copied
)

// ModelWorker runs model calls.
type ModelWorker struct {
	build      func() service
	models     *modelcall.Activities
	heartbeats HeartbeatStore
	log        *slog.Logger
	opts       Options
}

// NewModels returns a worker on the client's namespace. Run starts it.
func NewModels(c client.Client, models *modelcall.Activities, heartbeats HeartbeatStore, log *slog.Logger, opts Options) *ModelWorker {
	opts.setDefaults()
	build := func() service {
		w := opts.worker(c, ModelQueue(opts.TaskQueue), worker.Options{
			MaxConcurrentWorkflowTaskExecutionSize:  maxExchanges, // each exchange occupies one
			MaxConcurrentLocalActivityExecutionSize: maxExchanges,
			MaxConcurrentActivityExecutionSize:      maxHosting,
			MaxConcurrentWorkflowTaskPollers:        4,
			MaxConcurrentActivityTaskPollers:        2,
		}, workflow.VersioningBehaviorPinned)
		RegisterModelWorkflows(w)
		registerActivities(w, map[string]any{
			"Dispatch": models.Dispatch, "Resolve": models.Resolve, "Poll": models.Poll,
			"Stop": models.Stop, "Host": models.Host, "Deliver": models.Deliver,
		})
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
	for range pause.Every(ctx, heartbeatEvery) {
		if err := w.heartbeats.Heartbeat(ctx, w.models.Worker); err != nil && ctx.Err() == nil {
			w.log.Warn("heartbeat not recorded", "error", err)
		}
	}
}
