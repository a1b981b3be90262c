package worker_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/temporal"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// privateTemporal starts a server that the test may stop.
func privateTemporal(t *testing.T) (address string, pid int) {
	t.Helper()
	host, port, user, password := pgtest.Address(t)
	address, err := ports.Address()
	require.NoError(t, err)
	s, err := temporal.Start(t.Context(), temporal.Options{
		Binary: temporaltest.Binary(t), Postgres: temporal.Postgres{Host: host, Port: port, User: user, Password: password},
		Database: "mrheartbeat_" + strings.ReplaceAll(uuid.NewString(), "-", ""), Address: address, Namespace: "default",
		LogFile: filepath.Join(t.TempDir(), "temporal.log"),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
	return address, s.PID()
}

func TestAStallOfTemporalDoesNotEndTheRunOfANode(t *testing.T) {
	t.Parallel()
	address, pid := privateTemporal(t)
	c, err := client.DialContext(t.Context(), client.Options{HostPort: address, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w := sdk.New(c, "work", sdk.Options{MaxHeartbeatThrottleInterval: 2 * time.Second})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: 10 * time.Second})
		return workflow.ExecuteActivity(ctx, "Node").Get(ctx, nil)
	}, workflow.RegisterOptions{Name: "Run"})
	began, end, canceled := make(chan struct{}, 8), make(chan struct{}), make(chan error, 8)
	w.RegisterActivityWithOptions(func(ctx context.Context) error {
		began <- struct{}{}
		go attempt.Heartbeat(ctx)
		select {
		case <-end:
			return nil
		case <-ctx.Done():
			canceled <- context.Cause(ctx)
			return ctx.Err()
		}
	}, activity.RegisterOptions{Name: "Node"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: uuid.NewString(), TaskQueue: "work"}, "Run")
	require.NoError(t, err)
	<-began
	// The first heartbeat, after three seconds, is sent in the stall.
	time.AfterFunc(2500*time.Millisecond, func() { _ = syscall.Kill(pid, syscall.SIGSTOP) })
	time.AfterFunc(6*time.Second, func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	select {
	case err := <-canceled:
		t.Fatalf("the node was canceled: %v", err)
	case <-time.After(9 * time.Second):
	}
	close(end)
	require.NoError(t, run.Get(t.Context(), nil))
	require.Empty(t, began, "the node ran again")
}
