package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// ActivityReleaser returns the activities of ended workers to Temporal, which runs them again at once. Without it, Temporal
// detects a killed worker only when the heartbeats of its activities are missing.
type ActivityReleaser struct {
	Client    client.Client
	Namespace string
	Identity  string                     // of this process's worker
	Ended     func(identity string) bool // reports whether the process of a worker has certainly ended
}

const (
	releasePage        = 200 // workflows of one page
	concurrentReleases = 8   // workflows that are examined concurrently
	// secondPassDelay is the delay before the open workflows are listed a second time, because Temporal's list lags
	// behind its state.
	secondPassDelay = 2 * time.Second
)

// Release returns the activities of ended workers in all open workflows to Temporal, and returns their number.
func (a *ActivityReleaser) Release(ctx context.Context) (int, error) {
	first, err := a.release(ctx)
	if err != nil {
		return first, err
	}
	if pause.For(ctx, secondPassDelay) != nil {
		return first, nil //nolint:nilerr // the second pass is left out
	}
	second, err := a.release(ctx)
	return first + second, err
}

// release processes the open workflows once.
func (a *ActivityReleaser) release(ctx context.Context) (released int, err error) {
	for page := []byte(nil); ; {
		open, err := a.Client.WorkflowService().ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: a.Namespace, Query: "ExecutionStatus = 'Running'", PageSize: releasePage, NextPageToken: page,
		})
		if err != nil {
			return released, fmt.Errorf("list open workflows: %w", err)
		}
		counts := make([]int, len(open.GetExecutions()))
		group, side := errgroup.WithContext(ctx)
		group.SetLimit(concurrentReleases)
		for i, w := range open.GetExecutions() {
			group.Go(func() (err error) {
				counts[i], err = a.releaseIn(side, w.GetExecution().GetWorkflowId(), w.GetExecution().GetRunId())
				return err
			})
		}
		err = group.Wait()
		for _, n := range counts {
			released += n
		}
		if page = open.GetNextPageToken(); err != nil || len(page) == 0 {
			return released, err
		}
	}
}

// releaseIn returns the activities of ended workers in one workflow to Temporal.
func (a *ActivityReleaser) releaseIn(ctx context.Context, id, run string) (released int, err error) {
	d, err := a.Client.DescribeWorkflowExecution(ctx, id, run)
	if err != nil {
		return 0, ignoreAbsent(err)
	}
	for _, activity := range d.GetPendingActivities() {
		if activity.GetState() != enums.PENDING_ACTIVITY_STATE_STARTED || !a.Ended(activity.GetLastWorkerIdentity()) {
			continue
		}
		if err := ignoreAbsent(a.fail(ctx, id, run, activity)); err != nil {
			return released, fmt.Errorf("return activity %s of %s: %w", activity.GetActivityId(), id, err)
		}
		released++
	}
	return released, nil
}

// fail ends the attempt of an activity. The retry policy of the activity starts the next attempt.
func (a *ActivityReleaser) fail(ctx context.Context, id, run string, activity *workflow.PendingActivityInfo) error {
	_, err := a.Client.WorkflowService().RespondActivityTaskFailedById(ctx, &workflowservice.RespondActivityTaskFailedByIdRequest{
		Namespace: a.Namespace, WorkflowId: id, RunId: run, ActivityId: activity.GetActivityId(), Identity: a.Identity,
		Failure: &failure.Failure{
			Message:     "the worker process has ended",
			FailureInfo: &failure.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failure.ApplicationFailureInfo{Type: "worker_ended"}},
		},
	})
	return err
}

// ignoreAbsent ignores the error for a workflow or an activity that has ended meanwhile.
func ignoreAbsent(err error) error {
	var absent *serviceerror.NotFound
	if errors.As(err, &absent) {
		return nil
	}
	return err
}
