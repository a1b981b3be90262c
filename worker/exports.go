package worker

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/workflows"
)

// ExportQueue returns the name of the task queue of exports that belongs to the given queue. Packing an archive may
// keep a disk busy for minutes, so exports have their own queue and take no capacity from jobs, scans and sweeps.
func ExportQueue(queue string) string { return queue + "-exports" }

// ExportOptions tune the worker for exports. The zero value works.
type ExportOptions struct {
	TaskQueue  string        // that of jobs; the worker polls ExportQueue of it. Default "millrace"
	Concurrent int           // archives packed at once; default 2, because packing waits for the disk
	StopAfter  time.Duration // as in Options
}

// ExportWorker packs exports.
type ExportWorker struct{ build func() service }

// NewExports returns a worker on the client's namespace. Run starts it.
func NewExports(c client.Client, exports *upkeep.Exports, opts ExportOptions) *ExportWorker {
	if opts.TaskQueue == "" {
		opts.TaskQueue = "millrace"
	}
	if opts.Concurrent == 0 {
		opts.Concurrent = 2
	}
	build := func() service {
		w := worker.New(c, ExportQueue(opts.TaskQueue), worker.Options{
			MaxConcurrentActivityExecutionSize: opts.Concurrent,
			MaxConcurrentWorkflowTaskPollers:   2, // the least there can be
			MaxConcurrentActivityTaskPollers:   1,
			WorkerStopTimeout:                  orElse(opts.StopAfter, 10*time.Second),
		})
		RegisterExportWorkflows(w)
		for name, fn := range map[string]any{"PackExport": exports.PackExport, "GiveUpExport": exports.GiveUpExport} {
			w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
		}
		return w
	}
	return &ExportWorker{build: build}
}

// RegisterExportWorkflows gives the workflows of exports their stored names.
func RegisterExportWorkflows(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(workflows.ExportAssets, workflow.RegisterOptions{Name: workflows.ExportAssetsName})
}

// Run works until ctx ends.
func (w *ExportWorker) Run(ctx context.Context) error {
	return run(ctx, "exports", w.build, nil)
}
