package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/export"
)

// ExportAssetsName is the registered name of ExportAssets.
const ExportAssetsName = "ExportAssets"

// ExportAssetsParams identifies the export.
type ExportAssetsParams struct{ export.Ref }

// exportWithin bounds a whole export, including outages. No owner waits longer for an archive.
const exportWithin = 24 * time.Hour

// packing bounds an attempt for files of that many bytes by the slowest supported storage. Missing heartbeats reveal
// a worker that died.
func packing(bytes int64) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    5*time.Minute + time.Duration(bytes/readingRate)*time.Second,
		ScheduleToCloseTimeout: exportWithin,
		HeartbeatTimeout:       10 * time.Second,
		RetryPolicy:            &retryForever,
	}
}

// ExportAssets packs files of an account into an archive. An export that cannot be packed ends as failed with a
// reason, so that every export ends.
func ExportAssets(ctx workflow.Context, p ExportAssetsParams) error {
	var a *upkeep.Exports
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, packing(p.Bytes)), a.PackExport, p.Ref).Get(ctx, nil)
	if err == nil || temporal.IsCanceledError(err) {
		return err
	}
	workflow.GetLogger(ctx).Warn("export given up", "export", p.Export, "error", err)
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, ingestBookkeeping), a.GiveUpExport, p.Ref).Get(ctx, nil)
}
