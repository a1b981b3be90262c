//go:build unix

package temporal_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
)

// interruptions is the number of restarts that interrupt one workflow. By default, Temporal would run the last task
// only after half a minute or more.
const interruptions = 8

func TestOftenInterruptedWorkflowTaskIsRedeliveredSoon(t *testing.T) {
	t.Parallel()
	address, namespace := temporaltest.Namespace(t)
	c, err := client.DialContext(t.Context(), client.Options{HostPort: address, Namespace: namespace})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	engine, queue := c.WorkflowService(), &taskqueue.TaskQueue{Name: "interrupted"}
	_, err = engine.StartWorkflowExecution(t.Context(), &workflowservice.StartWorkflowExecutionRequest{
		Namespace: namespace, WorkflowId: "w", RequestId: uuid.NewString(), WorkflowType: &common.WorkflowType{Name: "w"}, TaskQueue: queue,
		WorkflowTaskTimeout: durationpb.New(time.Second),
	})
	require.NoError(t, err)
	begin := time.Now()
	for n := range interruptions {
		attempt := int32(0)
		for attempt == 0 { // a poll may end without a task
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			task, err := engine.PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
				Namespace: namespace, TaskQueue: queue,
				Identity: "killed",
			})
			cancel()
			require.NoError(t, err)
			attempt = task.GetAttempt()
		}
		require.EqualValues(t, n+1, attempt)
	}
	require.Less(t, time.Since(begin), interruptions*5*time.Second)
}
