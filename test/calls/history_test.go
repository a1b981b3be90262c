package calls_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/millrace-dev/millrace/internal/domain/call"
	service "github.com/millrace-dev/millrace/worker"
	"github.com/millrace-dev/millrace/workflows"
)

var record = flag.Bool("record", false, "record the workflow histories that the replay tests use")

// Calls of every kind. Their histories are replayed here at once, and by package workflows for as long as they are
// kept.
func TestHistoriesOfRealCallsReplay(t *testing.T) {
	t.Parallel()
	s := newDeployment(t, openTiers)
	s.workInProcess(t, false)
	for name, id := range map[string]call.ID{
		"call-sync": s.ended(t, "fast a"), "call-poll": s.ended(t, "async b"), "call-refused": s.ended(t, "refuse c"),
		"call-unknown": s.ended(t, "drop d"), "call-hosted": s.ended(t, "host e"), "call-canceled": s.canceledCall(t, "endless f"),
	} {
		file := s.requireReplays(t, name, id)
		changed := worker.NewWorkflowReplayer()
		changed.RegisterWorkflowWithOptions(func(ctx workflow.Context, p workflows.RunModelParams) error {
			if err := workflow.Sleep(ctx, 1); err != nil { // a step that the recorded code did not have
				return err
			}
			return workflows.RunModel(ctx, p)
		}, workflow.RegisterOptions{Name: workflows.RunModelName})
		require.Error(t, changed.ReplayWorkflowHistoryFromJSONFile(silent{}, file), "the check must be able to fail")
	}
}

// requireReplays replays the history of a call's workflow. It returns the file with the history.
func (s *deployment) requireReplays(t *testing.T, name string, id call.ID) string {
	t.Helper()
	dir := t.TempDir()
	if *record {
		dir = filepath.Join("..", "..", "workflows", "testdata", "histories")
	}
	file := filepath.Join(dir, name+".json")
	s.export(t, id, file)
	replayer := worker.NewWorkflowReplayer()
	service.RegisterModelWorkflows(replayer)
	require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(silent{}, file), name)
	return file
}

// ended runs a call to its end and returns it.
func (s *deployment) ended(t *testing.T, body string) call.ID {
	t.Helper()
	inv := invocation("a", "", body)
	_, _ = s.Run(t.Context(), inv) // some of them fail on purpose
	return call.ID(inv.RequestID)
}

func (s *deployment) canceledCall(t *testing.T, body string) call.ID {
	t.Helper()
	q, err := s.Enqueue(t.Context(), invocation("a", "", body))
	require.NoError(t, err)
	s.awaitState(t, "a", q.Call, func(c call.Call) bool { return c.State == call.Running })
	_, err = s.Cancel(t.Context(), call.Handle{Account: "a", Call: q.Call}, "r")
	require.NoError(t, err)
	s.awaitEnd(t, "a", q.Call)
	return q.Call
}

// export saves the history of a call's workflow when the workflow is closed.
func (s *deployment) export(t *testing.T, id call.ID, file string) {
	t.Helper()
	var ended *temporal.WorkflowExecutionError // the workflow fails with the call
	if err := s.client.GetWorkflow(t.Context(), id.WorkflowID(1), "").Get(t.Context(), nil); !errors.As(err, &ended) {
		require.NoError(t, err)
	}
	var history historypb.History
	it := s.client.GetWorkflowHistory(context.WithoutCancel(t.Context()), id.WorkflowID(1), "", false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		event, err := it.Next()
		require.NoError(t, err)
		history.Events = append(history.Events, event)
	}
	raw, err := protojson.MarshalOptions{Indent: " "}.Marshal(&history)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(raw, '\n'), 0o644)) // test data
	for _, word := range []string{"the answer to", "elsewhere.example"} {
		require.NotContains(t, string(raw), word, "no bytes of calls in histories")
	}
}
