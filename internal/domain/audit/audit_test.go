package audit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/audit"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// The events of operators' commands are read from the log as they were recorded.
func TestTheEventsOfOperatorsAreRead(t *testing.T) {
	t.Parallel()
	types := eventlog.NewRegistry()
	require.NoError(t, audit.Register(types))
	for eventType, data := range map[string]any{
		"account.created.v1":               audit.AccountCreatedV1{Name: "acme", Tier: "pro"},
		"account.key_issued.v1":            audit.KeyIssuedV1{Key: "k", Scopes: []string{"read"}},
		"account.key_revoked.v1":           audit.KeyRevokedV1{Key: "k"},
		"view.stream_resumed.v1":           audit.StreamResumedV1{Stream: "s"},
		"view.rebuilt.v1":                  audit.ViewRebuiltV1{Position: 7},
		"reconcile.row_dropped.v1":         audit.RowDroppedV1{Job: "j", Account: "a", Run: 2},
		"reconcile.termination_ordered.v1": audit.TerminationV1{Workflow: "w"},
	} {
		raw, err := types.Encode(eventlog.Event{Type: eventType, Data: data})
		require.NoError(t, err, eventType)
		got, err := types.Decode(eventType, raw)
		require.NoError(t, err, eventType)
		require.Equal(t, data, got)
	}
	require.Equal(t, "view-jobs_v1", audit.ViewStream("jobs_v1"))
}
