//go:build unix

package localstack_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Starts that arrive while PostgreSQL is down wait for it. The test sends them without the retries of an SDK.
func TestWorkflowsStartWhilePostgresIsRestarted(t *testing.T) {
	t.Parallel()
	s := start(t, options(t, tempDir(t)))
	conn, err := grpc.NewClient(s.TemporalAddress, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	frontend := workflowservice.NewWorkflowServiceClient(conn)
	refused := 0
	for n := range 4 {
		postgres, _ := s.PIDs()
		require.NoError(t, syscall.Kill(postgres, syscall.SIGKILL))
		for shard := range 4 {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			request := &workflowservice.StartWorkflowExecutionRequest{
				Namespace: "jobs", WorkflowId: fmt.Sprintf("w-%d-%d", n, shard), RequestId: fmt.Sprintf("r-%d-%d", n, shard),
				WorkflowType: &common.WorkflowType{Name: "nothing"}, TaskQueue: &taskqueue.TaskQueue{Name: "nobody"},
			}
			_, err = frontend.StartWorkflowExecution(ctx, request)
			if status.Code(err) == codes.Unavailable {
				refused++
			}
			for status.Code(err) == codes.Unavailable {
				_, err = frontend.StartWorkflowExecution(ctx, request)
			}
			require.NoError(t, err, "outage %d, workflow %d", n, shard)
		}
		eventually(t, func(context.Context) error { return replaced(s, postgres, 0) })
	}
	// If the kill interrupted a write of the server, the state of a shard is unknown for a moment.
	require.LessOrEqual(t, refused, maxRefused, "starts that the outages refused")
}

// maxRefused is far below the 16 starts, nearly all of which would be refused if Temporal did not wait for PostgreSQL.
const maxRefused = 3
