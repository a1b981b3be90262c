package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/task"
)

// The registered names of ExportAssets and DownloadAsset.
const (
	ExportAssetsName  = "ExportAssets"
	DownloadAssetName = "DownloadAsset"
)

// TaskParams identifies the task.
type TaskParams struct{ task.Ref }

// attemptsOfTasks bounds an attempt at a task by a time, and all attempts by a day, which covers outages of this service; no
// owner waits longer. Missing heartbeats reveal a worker that died.
func attemptsOfTasks(longest time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    longest,
		ScheduleToCloseTimeout: 24 * time.Hour,
		HeartbeatTimeout:       10 * time.Second,
		RetryPolicy:            &retryForever,
	}
}

// ExportAssets packs files of an account into an archive. The slowest supported storage bounds an attempt.
func ExportAssets(ctx workflow.Context, p TaskParams) error {
	var a *upkeep.Exports
	return runTask(ctx, p.Ref, 5*time.Minute+time.Duration(p.Bytes/readingRate)*time.Second, a.PackExport, a.GiveUpExport)
}

// DownloadAsset makes an asset of the content of a URL. The hour that a source may take bounds an attempt.
func DownloadAsset(ctx workflow.Context, p TaskParams) error {
	var a *upkeep.Downloads
	return runTask(ctx, p.Ref, time.Hour+5*time.Minute, a.FetchDownload, a.GiveUpDownload)
}

// runTask carries out a task. A task that cannot be carried out ends as failed with a reason, so that every task ends.
func runTask(ctx workflow.Context, ref task.Ref, longest time.Duration, do, giveUp any) error {
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, attemptsOfTasks(longest)), do, ref).Get(ctx, nil)
	if err == nil || temporal.IsCanceledError(err) {
		return err
	}
	workflow.GetLogger(ctx).Warn("task given up", "task", ref.Task, "error", err)
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, ingestBookkeeping), giveUp, ref).Get(ctx, nil)
}
