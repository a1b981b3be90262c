package job_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// Operators see the job's own id, and the one that its client chose beside it.
func TestAJobIsNamedToOperatorsByItsOwnID(t *testing.T) {
	t.Parallel()
	require.Equal(t, "own", job.Job{ID: "own"}.IDs())
	require.EqualValues(t, "own", job.Job{ID: "own"}.PublicID())
	require.Equal(t, "own (public id chosen)", job.Job{ID: "own", Chosen: "chosen"}.IDs())
	require.EqualValues(t, "chosen", job.Job{ID: "own", Chosen: "chosen"}.PublicID())
}

// A retry runs the node anew from which it was asked, and what reads from it; a plain repetition runs nothing anew.
func TestARetryRunsTheRestOfTheGraphAnew(t *testing.T) {
	t.Parallel()
	g, err := graph.Parse(json.RawMessage(`{"1":{"class_type":"A","inputs":{}},"2":{"class_type":"B","inputs":{"x":["1",0]}},
		"3":{"class_type":"C","inputs":{"x":["2",0]}},"4":{"class_type":"D","inputs":{}},"5:6":{"class_type":"E","inputs":{"x":["4",0]}}}`),
		graph.Limits{})
	require.NoError(t, err)
	calls := &job.Calls{Mark: ":", Nodes: map[string]string{"5": "Deployment.x"}}
	for name, c := range map[string]struct {
		origin *job.Origin
		want   []string
	}{
		"no retry":                         {nil, nil},
		"of the whole graph":               {&job.Origin{Job: "j"}, nil},
		"from a node":                      {&job.Origin{Job: "j", FromNode: "2"}, []string{"2", "3"}},
		"from the last node":               {&job.Origin{Job: "j", FromNode: "3"}, []string{"3"}},
		"from a node of a version, by its": {&job.Origin{Job: "j", FromNode: "5"}, []string{"5:6"}},
	} {
		require.ElementsMatch(t, c.want, c.origin.Fresh(g, calls), name)
	}
}
