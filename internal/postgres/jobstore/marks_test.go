package jobstore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

func TestKilledProcessLeavesAMarkAtItsNode(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	first, second := jobstore.NewNodeMarks(pool, "w/1"), jobstore.NewNodeMarks(pool, "w/2")
	ref := job.RunRef{Job: job.NewID(), Account: "a", Run: 1}
	set := func(m *jobstore.NodeMarks, node string, want int) {
		t.Helper()
		others, err := m.Set(t.Context(), ref, node)
		require.NoError(t, err)
		require.Equal(t, want, others)
	}
	set(first, "1", 0)
	set(first, "1", 0) // its own marks do not count
	set(second, "1", 1)
	set(second, "2", 0) // nor do those at other nodes
	second.Clear(t.Context(), ref, "1")
	second.Clear(t.Context(), ref, "2")
	set(first, "2", 0)

	dead, err := second.Dead(t.Context(), ref, "1")
	require.NoError(t, err)
	require.Zero(t, dead, "a process that was just looked at for the first time is not dead")

	away := storetest.OpenPool(t, pool.Config().ConnString())
	third := jobstore.NewNodeMarks(away, "w/3")
	set(third, "3", 0)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	third.Clear(canceled, ref, "3") // the database is not reached
	set(first, "3", 1)
	first.Clear(t.Context(), ref, "3")
	set(third, "4", 0) // and is again
	set(first, "3", 0)

	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	jobs := jobstore.New(pool, eventstore.New(pool, types, nil))
	require.NoError(t, jobs.ForgetMarks(t.Context()))
	set(second, "1", 0) // no slot: the run is over
}
