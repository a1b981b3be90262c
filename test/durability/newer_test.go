package durability_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// In a rolling upgrade, processes of the older version read events that only the newer version defines: in jobs that
// wait, that have a slot, and that run. They ignore these events, even if a worker dies and another one folds the
// streams.
func TestEventsOfANewerVersionStopNoJob(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	prefix, id := c.caught("runs")
	jobs := map[string]string{prefix: id}
	for i := range 8 { // two more jobs than slots
		prefix := fmt.Sprintf("waits-%d", i)
		jobs[prefix] = c.submit(cheap(prefix))
	}
	for _, id := range jobs {
		require.Contains(t, []string{"pending", "in_progress"}, c.state(id))
	}
	c.appendUnknown(ids(jobs))
	c.workers[0].kill()
	c.workers[0].start()
	c.thaw()
	c.await(ids(jobs), "completed")
	c.checkOutputs(jobs)
	c.checkLanes()
	c.checkViews()
}

// appendUnknown appends an event of an unknown type to the streams of jobs.
func (c *cluster) appendUnknown(ids []string) {
	c.t.Helper()
	type newer struct{ Reason string }
	const newerType = "job.moved_elsewhere.v1"
	types := eventlog.NewRegistry()
	require.NoError(c.t, job.Register(types))
	require.NoError(c.t, types.Register(eventlog.TypeOf[newer](newerType)))
	pool, err := postgres.Open(c.t.Context(), c.stack.DatabaseURL, postgres.PoolOptions{})
	require.NoError(c.t, err)
	defer pool.Close()
	events := eventstore.New(pool, types, nil)
	for _, id := range ids {
		_, err := events.Append(c.t.Context(), eventlog.Append{
			Stream: job.ID(id).Stream(), Account: "local", Expected: eventlog.AnyVersion,
			Events: []eventlog.Event{{ID: uuid.New(), Type: newerType, Data: newer{Reason: "of the next version"}}},
		})
		require.NoError(c.t, err)
	}
}
