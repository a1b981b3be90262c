package job_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// A job that succeeded warns of the output nodes that left nothing to fetch.
func TestOutputNodesThatLeaveNothing(t *testing.T) {
	t.Parallel()
	j := job.Job{
		State: job.Succeeded, Targets: []string{"file", "text", "nothing", "empty", "expanded"},
		Outputs: []job.NodeOutput{
			{Node: "file", UI: json.RawMessage(`{"images":[{}]}`), Files: []job.OutputFile{{}}},
			{Node: "text", UI: json.RawMessage(`{"text":["a mill"]}`)},
			{Node: "empty", UI: json.RawMessage(`{"images":[],"animated":null}`)},
			{Node: "expanded.0.0.1", UI: json.RawMessage(`{"text":["a"]}`), Within: &job.Expansion{Parent: "expanded", Real: "expanded"}},
		},
	}
	var nodes []string
	for _, w := range j.Warnings() {
		require.Equal(t, job.WarnNoOutput, w.Code)
		nodes = append(nodes, w.Node)
	}
	require.Equal(t, []string{"nothing", "empty"}, nodes)
	j.State = job.Failed
	require.Empty(t, j.Warnings(), "the failure says more")
}
