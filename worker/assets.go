package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/workflows"
)

// AssetQueue returns the name of the task queue of assets for a task queue of jobs. Assets have a queue of their own,
// so that a hanging scanner takes no capacity from jobs.
func AssetQueue(queue string) string { return queue + "-assets" }

// sweepEvery is the interval of retention sweeps.
const sweepEvery = 10 * time.Minute

// AssetWorker ingests uploads and runs retention sweeps.
type AssetWorker struct {
	client client.Client
	build  func() service
	opts   Options
}

// NewAssets returns a worker on the client's namespace. Run starts it.
func NewAssets(c client.Client, ingest *upkeep.Ingest, retention *upkeep.Retention, opts Options) *AssetWorker {
	opts.setDefaults()
	build := func() service {
		concurrent := max(1, runtime.NumCPU()/2) // files
		w := opts.upkeep(c, AssetQueue(opts.TaskQueue), worker.Options{
			MaxConcurrentActivityExecutionSize:      concurrent + 1, // one more for the sweep
			MaxConcurrentLocalActivityExecutionSize: concurrent,     // hashing must not starve uploads
		})
		RegisterAssetWorkflows(w)
		registerActivities(w, map[string]any{
			"VerifyAsset": ingest.VerifyAsset, "VerifyAssets": ingest.VerifyAssets, "ScanAsset": ingest.ScanAsset, "GiveUpScan": ingest.GiveUpScan,
			"ExpireJobs": retention.ExpireJobs, "ExpireAssets": retention.ExpireAssets, "CollectBlobs": retention.CollectBlobs,
		})
		return w
	}
	return &AssetWorker{client: c, build: build, opts: opts}
}

// RegisterAssetWorkflows registers the workflows of assets under their stored names.
func RegisterAssetWorkflows(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(workflows.IngestAsset, workflow.RegisterOptions{Name: workflows.IngestAssetName})
	w.RegisterWorkflowWithOptions(workflows.IngestAssets, workflow.RegisterOptions{Name: workflows.IngestAssetsName})
	w.RegisterWorkflowWithOptions(workflows.Retention, workflow.RegisterOptions{Name: workflows.RetentionName})
}

// Run works until ctx ends.
func (w *AssetWorker) Run(ctx context.Context) error {
	if err := retryUntilAnswered(ctx, func() error { return w.schedule(ctx) }); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // stopped before Temporal answered
		}
		return fmt.Errorf("schedule retention: %w", err)
	}
	return run(ctx, "assets", w.build, nil)
}

// schedule creates the retention schedule, or updates the interval of an existing one.
func (w *AssetWorker) schedule(ctx context.Context) error {
	id := "retention-" + w.opts.TaskQueue
	spec := client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: sweepEvery}}}
	_, err := w.client.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: id, Spec: spec, Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		Action: &client.ScheduleWorkflowAction{
			ID: id, Workflow: workflows.RetentionName, TaskQueue: AssetQueue(w.opts.TaskQueue),
		},
	})
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return err
	}
	return w.client.ScheduleClient().GetHandle(ctx, id).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			in.Description.Schedule.Spec = &spec
			return &client.ScheduleUpdate{Schedule: &in.Description.Schedule}, nil
		},
	})
}
