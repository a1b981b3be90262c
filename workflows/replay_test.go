package workflows_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	service "github.com/millrace-dev/millrace/worker"
	"github.com/millrace-dev/millrace/workflows"
)

// Each file is the history of a real run (make histories). A change that takes another course on one
// of them would break that kind of run where it is under way: put it behind workflow.GetVersion.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	files := histories(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			replayer := worker.NewWorkflowReplayer()
			service.RegisterWorkflows(replayer)
			service.RegisterAssetWorkflows(replayer)
			service.RegisterExportWorkflows(replayer)
			service.RegisterModelWorkflows(replayer)
			require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(silent{}, file))
		})
	}
}

// The check can fail: workflow code that takes another course is found out.
func TestAChangedWorkflowDoesNotReplay(t *testing.T) {
	t.Parallel()
	for _, file := range histories(t) {
		if filepath.Base(file)[:3] != "run" {
			continue // histories of assets
		}
		replayer := worker.NewWorkflowReplayer()
		replayer.RegisterWorkflowWithOptions(func(ctx workflow.Context, p workflows.RunGraphParams) error {
			if err := workflow.Sleep(ctx, 1); err != nil { // what the recorded code did not do
				return err
			}
			return workflows.RunGraph(ctx, p)
		}, workflow.RegisterOptions{Name: workflows.RunGraphName})
		require.Error(t, replayer.ReplayWorkflowHistoryFromJSONFile(silent{}, file), file)
	}
}

func histories(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/histories/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// silent drops the replayer's log.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
