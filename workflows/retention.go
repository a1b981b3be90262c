package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/upkeep"
	"github.com/millrace-dev/millrace/internal/domain/asset"
)

// RetentionName is the registered name of Retention.
const RetentionName = "Retention"

// RetentionResult is the result of a sweep.
type RetentionResult struct {
	Expired   int
	Jobs      upkeep.JobSweep
	Collected asset.Collection
}

// sweeping bounds the steps of a sweep. A walk over millions of blobs takes minutes and sends heartbeats. After three
// attempts, the next sweep does the rest.
var sweeping = workflow.ActivityOptions{
	StartToCloseTimeout: 2 * time.Hour,
	HeartbeatTimeout:    2 * time.Minute,
	RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 4, MaximumAttempts: 3},
}

// Retention is one sweep: it retires jobs whose retention has ended, expires assets whose deadline has passed, and
// deletes blobs without references. If a step fails, the others still run.
func Retention(ctx workflow.Context) (RetentionResult, error) {
	var a *upkeep.Retention
	var res RetentionResult
	ctx = workflow.WithActivityOptions(ctx, sweeping)
	jobs := workflow.ExecuteActivity(ctx, a.ExpireJobs).Get(ctx, &res.Jobs)
	if temporal.IsCanceledError(jobs) {
		return res, jobs
	}
	if err := workflow.ExecuteActivity(ctx, a.ExpireAssets).Get(ctx, &res.Expired); err != nil {
		return res, errors.Join(jobs, err)
	}
	err := workflow.ExecuteActivity(ctx, a.CollectBlobs).Get(ctx, &res.Collected)
	return res, errors.Join(jobs, err)
}
