//go:build unix

package temporal_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// A workflow task that nobody answers is given out again although its shard got no notice of the timer: the test moves the timer in the
// database, as another instance of the shard writes one.
func TestATimerWithoutANoticeFires(t *testing.T) {
	t.Parallel()
	opts := options(t)
	start(t, opts)
	conn, err := grpc.NewClient(opts.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	frontend := workflowservice.NewWorkflowServiceClient(conn)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	queue := &taskqueue.TaskQueue{Name: "silent"}
	_, err = frontend.StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
		Namespace: opts.Namespace, WorkflowId: "w", RequestId: "r", WorkflowType: &common.WorkflowType{Name: "nothing"}, TaskQueue: queue,
		WorkflowTaskTimeout: durationpb.New(2 * time.Minute),
	})
	require.NoError(t, err)
	poll := func() *workflowservice.PollWorkflowTaskQueueResponse {
		for {
			task, err := frontend.PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
				Namespace: opts.Namespace, TaskQueue: queue, Identity: "test",
			})
			require.NoError(t, err)
			if len(task.GetTaskToken()) > 0 {
				return task
			}
		}
	}
	require.EqualValues(t, 1, poll().GetAttempt())
	config, err := pgx.ParseConfig(pgtest.Server(t))
	require.NoError(t, err)
	config.Database = opts.Database
	db, err := pgx.ConnectConfig(ctx, config)
	require.NoError(t, err)
	defer db.Close(context.Background())
	tag, err := db.Exec(ctx, `update timer_tasks set visibility_timestamp = (now() at time zone 'utc') + interval '10 seconds'
		where visibility_timestamp - (now() at time zone 'utc') between interval '1 minute' and interval '3 minutes'`)
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected(), "the time of the workflow task")
	require.EqualValues(t, 2, poll().GetAttempt(), "the timer was found in the database before its time")
}
