package workflows_test

import (
	"encoding/json"
	"os"
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
			register(replayer)
			require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(silent{}, file))
		})
	}
}

// A workflow without a recorded history could change its course unnoticed.
func TestEveryWorkflowHasARecordedHistory(t *testing.T) {
	t.Parallel()
	recorded := map[string]bool{}
	for _, file := range histories(t) {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var history struct {
			Events []struct {
				Started struct {
					Type struct{ Name string } `json:"workflowType"`
				} `json:"workflowExecutionStartedEventAttributes"`
			}
		}
		require.NoError(t, json.Unmarshal(raw, &history))
		recorded[history.Events[0].Started.Type.Name] = true
	}
	offered := &names{WorkflowRegistry: worker.NewWorkflowReplayer()}
	register(offered)
	require.NotEmpty(t, offered.workflows)
	for _, name := range offered.workflows {
		require.True(t, recorded[name], "no recorded history of %s: make histories", name)
	}
}

// names keeps the names under which workflows are registered.
type names struct {
	worker.WorkflowRegistry
	workflows []string
}

func (n *names) RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions) {
	n.workflows = append(n.workflows, options.Name)
	n.WorkflowRegistry.RegisterWorkflowWithOptions(w, options)
}

func register(r worker.WorkflowRegistry) {
	service.RegisterWorkflows(r)
	service.RegisterAssetWorkflows(r)
	service.RegisterExportWorkflows(r)
	service.RegisterModelWorkflows(r)
	service.RegisterPoolWorkflows(r)
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
