package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/asset"
)

// IngestAssetName is the registered name of IngestAsset.
const IngestAssetName = "IngestAsset"

// IngestAssetParams identifies the asset.
type IngestAssetParams struct{ asset.IngestRef }

// readingRate is the speed of the slowest storage for which verification is planned, in bytes per second.
const readingRate = 1 << 20

// ingestBookkeeping is for a few database round trips by an ingest worker.
var ingestBookkeeping = workflow.ActivityOptions{
	StartToCloseTimeout: 15 * time.Second,
	RetryPolicy:         &retryForever,
}

// scanning bounds a scanner: a scanner that hangs occupies only its own slot, three times for two minutes.
var scanning = workflow.ActivityOptions{
	StartToCloseTimeout: 2 * time.Minute,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 4, MaximumAttempts: 3},
}

// verifyHere is the size up to which bytes are verified within the workflow task. Hashing them takes tens of
// milliseconds, less than scheduling an activity costs Temporal.
const verifyHere = 16 << 20

// verify runs the activity that reads and hashes the stored bytes again, and scans small files.
func verify(ctx workflow.Context, ref asset.IngestRef) (result upkeep.Verified, err error) {
	var a *upkeep.Ingest
	if ref.Size <= verifyHere {
		err = runBookkeeping(ctx, a.VerifyAsset, ref, &result)
		return result, err
	}
	options := workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute + time.Duration(ref.Size/readingRate)*time.Second,
		RetryPolicy:         &retryForever,
	}
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), a.VerifyAsset, ref).Get(ctx, &result)
	return result, err
}

// IngestAsset verifies and scans an asset after its upload was answered: it reads the stored bytes again, hashes them
// and scans them. No request waits for it. A scan that fails is recorded as without a verdict.
func IngestAsset(ctx workflow.Context, p IngestAssetParams) error { return ingest(ctx, p.IngestRef) }

func ingest(ctx workflow.Context, ref asset.IngestRef) error {
	var a *upkeep.Ingest
	verified, err := verify(ctx, ref)
	if err != nil || verified.Complete {
		return err
	}
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, scanning), a.ScanAsset, ref).Get(ctx, nil)
	if err == nil || temporal.IsCanceledError(err) {
		return err
	}
	workflow.GetLogger(ctx).Warn("scan without a verdict", "asset", ref.Asset, "error", err)
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, ingestBookkeeping), a.GiveUpScan, ref).Get(ctx, nil)
}

// IngestAssetsName is the registered name of IngestAssets.
const IngestAssetsName = "IngestAssets"

// IngestAssetsParams names small assets of one account.
type IngestAssetsParams struct{ Assets []asset.IngestRef }

// verifyingMany is for a batch of small files, which takes a fraction of a second. After three attempts each file is
// looked into by itself, so that one of them cannot hold up the others. The same holds after an attempt on a worker that shuts down.
var verifyingMany = workflow.LocalActivityOptions{
	StartToCloseTimeout:    time.Minute,
	ScheduleToCloseTimeout: unboundedTime,
	RetryPolicy:            &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 4, MaximumAttempts: 3},
}

// IngestAssets is IngestAsset for several small assets, which are verified and scanned in one step. What that step leaves
// is looked into asset by asset.
func IngestAssets(ctx workflow.Context, p IngestAssetsParams) error {
	var a *upkeep.Ingest
	var done upkeep.VerifiedAssets
	params := upkeep.VerifyAssetsParams{Workflow: workflow.GetInfo(ctx).WorkflowExecution.ID, Assets: p.Assets}
	err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, verifyingMany), a.VerifyAssets, params).Get(ctx, &done)
	left := done.Left
	switch {
	case temporal.IsCanceledError(err) && ctx.Err() != nil:
		return err
	case err != nil:
		workflow.GetLogger(ctx).Warn("assets not verified together; each is by itself", "assets", len(p.Assets), "error", err)
		left = p.Assets
	}
	return ingestEach(ctx, left)
}

// ingestEach looks into assets side by side.
func ingestEach(ctx workflow.Context, refs []asset.IngestRef) error {
	failed := make([]error, len(refs))
	each := workflow.NewWaitGroup(ctx)
	for i, ref := range refs {
		each.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer each.Done()
			failed[i] = ingest(ctx, ref)
		})
	}
	each.Wait(ctx)
	return errors.Join(failed...)
}
