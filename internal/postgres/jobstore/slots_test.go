package jobstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// A job that waits for a server gives its slot to the next one, and takes a slot again before the jobs in the queue.
func TestSlotsOfWaitingJobsAreUsedByOthers(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	log := eventstore.New(pool, types, nil)
	jobs, bounds := jobstore.New(pool, log), job.Bounds{Slots: 1, QueueDepth: 8}
	submit := func() job.RunRef {
		t.Helper()
		ref := job.RunRef{Job: job.NewID(), Account: "a", Run: 1}
		_, err := jobs.Submit(t.Context(), job.NewJob{ID: ref.Job, Account: "a", Bounds: bounds})
		require.NoError(t, err)
		return ref
	}
	state := func(ref job.RunRef) job.Job {
		t.Helper()
		j, err := eventlog.Fold(types, eventlog.Read(t.Context(), log, ref.Job.Stream(), 0), job.Job{}, job.Fold)
		require.NoError(t, err)
		return j
	}
	take := func(ref job.RunRef) bool {
		t.Helper()
		taken, err := jobs.TakeSlot(t.Context(), ref, bounds, job.SegmentWaitingV1{
			Run: 1, Node: "5", Attempt: 1, Reason: "a ComfyUI server is free",
		})
		require.NoError(t, err)
		return taken
	}
	release := func(ref job.RunRef, version int64) bool {
		t.Helper()
		released, err := jobs.ReleaseSlot(t.Context(), ref, version, bounds)
		require.NoError(t, err)
		return released
	}
	end := func(ref job.RunRef) {
		t.Helper()
		_, err := jobs.End(t.Context(), job.Ending{
			ID: ref.Job, Account: "a", Run: 1, Type: job.TypeSucceeded, Data: job.SucceededV1{Run: 1}, Bounds: bounds,
		})
		require.NoError(t, err)
	}
	first, second := submit(), submit()
	require.True(t, take(first), "it has its slot")
	require.False(t, release(first, state(first).Version-1), "something happened that the caller did not read")
	require.Equal(t, job.Queued, state(second).State)
	require.True(t, release(first, state(first).Version))
	require.True(t, release(first, state(first).Version), "again, after a lost answer")
	require.Equal(t, job.Running, state(second).State, "it has the slot of the first")

	require.False(t, take(first))
	require.False(t, take(first))
	waits := state(first).Waiting
	require.Len(t, waits, 1)
	require.True(t, waits[0].Slot)
	require.Equal(t, "a ComfyUI server is free; the account's 1 slots are in use", waits[0].Reason)
	third := submit()
	end(second)
	require.Equal(t, job.Queued, state(third).State, "the first comes before it")
	require.True(t, take(first))
	require.Empty(t, state(first).Waiting)

	require.True(t, release(first, state(first).Version))
	require.Equal(t, job.Running, state(third).State)
	require.False(t, take(first))
	require.True(t, release(first, state(first).Version), "its server is gone again")
	require.Empty(t, state(first).Waiting, "it waits for no slot")
	fourth := submit()
	end(first)
	require.Equal(t, job.Queued, state(fourth).State, "a job that ends without a slot leaves none")
	end(third)
	require.Equal(t, job.Running, state(fourth).State)
	end(fourth)
	var left int
	require.NoError(t, pool.QueryRow(t.Context(),
		`select sum(running + released + queued) + (select count(*) from job_slots) from job_admissions`).Scan(&left))
	require.Zero(t, left)
}
