package jobs_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

func registry(tb testing.TB) *eventlog.Registry {
	tb.Helper()
	r := eventlogtest.Registry(tb)
	require.NoError(tb, job.Register(r))
	return r
}

// id returns the nth job of a history.
func id(n int) job.ID { return job.ID(uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, n)).String()) }

func given(n int, account, eventType string, data any) projectiontest.Given {
	return projectiontest.Given{Stream: id(n).Stream(), Account: account, Type: eventType, Data: data}
}

func submitted(n int, metadata map[string]string) projectiontest.Given {
	return given(n, "acme", job.TypeSubmitted, job.SubmittedV1{
		Number: float64(n), Surface: job.SurfaceV2, ClientID: "client", Targets: []string{"9"}, NodesTotal: 3,
		Document: job.Document{Inline: `{"prompt":{}}`}, Metadata: metadata,
	})
}

// history is the life of three jobs: one that succeeds, one that fails, one canceled while it waits.
func history() []projectiontest.Given {
	ui := json.RawMessage(`{"images":[{"filename":"a.png","subfolder":"","type":"output"}]}`)
	return []projectiontest.Given{
		submitted(1, map[string]string{"team": "blue", "nul": "a\x00b"}),
		given(1, "acme", job.TypeAdmitted, job.AdmittedV1{Run: 1}),
		given(1, "acme", job.TypeStarted, job.StartedV1{Run: 1, NodesTotal: 3, Worker: "w"}),
		submitted(2, nil),
		given(1, "acme", job.TypeNodesCached, job.NodesCachedV1{Run: 1, Nodes: []string{"1"}}),
		given(1, "acme", job.TypeNodeStarted, job.NodeStartedV1{Run: 1, Node: "5", Class: "ImageBlur"}),
		{Stream: "note-1", Account: "acme", Type: eventlogtest.TypeNoted, Data: eventlogtest.NotedV1{Text: "not a job"}},
		given(1, "acme", job.TypeNodeExecuted, job.NodeExecutedV1{Run: 1, Node: "5", Class: "ImageBlur", Millis: 12}),
		given(3, "acme", job.TypeSubmitted, job.SubmittedV1{
			Number: 3, Surface: job.SurfaceCloud, Targets: []string{"9"}, NodesTotal: 1,
			WorkflowID: "sunset",
		}),
		given(1, "acme", job.TypeNodeExecuted, job.NodeExecutedV1{Run: 1, Node: "9", Class: "SaveImage", UI: ui}),
		given(3, "acme", job.TypeCanceled, job.CanceledV1{}),
		given(1, "acme", job.TypeSucceeded, job.SucceededV1{Run: 1}),
		given(2, "acme", job.TypeAdmitted, job.AdmittedV1{Run: 1}),
		given(2, "acme", job.TypeStarted, job.StartedV1{Run: 1, NodesTotal: 3}),
		given(2, "acme", job.TypeNodeStarted, job.NodeStartedV1{Run: 1, Node: "5", Class: "ImageBlur"}),
		given(2, "acme", job.TypeFailed, job.FailedV1{Run: 1, Failure: job.Failure{Code: "node_execution_error", Message: "no", Node: "5"}}),
	}
}

func TestJobsView(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Golden(t, projectiontest.NewPool, jobs.NewProjection(r), "jobs", projectiontest.Record(t, r, history()...))
}

func TestJobsViewRefusesAGap(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.RefusesAGap(t, jobs.NewProjection(r), projectiontest.Record(t, r, history()...), 2)
}

// tell appends a history to the log, and returns the last position.
func tell(t testing.TB, store eventlog.Store, history ...projectiontest.Given) int64 {
	t.Helper()
	return projectiontest.Position(projectiontest.Append(t, store, history...))
}

func TestJobsViewEqualsItsRebuild(t *testing.T) {
	t.Parallel()
	r := registry(t)
	pool := projectiontest.Live(t, r, jobs.NewProjection(r), history()...)
	j, err := jobs.NewReader(pool, r, nil).Job(t.Context(), "acme", id(1))
	require.NoError(t, err)
	require.Equal(t, job.Succeeded, j.State)
}
