package worker

import (
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

// exportSlots bounds the concurrent exports and downloads of a process, which wait for a disk or a network.
const exportSlots = 4

// NewExports returns the worker for exports and downloads. Run starts it.
func NewExports(c client.Client, exports *upkeep.Exports, downloads *upkeep.Downloads, opts Options) *Worker {
	opts.setDefaults()
	return &Worker{what: "exports", build: func() service {
		w := opts.upkeep(c, ExportQueue(opts.TaskQueue), worker.Options{MaxConcurrentActivityExecutionSize: exportSlots})
		RegisterExportWorkflows(w)
		registerActivities(w, map[string]any{
			"PackExport": exports.PackExport, "GiveUpExport": exports.GiveUpExport,
			"FetchDownload": downloads.FetchDownload, "GiveUpDownload": downloads.GiveUpDownload,
		})
		return w
	}}
}

// RegisterExportWorkflows registers the workflows of exports and downloads under their stored names.
func RegisterExportWorkflows(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(workflows.ExportAssets, workflow.RegisterOptions{Name: workflows.ExportAssetsName})
	w.RegisterWorkflowWithOptions(workflows.DownloadAsset, workflow.RegisterOptions{Name: workflows.DownloadAssetName})
}
