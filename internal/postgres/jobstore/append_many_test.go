package jobstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// TestAppendCostIsLinearInStreams: appending to streams that exist costs about what it costs to
// make them, which is in proportion to their number. With the square of it, 4,000 took sixteen times as long.
func TestAppendCostIsLinearInStreams(t *testing.T) {
	t.Parallel()
	y := newFixture(t)
	const streams = 4000
	best := [2]time.Duration{time.Hour, time.Hour}
	for tries := 0; tries < 2 || best[1] >= 5*best[0] && tries < 20; tries++ { // again where something else kept the machine busy
		appends := make([]eventlog.Append, streams)
		for i := range appends {
			appends[i] = eventlog.Append{Stream: job.NewID().Stream(), Account: "a"}
		}
		for i, event := range []eventlog.Event{
			{Type: job.TypeSubmitted, Data: job.SubmittedV1{}}, {Type: job.TypeCancelRequested, Data: job.CancelRequestedV1{Run: 1}},
		} {
			for k := range appends {
				event.ID = uuid.New()
				appends[k].Expected, appends[k].Events = int64(i), []eventlog.Event{event}
			}
			began := time.Now()
			written, err := y.events.Write(t.Context(), eventstore.Decision{
				Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error { return c.Append(appends...) },
			})
			best[i] = min(best[i], time.Since(began))
			require.NoError(t, err)
			require.Len(t, written.Events, streams)
		}
	}
	require.Less(t, best[1], 5*best[0])
	t.Logf("%d streams: %s to make them, %s to append to them", streams, best[0], best[1])
}
