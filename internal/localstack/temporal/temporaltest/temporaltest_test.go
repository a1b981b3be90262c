//go:build unix

package temporaltest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
)

func answer(workflow.Context) (int, error) { return 42, nil }

func TestWorkflowRunsInAFreshNamespace(t *testing.T) {
	t.Parallel()
	for range 2 {
		begin := time.Now()
		address, namespace := temporaltest.Namespace(t)
		t.Logf("a namespace in %s", time.Since(begin).Round(time.Millisecond))
		c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		w := worker.New(c, "queue", worker.Options{})
		w.RegisterWorkflow(answer)
		require.NoError(t, w.Start())
		t.Cleanup(w.Stop)
		run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "same", TaskQueue: "queue"}, answer)
		require.NoError(t, err)
		var n int
		require.NoError(t, run.Get(t.Context(), &n))
		require.Equal(t, 42, n)
	}
}
