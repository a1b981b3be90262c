package outboxstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres/outboxstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// An intent that a process leased before it died is left to nobody for an hour because the clock was set back by one.
func TestIntentsAreDeliveredAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	box := outboxstore.New(pool)
	for workflow, due := range map[string]string{"leased": "15 seconds", "leased before": "1 hour", "due": "-1 second"} {
		_, err := pool.Exec(t.Context(), `insert into outbox (workflow_id, kind, payload, due_at) values ($1, 'cancel', 'null',
			now() + $2::interval)`, workflow, due)
		require.NoError(t, err)
	}
	claimed, err := box.Claim(t.Context(), 10, time.Minute)
	require.NoError(t, err)
	var workflows []string
	for _, in := range claimed {
		workflows = append(workflows, in.WorkflowID)
	}
	require.ElementsMatch(t, []string{"leased before", "due"}, workflows)
	again, err := box.Claim(t.Context(), 10, time.Minute)
	require.NoError(t, err)
	require.Empty(t, again, "they are leased now")
}
