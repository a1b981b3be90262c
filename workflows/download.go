package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/download"
)

// DownloadAssetName is the registered name of DownloadAsset.
const DownloadAssetName = "DownloadAsset"

// DownloadAssetParams identifies the download.
type DownloadAssetParams struct{ download.Ref }

// fetching bounds an attempt by the hour that a source may take, and all attempts by a day, which covers outages of
// this service. Missing heartbeats reveal a worker that died.
var fetching = workflow.ActivityOptions{
	StartToCloseTimeout:    time.Hour + 5*time.Minute,
	ScheduleToCloseTimeout: 24 * time.Hour,
	HeartbeatTimeout:       10 * time.Second,
	RetryPolicy:            &retryForever,
}

// DownloadAsset makes an asset of the content of a URL. A download that cannot be fetched ends as failed with a
// reason, so that every download ends.
func DownloadAsset(ctx workflow.Context, p DownloadAssetParams) error {
	var a *upkeep.Downloads
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, fetching), a.FetchDownload, p.Ref).Get(ctx, nil)
	if err == nil || temporal.IsCanceledError(err) {
		return err
	}
	workflow.GetLogger(ctx).Warn("download given up", "download", p.Download, "error", err)
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, ingestBookkeeping), a.GiveUpDownload, p.Ref).Get(ctx, nil)
}
