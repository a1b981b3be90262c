package sweep_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/worker/sweep"
)

// longWork runs an activity whose worker would be noticed as gone after an hour.
func longWork(ctx workflow.Context) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: time.Hour})
	var who string
	err := workflow.ExecuteActivity(ctx, "Work").Get(ctx, &who)
	return who, err
}

// startWorker runs a worker under a name.
func startWorker(t *testing.T, address, namespace, identity string,
	work func(context.Context) (string, error),
) (client.Client, sdk.Worker) {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{
		HostPort: address, Namespace: namespace, Identity: identity, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w := sdk.New(c, "work", sdk.Options{})
	w.RegisterWorkflowWithOptions(longWork, workflow.RegisterOptions{Name: "LongWork"})
	w.RegisterActivityWithOptions(work, activity.RegisterOptions{Name: "Work"})
	require.NoError(t, w.Start())
	return c, w
}

func TestActivitiesOfEndedWorkersRunAgainAtOnce(t *testing.T) {
	t.Parallel()
	address, namespace := temporaltest.Namespace(t)
	const jobs = 3
	begun, end := make(chan struct{}, jobs), make(chan struct{})
	t.Cleanup(func() { close(end) })
	first, gone := startWorker(t, address, namespace, "one@dir", func(context.Context) (string, error) {
		begun <- struct{}{}
		<-end
		return "", errors.New("killed")
	})
	var runs []client.WorkflowRun
	for range jobs {
		run, err := first.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: uuid.NewString(), TaskQueue: "work"}, "LongWork")
		require.NoError(t, err)
		runs = append(runs, run)
		<-begun
	}
	gone.Stop() // it leaves its activities behind, as a process does that is killed

	second, again := startWorker(t, address, namespace, "two@dir", func(context.Context) (string, error) { return "two", nil })
	t.Cleanup(again.Stop)
	releaser := sweep.ActivityReleaser{
		Client: second, Namespace: namespace, Identity: "two@dir",
		Ended: func(identity string) bool { return strings.HasSuffix(identity, "@dir") && identity != "two@dir" },
	}
	released, err := releaser.Release(t.Context())
	require.NoError(t, err)
	require.Equal(t, jobs, released)
	for _, run := range runs {
		var who string
		require.NoError(t, run.Get(t.Context(), &who))
		require.Equal(t, "two", who)
	}
}

func TestActivitiesOfLivingWorkersStayUnchanged(t *testing.T) {
	t.Parallel()
	address, namespace := temporaltest.Namespace(t)
	begun, end := make(chan struct{}, 1), make(chan struct{})
	c, w := startWorker(t, address, namespace, "one@elsewhere", func(context.Context) (string, error) {
		begun <- struct{}{}
		<-end
		return "one", nil
	})
	t.Cleanup(w.Stop)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: uuid.NewString(), TaskQueue: "work"}, "LongWork")
	require.NoError(t, err)
	<-begun
	releaser := sweep.ActivityReleaser{
		Client: c, Namespace: namespace, Identity: "two@dir",
		Ended: func(identity string) bool { return strings.HasSuffix(identity, "@dir") },
	}
	released, err := releaser.Release(t.Context())
	require.NoError(t, err)
	require.Zero(t, released)
	close(end)
	require.NoError(t, run.Get(t.Context(), nil))
}
