//go:build unix

package doctor_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// A job whose workflow task fails or times out again and again does not go on, while Temporal and the workers look healthy.
func TestDoctorReportsLateWorkflowTasks(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	address, namespace := temporaltest.Namespace(t)
	c, err := client.DialContext(t.Context(), client.Options{HostPort: address, Namespace: namespace})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	check := func() doctor.Finding {
		return doctor.RunChecks(t.Context(), []doctor.Check{doctor.TaskCheck(c, pool)})[0]
	}
	require.Equal(t, doctor.Healthy, check().Status)

	id := job.NewID()
	_, err = pool.Exec(t.Context(), `insert into job_slots (job_id, account, run, admitted_at)
		values ($1, 'a', 1, now() - interval '1 minute')`, id)
	require.NoError(t, err)
	engine, queue := c.WorkflowService(), &taskqueue.TaskQueue{Name: "late"}
	_, err = engine.StartWorkflowExecution(t.Context(), &workflowservice.StartWorkflowExecutionRequest{
		Namespace: namespace, WorkflowId: id.WorkflowID(1), RequestId: uuid.NewString(),
		WorkflowType: &common.WorkflowType{Name: "w"}, TaskQueue: queue,
	})
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `insert into job_slots (job_id, account, run, admitted_at)
		values ('00000000-0000-4000-8000-000000000000', 'a', 1, now() - interval '1 minute')`)
	require.NoError(t, err)
	f := check()
	require.Equal(t, doctor.Healthy, f.Status, "its task has just been scheduled")
	require.Contains(t, f.Detail, "of 1 jobs", "Temporal does not have the workflow of the other one")
	for failed := 0; failed < 2; {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		task, err := engine.PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
			Namespace: namespace, TaskQueue: queue, Identity: "failing",
		})
		cancel()
		require.NoError(t, err)
		if len(task.GetTaskToken()) == 0 {
			continue // a poll may end without a task
		}
		_, err = engine.RespondWorkflowTaskFailed(t.Context(), &workflowservice.RespondWorkflowTaskFailedRequest{
			Namespace: namespace, TaskToken: task.GetTaskToken(), Identity: "failing",
			Cause: enums.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
		})
		require.NoError(t, err)
		failed++
	}
	f = check()
	require.Equal(t, doctor.Warning, f.Status, f.Detail)
	require.Contains(t, f.Detail, string(id))
	require.Contains(t, f.Detail, "try 3")
	require.NotEmpty(t, f.Remedy)

	_, err = pool.Exec(t.Context(), `insert into job_slots (job_id, account, run, admitted_at)
		select ('ffffffff-ffff-4fff-8fff-' || lpad(n::text, 12, '0'))::uuid, 'a', 1, now() - interval '1 minute' from generate_series(1, 100) n`)
	require.NoError(t, err)
	require.Contains(t, check().Detail, "1 of the first 100 jobs")
}

// A job one of whose activities fails again and again does not go on; one that waits for a slot does nothing else.
func TestDoctorReportsActivitiesThatFailAgainAndAgain(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	address, namespace := temporaltest.Namespace(t)
	c, err := client.DialContext(t.Context(), client.Options{HostPort: address, Namespace: namespace})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w := worker.New(c, "q", worker.Options{})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, kind string) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute,
			RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Millisecond, MaximumInterval: 50 * time.Millisecond},
		})
		return workflow.ExecuteActivity(ctx, "Fail", kind).Get(ctx, nil)
	}, workflow.RegisterOptions{Name: "Run"})
	failed := make(chan struct{})
	w.RegisterActivityWithOptions(func(ctx context.Context, kind string) error {
		if activity.GetInfo(ctx).Attempt == 10 {
			failed <- struct{}{}
			<-ctx.Done()
		}
		return temporal.NewApplicationError("input/output error", kind)
	}, activity.RegisterOptions{Name: "Fail"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	for kind, status := range map[string]string{"other": doctor.Warning, attempt.ErrNoSlot: doctor.Healthy} {
		id := job.NewID()
		_, err = pool.Exec(t.Context(), `insert into job_slots (job_id, account, run, admitted_at)
			values ($1, 'a', 1, now() - interval '1 minute')`, id)
		require.NoError(t, err)
		_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id.WorkflowID(1), TaskQueue: "q"}, "Run", kind)
		require.NoError(t, err)
		<-failed
		f := doctor.RunChecks(t.Context(), []doctor.Check{doctor.TaskCheck(c, pool)})[0]
		require.Equal(t, status, f.Status, f.Detail)
		if status == doctor.Warning {
			require.Contains(t, f.Detail, string(id))
			require.Contains(t, f.Detail, "of an activity: input/output error")
		}
		_, err = pool.Exec(t.Context(), "delete from job_slots")
		require.NoError(t, err)
	}
}
