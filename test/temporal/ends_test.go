//go:build unix

package temporal_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// failing is a graph whose node 1 fails when it runs.
const failing = `{"1":{"class_type":"ComfyMathExpression","inputs":{"expression":"a/0","values.a":424242}},
	"2":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}`

// slowGraph takes long enough to be canceled.
func slowGraph(color int) string {
	return fmt.Sprintf(`{"1":{"class_type":"EmptyImage","inputs":{"width":4096,"height":4096,"batch_size":2,"color":%d}},
	"2":{"class_type":"ImageBlur","inputs":{"image":["1",0],"blur_radius":31,"sigma":1.0}},
	"3":{"class_type":"ImageBlur","inputs":{"image":["2",0],"blur_radius":31,"sigma":2.0}},
	"4":{"class_type":"SaveImage","inputs":{"images":["3",0],"filename_prefix":"t"}}}`, color)
}

// workflowOf waits until the workflow of a job's first run has ended.
func (d *deployment) workflowOf(id string) (status enums.WorkflowExecutionStatus, err error) {
	d.t.Helper()
	workflow := job.ID(id).WorkflowID(1)
	err = d.client.GetWorkflow(d.t.Context(), workflow, "").Get(d.t.Context(), nil)
	found, describeErr := d.client.DescribeWorkflowExecution(d.t.Context(), workflow, "")
	require.NoError(d.t, describeErr)
	return found.GetWorkflowExecutionInfo().GetStatus(), err
}

// historyOf returns the history of a job's first run, as JSON and decoded.
func (d *deployment) historyOf(c client.Client, id string) (text string, events []*historypb.HistoryEvent) {
	d.t.Helper()
	var all historypb.History
	it := c.GetWorkflowHistory(d.t.Context(), job.ID(id).WorkflowID(1), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		event, err := it.Next()
		require.NoError(d.t, err)
		all.Events = append(all.Events, event)
	}
	raw, err := protojson.Marshal(&all)
	require.NoError(d.t, err)
	return string(raw), all.GetEvents()
}

func (p *process) cancel(id string) {
	p.t.Helper()
	p.post("/api/queue", fmt.Sprintf(`{"delete":[%q]}`, id), nil)
}

// running waits until a node of a job runs.
func (p *process) running(id string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return p.get("/api/v2/jobs/" + id)["status"] == "running" }, patience, tick)
}

func TestWorkflowsEndAsTheirJobs(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, nil)
	p := d.serve(nil)

	status, err := d.workflowOf(p.paint(1))
	require.NoError(t, err)
	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, status)

	id := p.submit(failing)
	require.Equal(t, "failed", p.end(id))
	status, err = d.workflowOf(id)
	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_FAILED, status)
	require.ErrorContains(t, err, "node 1 (ComfyMathExpression) failed: ")
	text, events := d.historyOf(d.client, id)
	require.NotContains(t, text, "424242", "no value of the graph")
	failure := events[len(events)-1].GetWorkflowExecutionFailedEventAttributes().GetFailure().GetApplicationFailureInfo()
	require.Equal(t, enums.APPLICATION_ERROR_CATEGORY_BENIGN, failure.GetCategory())

	id = p.submit(slowGraph(7))
	p.running(id)
	p.cancel(id)
	require.Equal(t, "cancelled", p.end(id))
	status, _ = d.workflowOf(id)
	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_CANCELED, status)

	// The doctor does not take such an end for a loss.
	out, err := d.try("doctor", "--reconcile")
	require.NoError(t, err, out)
	require.Contains(t, out, "nothing to repair")
	require.Equal(t, "failed", p.end(p.submit(failing)), "and it can be submitted again")
}

// Calls of partner models end their workflows in the same way.
func TestWorkflowsEndAsTheirCalls(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, nil)
	p := d.serve(map[string]string{"MILLRACE_SIMULATOR": simulator(t)})
	for prompt, want := range map[string]enums.WorkflowExecutionStatus{
		"hello": enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, "[sim:invalid]": enums.WORKFLOW_EXECUTION_STATUS_FAILED,
	} {
		res, err := http.Post(p.base+"/v2/models/sim/echo", "application/json", body(`{"prompt":"`+prompt+`"}`))
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Eventually(t, func() bool {
			return d.count(`WorkflowType = 'RunModel' AND ExecutionStatus = '`+want.String()+`'`) == 1
		}, patience, tick, prompt)
	}
}
