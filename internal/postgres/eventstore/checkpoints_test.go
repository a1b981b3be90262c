package eventstore_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

func TestACheckpointMovesOnlyOverEventsThatTheLogHas(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	store := eventstore.New(pool, eventlogtest.Registry(t), nil)
	recorded, err := store.Append(t.Context(), noted("s", 0, "a", "b", "c"))
	require.NoError(t, err)
	real := eventlog.MarksOf(recorded)
	another := append([]eventlog.Mark{}, real...)
	another[1].ID = uuid.New()
	beyond := append(append([]eventlog.Mark{}, real...), eventlog.Mark{Position: 40, ID: uuid.New(), Stream: "s", Version: 4})
	save := func(from, to int64, read []eventlog.Mark) error {
		return eventstore.SaveCheckpoint(t.Context(), pool, "g", from, to, read)
	}
	require.ErrorIs(t, save(0, 3, another), eventlog.ErrRewound, "another event has the position")
	require.ErrorIs(t, save(0, 40, beyond), eventlog.ErrRewound, "there is no event at the position")
	require.ErrorContains(t, save(0, 3, []eventlog.Mark{real[0], real[2]}), "1 other events up to position 3", "an event that was not read")
	require.ErrorIs(t, save(0, 3, real[:2]), eventlog.ErrRewound, "an event at the position itself that was not read")
	require.NoError(t, save(0, 3, real), "and the refusals have saved nothing")
	require.True(t, fault.Is(save(0, 3, real), fault.Conflict))
}

func TestACheckpointPastTheEndOfTheLogIsNotFollowed(t *testing.T) {
	t.Parallel()
	dsn := storetest.NewDatabase(t)
	pool := storetest.OpenPool(t, dsn)
	_, err := pool.Exec(t.Context(), `insert into checkpoints (name, position) values ('g', 7)`)
	require.NoError(t, err)
	checkpoints := eventstore.NewCheckpoints(pool, dsn, slog.New(slog.DiscardHandler))
	background(t, checkpoints.Run)
	held := within(t, func(ctx context.Context) (eventlog.LockedGroup, error) { return checkpoints.Lock(ctx, "g") })
	_, err = held.Position(t.Context())
	require.ErrorContains(t, err, "the checkpoint of g is at 7, and the log ends at 0")
}

// A rebuild may halt streams while the runner of the view waits for the checkpoint: the runner must not go on with what it
// knew of halted streams before.
func TestACheckpointThatWasWrittenMeanwhileIsReadAgain(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	advance := func(to int64) (bool, error) {
		return eventstore.AdvanceCheckpoint(t.Context(), pool, "g", to-1, to, nil)
	}
	halted, err := advance(1)
	require.NoError(t, err)
	require.False(t, halted)
	rebuild, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer rebuild.Rollback(t.Context())
	_, err = rebuild.Exec(t.Context(), `update checkpoints set updated_at = clock_timestamp() where name = 'g'`)
	require.NoError(t, err)
	_, err = rebuild.Exec(t.Context(), `insert into halted_streams (projection, stream, position, error) values ('g', 's', 1, 'because')`)
	require.NoError(t, err)
	outcome := make(chan error)
	go func() {
		_, err := advance(2)
		outcome <- err
	}()
	for waiting := 0; waiting == 0; {
		require.NoError(t, pool.QueryRow(t.Context(), `select count(*) from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waiting))
	}
	require.NoError(t, rebuild.Commit(t.Context()))
	require.True(t, fault.Is(<-outcome, fault.Conflict))
	halted, err = advance(2)
	require.NoError(t, err)
	require.True(t, halted)
}
