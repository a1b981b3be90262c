package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/job"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// What is Unavailable is tried again until it works, anything else only a few times: a run must not
// be given up, nor a client told of a bug, because the database restarts.
func TestCommandsOfJobsTellADatabaseThatIsAwayFromABug(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/nothing?connect_timeout=2")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	accounts := postgres.NewAccounts(pool)
	jobs, id := postgres.NewJobs(pool, postgres.NewEventStore(pool, types, nil)), job.NewID()
	ref := job.RunRef{Job: id, Account: "a", Run: 1}
	for name, command := range map[string]func(context.Context) error{
		"submit": func(ctx context.Context) error {
			_, err := jobs.Submit(ctx, job.NewJob{ID: id, Account: "a"})
			return err
		},
		"end": func(ctx context.Context) error {
			_, err := jobs.End(ctx, job.Ending{ID: id, Account: "a", Run: 1, Type: job.TypeSucceeded, Fact: job.SucceededV1{Run: 1}})
			return err
		},
		"cancel": func(ctx context.Context) error {
			_, err := jobs.Cancel(ctx, job.CancelRequest{Account: "a", IDs: []job.ID{id}})
			return err
		},
		"waiting": func(ctx context.Context) error { _, err := jobs.Waiting(ctx, "a"); return err },
		"held":    func(ctx context.Context) error { _, err := jobs.Held(ctx, 0, 1); return err },
		"started": func(ctx context.Context) error { _, err := jobs.Started(ctx, ref); return err },
		"bounds":  func(ctx context.Context) error { _, err := accounts.Account(ctx, "a"); return err },
		"queued":  func(ctx context.Context) error { _, err := jobs.Queued(ctx, "", 1); return err },
		"admit":   func(ctx context.Context) error { _, err := jobs.Admit(ctx, "a", job.Bounds{Slots: 1}); return err },
		"restart": func(ctx context.Context) error { _, err := jobs.Restart(ctx, ref); return err },
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
	pool := openPool(t, newDatabase(t))
	types := eventlog.NewRegistry()
	require.NoError(t, job.Register(types))
	events := postgres.NewEventStore(pool, types, nil)
	jobs := postgres.NewJobs(pool, events)
	var ids []job.ID
	for range 3 {
		ids = append(ids, job.NewID())
		_, err := jobs.Submit(t.Context(), job.NewJob{ID: ids[len(ids)-1], Account: "a", Bounds: job.Bounds{QueueDepth: 9}})
		require.NoError(t, err)
	}
	waiting, err := jobs.Queued(t.Context(), "", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, waiting)
	intents, err := jobs.Admit(t.Context(), "a", job.Bounds{Slots: 2})
	require.NoError(t, err)
	require.Len(t, intents, 2)
	intents, err = jobs.Admit(t.Context(), "a", job.Bounds{Slots: 2})
	require.NoError(t, err)
	require.Empty(t, intents, "the slots are taken")
	holding, err := jobs.Holding(t.Context(), "a")
	require.NoError(t, err)
	require.ElementsMatch(t, ids[:2], holding)
	left, err := jobs.Waiting(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, ids[2:], left)
	recorded, err := events.ReadStream(t.Context(), ids[0].Stream(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, job.TypeAdmitted, recorded[len(recorded)-1].Type)
}
