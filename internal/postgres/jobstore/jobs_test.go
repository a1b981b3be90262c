package jobstore_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// What is Unavailable is tried again until it works, anything else only a few times: a run must not
// be given up, nor a client answered with a bug, because the database restarts.
func TestCommandsOfJobsDistinguishOutagesFromBugs(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/nothing?connect_timeout=2")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	accounts := accountstore.New(pool)
	jobs, id := jobstore.New(pool, eventstore.New(pool, types, nil)), job.NewID()
	ref := job.RunRef{Job: id, Account: "a", Run: 1}
	for name, command := range map[string]func(context.Context) error{
		"submit": func(ctx context.Context) error {
			_, err := jobs.Submit(ctx, job.NewJob{ID: id, Account: "a"})
			return err
		},
		"end": func(ctx context.Context) error {
			_, err := jobs.End(ctx, job.Ending{ID: id, Account: "a", Run: 1, Type: job.TypeSucceeded, Data: job.SucceededV1{Run: 1}})
			return err
		},
		"cancel": func(ctx context.Context) error {
			_, err := jobs.Cancel(ctx, job.CancelRequest{Account: "a", IDs: []job.ID{id}})
			return err
		},
		"waiting": func(ctx context.Context) error { _, err := jobs.Waiting(ctx, "a"); return err },
		"held":    func(ctx context.Context) error { _, err := jobs.RunningAfter(ctx, "", 0, 1); return err },
		"bounds":  func(ctx context.Context) error { _, err := accounts.Account(ctx, "a"); return err },
		"queued":  func(ctx context.Context) error { _, err := jobs.Queued(ctx, "", 1); return err },
		"admit":   func(ctx context.Context) error { return jobs.Admit(ctx, "a", job.Bounds{Slots: 1}) },
		"restart": func(ctx context.Context) error { return jobs.Requeue(ctx, ref.Job, "operator", "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := command(t.Context())
			require.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
		})
	}
}

