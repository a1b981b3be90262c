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

// ExportQueue returns the name of the task queue of exports and downloads for a task queue of jobs. Packing an
// archive or fetching a file may take minutes, so both have a queue of their own and take no capacity from jobs,
// scans and sweeps.
func ExportQueue(queue string) string { return queue + "-exports" }

// ExportOptions tune the worker for exports. The zero value works.
type ExportOptions struct {
	TaskQueue  string        // task queue of jobs; the worker polls its ExportQueue. Default "millrace"
	Concurrent int           // concurrent exports and downloads; default 4, because both wait for a disk or a network
	StopAfter  time.Duration // as in Options

	Deployment Deployment
}

// ExportWorker packs exports and fetches downloads.
type ExportWorker struct{ build func() service }

// NewExports returns a worker on the client's namespace. Run starts it.
func NewExports(c client.Client, exports *upkeep.Exports, downloads *upkeep.Downloads, opts ExportOptions) *ExportWorker {
	opts.TaskQueue = cmp.Or(opts.TaskQueue, "millrace")
	opts.Concurrent = cmp.Or(opts.Concurrent, 4)
	build := func() service {
		w := worker.New(c, ExportQueue(opts.TaskQueue), opts.Deployment.options(worker.Options{
			MaxConcurrentActivityExecutionSize: opts.Concurrent,
			MaxConcurrentWorkflowTaskPollers:   2, // the SDK's minimum
			MaxConcurrentActivityTaskPollers:   1,
			WorkerStopTimeout:                  cmp.Or(opts.StopAfter, 10*time.Second),
		}, workflow.VersioningBehaviorAutoUpgrade))
		RegisterExportWorkflows(w)
		for name, fn := range map[string]any{
			"PackExport": exports.PackExport, "GiveUpExport": exports.GiveUpExport,
			"FetchDownload": downloads.FetchDownload, "GiveUpDownload": downloads.GiveUpDownload,
		} {
			w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
		}
		return w
	}
	return &ExportWorker{build: build}
}

// RegisterExportWorkflows registers the workflows of exports and downloads under their stored names.
func RegisterExportWorkflows(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(workflows.ExportAssets, workflow.RegisterOptions{Name: workflows.ExportAssetsName})
	w.RegisterWorkflowWithOptions(workflows.DownloadAsset, workflow.RegisterOptions{Name: workflows.DownloadAssetName})
}

// Run works until ctx ends.
func (w *ExportWorker) Run(ctx context.Context) error {
	return run(ctx, "exports", w.build, nil)
}
