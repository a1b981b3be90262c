package fanout_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/projections/fanout"
)

func TestExceptionTypesInRuntimeNamesIfConfigured(t *testing.T) { // W-64
	t.Parallel()
	w := &watch{log: newLog(t), hub: stream.NewHub(stream.HubOptions{})}
	w.out = fanout.New(w.log, w.log, w.log.registry, w.hub, slog.New(slog.DiscardHandler))
	w.out.RuntimeNames = true
	w.out.Begin(0)
	w.sub, _ = w.subscribe(t)
	failure := job.Failure{Message: "no", Node: "3", Class: "X", ExceptionType: "OOMError", Traceback: []string{"OOMError: no\n"}}
	w.happen(t, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1, NodesTotal: 1}, job.NodeFailedV1{Run: 1, Failure: failure},
		job.FailedV1{Run: 1, Failure: failure})
	all := frames(drain(t, w.sub))
	require.Contains(t, all[len(all)-3], `"exception_type":"torch.OutOfMemoryError","traceback":["torch.OutOfMemoryError: no\n"]`)
}
