//go:build unix

package temporal_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/millrace-dev/millrace/internal/localstack/stacktest/authority"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
)

func (d *deployment) retention() time.Duration {
	d.t.Helper()
	found, err := d.client.WorkflowService().DescribeNamespace(d.t.Context(),
		&workflowservice.DescribeNamespaceRequest{Namespace: d.namespace})
	require.NoError(d.t, err)
	return found.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
}

func TestWorkflowsAreFoundByTheirSearchAttributes(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, map[string]string{"MILLRACE_JOB_RETENTION": "240h"})
	out := d.run("migrate")
	require.Contains(t, out, "search attributes registered: MillraceAccount")
	require.Contains(t, out, "histories are kept for 240h")
	require.Equal(t, 240*time.Hour, d.retention())
	require.NotContains(t, d.run("migrate"), "namespace", "nothing is left to do")
	require.Eventually(t, func() bool { // Temporal's services read them within seconds
		_, err := d.client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: `MillraceAccount = 'local'`})
		return err == nil
	}, patience, tick)

	p := d.serve(map[string]string{"MILLRACE_SIMULATOR": simulator(t)})
	p.paint(1)
	require.Equal(t, "failed", p.end(p.submit(failing)))
	require.Equal(t, "completed", p.end(p.submit(slowGraph(3))))
	p.post("/v2/models/sim/echo", `{"prompt":"hello"}`, nil)
	for query, want := range map[string]int64{
		`MillraceAccount = 'local' AND WorkflowType = 'RunGraph'`:                                   3,
		`MillraceOutcome IS NOT NULL AND ExecutionStatus = 'Failed'`:                                1,
		`MillraceClass = 'ComfyMathExpression' AND MillraceSurface IS NOT NULL`:                     1,
		`MillraceClass = 'ImageBlur' AND MillraceOutcome IS NULL`:                                   1,
		`MillraceClass = 'sim/echo' AND MillraceAccount = 'local' AND WorkflowType = 'RunModel'`:    1,
		`MillraceAccount = 'local' AND ExecutionStatus = 'Completed' AND WorkflowType = 'RunGraph'`: 2,
	} {
		require.Eventually(t, func() bool { return d.count(query) == want }, patience, tick, query)
	}
}

// Without the permission to register attributes, the command prints a line that says so, and jobs run without them.
func TestANamespaceWithoutRightsWorksWithoutSearchAttributes(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, nil)
	ca := authority.New(t)
	front := temporaltest.NewFront(t, d.address, temporaltest.FrontRules{
		Certificate: ca.Pair(t, "127.0.0.1", time.Now().Add(time.Hour)),
		Denied:      "/temporal.api.operatorservice.v1.OperatorService/AddSearchAttributes",
	})
	d.env["TEMPORAL_ADDRESS"] = front.Address
	d.env["TEMPORAL_TLS_SERVER_CA_CERT_PATH"] = authority.WriteFile(t, filepath.Join(t.TempDir(), "ca.pem"), ca.PEM)
	out := d.run("migrate")
	require.Contains(t, out, "preparation failed: search attributes of namespace "+d.namespace+" are not registered, so workflows have none")
	require.Contains(t, out, "temporal operator search-attribute create -n "+d.namespace+" --name MillraceAccount --type Keyword")
	d.serve(nil).paint(1)
}

// A history shows people which nodes ran, and their outcomes.
func TestHistoriesNameNodes(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, nil)
	p := d.serve(nil)
	_, cheap := d.historyOf(d.client, p.paint(1))
	var begun string
	for _, e := range cheap {
		for _, details := range e.GetMarkerRecordedEventAttributes().GetDetails() {
			for _, payload := range details.GetPayloads() {
				begun += string(payload.GetData())
			}
		}
	}
	require.Contains(t, begun, `"Nodes":["1 EmptyImage","2 SaveImage"]`)
	require.Contains(t, begun, `"Ended":true`)

	id := p.submit(slowGraph(5))
	require.Equal(t, "completed", p.end(id))
	_, events := d.historyOf(d.client, id)
	var summaries []string
	for _, e := range events {
		if raw := e.GetUserMetadata().GetSummary().GetData(); len(raw) > 0 {
			summaries = append(summaries, string(raw))
		}
	}
	require.Contains(t, summaries[0], id, "the workflow's own")
	require.Contains(t, strings.Join(summaries[1:], " "), "2 ImageBlur")
}