// An account that was lowered to a tier without slots and raised again has nothing running whose end
// would hand a slot on.
func TestJobsThatWaitAreAdmittedWhenTheirAccountGetsSlots(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	events := eventstore.New(pool, types, nil)
	jobs := jobstore.New(pool, events)
	var ids []job.ID
	for range 3 {
		ids = append(ids, job.NewID())
		_, err := jobs.Submit(t.Context(), job.NewJob{ID: ids[len(ids)-1], Account: "a", Bounds: job.Bounds{QueueDepth: 9}})
		require.NoError(t, err)
	}
	waiting, err := jobs.Queued(t.Context(), "", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, waiting)
	for range 2 { // the second time the slots are taken
		require.NoError(t, jobs.Admit(t.Context(), "a", job.Bounds{Slots: 2}))
	}
	withSlot, err := jobs.WithSlot(t.Context(), "a")
	require.NoError(t, err)
	require.ElementsMatch(t, ids[:2], withSlot)
	left, err := jobs.Waiting(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, ids[2:], left)
	recorded, err := events.ReadStream(t.Context(), ids[0].Stream(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, job.TypeAdmitted, recorded[len(recorded)-1].Type)
}

// The end of a small job carries the events of its whole run.
func TestEndOfAJobIsCommittedWithTheEventsBeforeIt(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	events := eventstore.New(pool, types, nil)
	delivered := make(chan outbox.Intent, 100)
	events.DeliverBy(func(intents []outbox.Intent) {
		for _, in := range intents {
			delivered <- in
		}
	})
	jobs := jobstore.New(pool, events)
	bounds := job.Bounds{Slots: 1, QueueDepth: 9}
	submit := func(t *testing.T, account string) job.ID {
		t.Helper()
		id := job.NewID()
		_, err := jobs.Submit(t.Context(), job.NewJob{ID: id, Account: account, Bounds: bounds})
		require.NoError(t, err)
		return id
	}
	eventsOf := func(id job.ID) []eventlog.Event {
		return []eventlog.Event{
			{ID: job.EventID(id, 1, "", 0, job.TypeStarted), Type: job.TypeStarted, Data: job.StartedV1{Run: 1}},
			{ID: job.EventID(id, 1, "", 0, job.TypeNodesCached), Type: job.TypeNodesCached, Data: job.NodesCachedV1{Run: 1}},
		}
	}
	ending := func(id job.ID, account string) job.Ending {
		return job.Ending{
			ID: id, Account: account, Run: 1, Type: job.TypeSucceeded, Data: job.SucceededV1{Run: 1}, Before: eventsOf(id),
			Bounds: bounds,
		}
	}
	recorded := func(t *testing.T, id job.ID) (out []string) {
		t.Helper()
		page, err := events.ReadStream(t.Context(), id.Stream(), 0, 10)
		require.NoError(t, err)
		for _, rec := range page {
			out = append(out, rec.Type)
		}
		return out
	}
	whole := []string{job.TypeSubmitted, job.TypeAdmitted, job.TypeStarted, job.TypeNodesCached, job.TypeSucceeded}

	t.Run("at once, and a repetition changes nothing", func(t *testing.T) {
		t.Parallel()
		first, next := submit(t, "once"), submit(t, "once")
		ended, err := jobs.End(t.Context(), ending(first, "once"))
		require.NoError(t, err)
		require.True(t, ended.Applied)
		start := <-delivered
		for start.WorkflowID != next.WorkflowID(1) { // until that of the job that waited
			start = <-delivered
		}
		require.NotZero(t, start.ID)
		ended, err = jobs.End(t.Context(), ending(first, "once"))
		require.NoError(t, err)
		require.True(t, ended.Applied)
		require.Equal(t, whole, recorded(t, first))
		withSlot, err := jobs.WithSlot(t.Context(), "once")
		require.NoError(t, err)
		require.Equal(t, []job.ID{next}, withSlot)
	})
	t.Run("events that were recorded go first on their own", func(t *testing.T) {
		t.Parallel()
		id := submit(t, "part")
		_, err := events.Append(t.Context(), eventlog.Append{
			Stream: id.Stream(), Account: "part", Expected: eventlog.AnyVersion, Events: eventsOf(id)[:1],
		})
		require.NoError(t, err)
		_, err = jobs.End(t.Context(), ending(id, "part"))
		require.ErrorIs(t, err, job.ErrRecordedInPart)
		withSlot, err := jobs.WithSlot(t.Context(), "part")
		require.NoError(t, err)
		require.Equal(t, []job.ID{id}, withSlot, "a refused end frees no slot")
		_, err = events.Append(t.Context(), eventlog.Append{
			Stream: id.Stream(), Account: "part", Expected: eventlog.AnyVersion, Events: eventsOf(id)[1:],
		})
		require.NoError(t, err)
		rest := ending(id, "part")
		rest.Before = nil
		ended, err := jobs.End(t.Context(), rest)
		require.NoError(t, err)
		require.True(t, ended.Applied)
		require.Equal(t, whole, recorded(t, id))
	})
	t.Run("events that the run did not read come before it", func(t *testing.T) {
		t.Parallel()
		id := submit(t, "unread")
		late := ending(id, "unread")
		late.After = 2
		_, err := events.Append(t.Context(), eventlog.Append{
			Stream: id.Stream(), Account: "unread", Expected: eventlog.AnyVersion,
			Events: []eventlog.Event{{ID: uuid.New(), Type: job.TypeCancelRequested, Data: job.CancelRequestedV1{}}},
		})
		require.NoError(t, err)
		_, err = jobs.End(t.Context(), late)
		require.ErrorIs(t, err, job.ErrOvertaken)
		require.Equal(t, []string{job.TypeSubmitted, job.TypeAdmitted, job.TypeCancelRequested}, recorded(t, id))
		late.After = 3
		ended, err := jobs.End(t.Context(), late)
		require.NoError(t, err)
		require.True(t, ended.Applied)
		late.After = 2
		ended, err = jobs.End(t.Context(), late)
		require.NoError(t, err)
		require.True(t, ended.Applied, "an attempt whose answer was lost")
	})
	t.Run("a job that ended otherwise stays as it ended", func(t *testing.T) {
		t.Parallel()
		id := submit(t, "otherwise")
		_, err := jobs.End(t.Context(), job.Ending{
			ID: id, Account: "otherwise", Run: 1, Type: job.TypeCanceled, Data: job.CanceledV1{Run: 1},
			Bounds: bounds,
		})
		require.NoError(t, err)
		ended, err := jobs.End(t.Context(), ending(id, "otherwise"))
		require.NoError(t, err)
		require.False(t, ended.Applied)
		require.Equal(t, []string{job.TypeSubmitted, job.TypeAdmitted, job.TypeCanceled}, recorded(t, id))
	})
	t.Run("what waits and cannot be admitted keeps nobody from ending", func(t *testing.T) {
		t.Parallel()
		first, broken := submit(t, "broken"), submit(t, "broken")
		_, err := events.Append(t.Context(), eventlog.Append{
			Stream: broken.Stream(), Account: "broken", Expected: eventlog.AnyVersion, Close: true,
			Events: []eventlog.Event{{ID: job.EventID(broken, 1, "", 0, job.TypeCanceled), Type: job.TypeCanceled, Data: job.CanceledV1{}}},
		})
		require.NoError(t, err)
		ended, err := jobs.End(t.Context(), ending(first, "broken"))
		require.NoError(t, err)
		require.True(t, ended.Applied)
		require.Equal(t, whole, recorded(t, first))
	})
}

// Whatever a submission is refused for leaves nothing behind.
func TestARefusedSubmissionLeavesNothing(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	jobs := jobstore.New(pool, eventstore.New(pool, types, nil))
	one := job.NewJob{ID: job.NewID(), Account: "a", Bounds: job.Bounds{Slots: 9}, IdempotencyKey: "k", Operation: "jobs"}
	_, err := jobs.Submit(t.Context(), one)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		submission job.NewJob
		code       fault.Code
	}{
		"the id is taken":     {job.NewJob{ID: one.ID, Account: "a", Bounds: one.Bounds}, "duplicate_job"},
		"the id is another's": {job.NewJob{ID: one.ID, Account: "b", Bounds: one.Bounds}, "duplicate_job"},
		"the key was used": {
			job.NewJob{ID: job.NewID(), Account: "a", Bounds: one.Bounds, IdempotencyKey: "k", Operation: "jobs"},
			"idempotency_key_reuse",
		},
		"a file was deleted": {
			job.NewJob{ID: job.NewID(), Account: "a", Bounds: one.Bounds, Pins: []string{uuid.NewString()}},
			"missing_asset",
		},
		"no slot and no place":       {job.NewJob{ID: job.NewID(), Account: "c"}, "queue_full"},
		"the id is taken, and waits": {job.NewJob{ID: one.ID, Account: "d", Bounds: job.Bounds{QueueDepth: 9}}, "duplicate_job"},
	} {
		_, err := jobs.Submit(t.Context(), c.submission)
		require.Equal(t, c.code, fault.CodeOf(err), "%s: %v", name, err)
	}
	var slots, waiting, intents, events, running int
	require.NoError(t, pool.QueryRow(t.Context(), `select (select count(*) from job_slots), (select count(*) from job_queue),
		(select count(*) from outbox), (select count(*) from events), (select sum(running + queued) from job_admissions)`).
		Scan(&slots, &waiting, &intents, &events, &running))
	require.Equal(t, []int{1, 0, 1, 2, 1}, []int{slots, waiting, intents, events, running})
}
