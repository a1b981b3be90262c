package job_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

func TestAJobNamesTheNodesThatCallDeployments(t *testing.T) {
	t.Parallel()
	id := job.NewID()
	var state job.Job
	fold := func(data any) {
		rec := eventlog.Recorded{Stream: id.Stream(), Version: state.Version + 1, RecordedAt: time.Now(), Account: "acme"}
		state = job.Fold(state, rec, data)
	}
	fold(job.SubmittedV1{NodesTotal: 4, Calls: &job.Calls{Mark: ":", Nodes: map[string]string{"2": "Deployment.outer"}}})
	fold(job.AdmittedV1{Run: 1})
	fold(job.StartedV1{Run: 1, NodesTotal: 4})
	fold(job.NodesCachedV1{Run: 1, Nodes: []string{"1", "2:1", "2:3:4"}})
	require.Equal(t, []string{"1", "2"}, state.Calls.Shown(state.Cached))
	fold(job.NodeStartedV1{Run: 1, Node: "2:3:1", Class: "EmptyImage"})
	fold(job.NodeExecutedV1{Run: 1, Node: "2:3:1", Class: "EmptyImage", UI: json.RawMessage(`{"text":["a"]}`)})
	require.Equal(t, 4, state.NodesDone, "the nodes of versions count")
	require.Equal(t, "2", state.Outputs[0].Node)
	require.Equal(t, "Deployment.outer", state.Outputs[0].Class)
	parent, display, root := state.Outputs[0].Within.Places("2")
	require.Nil(t, parent)
	require.Equal(t, []string{"2", "2"}, []string{display, root})
	fold(job.FailedV1{Run: 1, Failure: job.Failure{
		Message: "no", Node: "2:3:1", Class: "EmptyImage", Traceback: []string{"node 2:3:1 (EmptyImage)\n"},
		Inputs: json.RawMessage(`{"width":["8"]}`),
	}})
	require.Equal(t, &job.Failure{
		Message: "no", Node: "2", Class: "Deployment.outer", Traceback: []string{"node 2 (Deployment.outer)\n"}, Inputs: json.RawMessage(`{}`),
	}, state.Error)
	plain := job.NodeStartedV1{Node: "2:1"}
	require.Equal(t, plain, (*job.Calls)(nil).Place(plain))
}
