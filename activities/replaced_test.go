package activities_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
)

// silence holds heartbeats back until another attempt has begun, as if the process of the first one had been stopped.
func silence(replaced <-chan struct{}) grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, req, reply any, c *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		select {
		case <-replaced:
		default:
			if method == workflowservice.WorkflowService_RecordActivityTaskHeartbeat_FullMethodName {
				<-ctx.Done()
				return ctx.Err()
			}
		}
		return call(ctx, method, req, reply, c, opts...)
	}
}

// An attempt whose process was stopped for longer than the heartbeat timeout, so that another one has begun, records nothing any more.
// The other one continues.
func TestAReplacedAttemptRecordsNothing(t *testing.T) {
	t.Parallel()
	ran := atomic.Int32{}
	replaced, ended := make(chan struct{}), make(chan struct{})
	b := newBench(t, waitPrompt, []string{"1"}, &node.Class{
		Name: "Wait", Module: "nodes", OutputNode: true, Cost: func(node.Args, int64) time.Duration { return time.Minute },
		Run: func(context.Context, *node.Call) (node.Result, error) {
			if ran.Add(1) == 1 {
				<-replaced
				return node.Result{}, nil
			}
			close(replaced)
			<-ended
			return node.Result{}, nil
		},
	})
	b.activities.Heartbeat = nil // heartbeats reach Temporal
	plan := b.begin(t)
	address, namespace := temporaltest.Namespace(t)
	c, err := client.DialContext(t.Context(), client.Options{
		HostPort: address, Namespace: namespace, Logger: slog.New(slog.DiscardHandler),
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(silence(replaced))}},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w := worker.New(c, "work", worker.Options{})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, p activities.RunParams) (res activities.RunResult, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: 15 * time.Second})
		return res, workflow.ExecuteActivity(ctx, "RunLong", p).Get(ctx, &res)
	}, workflow.RegisterOptions{Name: "Run"})
	w.RegisterActivityWithOptions(func(ctx context.Context, p activities.RunParams) (activities.RunResult, error) {
		res, err := b.activities.RunLong(ctx, p)
		if activity.GetInfo(ctx).Attempt == 1 {
			defer close(ended)
			require.Error(t, err)
			require.NotContains(t, b.events(t), "executed 1")
		}
		return res, err
	}, activity.RegisterOptions{Name: "RunLong"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: uuid.NewString(), TaskQueue: "work"}, "Run",
		activities.RunParams{RunRef: b.ref, PlanHash: plan.PlanHash, Units: []int{0}})
	require.NoError(t, err)
	require.NoError(t, run.Get(t.Context(), nil))
	require.Contains(t, b.events(t), "executed 1")
}
