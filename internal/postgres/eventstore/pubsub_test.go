package eventstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/localcluster"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// process is what one process of the program has of the log.
func process(t testing.TB, dsn string, registry *eventlog.Registry) eventlogtest.Log {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	pool := storetest.OpenPool(t, dsn)
	wake := eventstore.NewWake(dsn, quiet)
	tail, err := eventstore.OpenTailer(t.Context(), pool, dsn, wake, eventstore.TailerOptions{})
	require.NoError(t, err)
	checkpoints := eventstore.NewCheckpoints(pool, dsn, quiet)
	background(t, wake.Run, tail.Run, checkpoints.Run)
	return eventlogtest.Log{
		Store: eventstore.New(pool, registry, wake), Tail: tail, Checkpoints: checkpoints,
		Save: func(ctx context.Context, group string, b eventlog.Batch) error {
			return eventstore.SaveCheckpoint(ctx, pool, group, b.After, b.UpTo, b.Read)
		},
	}
}

// TestPubSubConforms spreads the suite's publishers and subscribers over two processes' worth of parts. The suite gives up
// after 15 seconds and its tests run side by side, so the tests of this package wait until it has ended.
func TestPubSubConforms(t *testing.T) { //nolint:paralleltest // see above
	dsn := storetest.NewDatabase(t)
	registry := eventlogtest.MessageRegistry(t)
	processes := []eventlogtest.Log{process(t, dsn, registry), process(t, dsn, registry)}
	var n atomic.Int64
	eventlogtest.RunPubSub(t, func(testing.TB) eventlogtest.Log {
		return processes[n.Add(1)%2]
	})
}

// TestPubSubSurvivesServerCrashes is the suite's own reconnect test: 100 publishers and a subscriber go on
// while a process of the server is killed twice, upon which PostgreSQL drops every connection, restarts
// and recovers.
func TestPubSubSurvivesServerCrashes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("10,000 messages over two crashes take half a minute")
	}
	children := func(pid int) string { return fmt.Sprintf("/proc/%d/task/%d/children", pid, pid) }
	if _, err := os.Stat(children(os.Getpid())); err != nil {
		t.Skip("this kernel does not list the children of a process")
	}
	dir, err := scratch.New("millrace-crash") // short: a socket's path is bounded
	require.NoError(t, err)
	t.Cleanup(func() { _ = dir.Remove() })
	server, err := localcluster.Start(t.Context(), filepath.Join(dir.Path, "c"), localcluster.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	require.NoError(t, postgres.Migrate(t.Context(), server.URL("postgres"), nil))

	log := process(t, server.URL("postgres"), eventlogtest.MessageRegistry(t))
	crash := []string{"sh", "-c", "kill -9 $(cut -d' ' -f1 " + children(server.PID()) + ")"}
	eventlogtest.RunReconnect(t, log, crash)
}

func TestCheckpointsAreFenced(t *testing.T) {
	t.Parallel()
	log := process(t, storetest.NewDatabase(t), eventlogtest.Registry(t))
	_, err := log.Store.Append(t.Context(), noted("s", 0, "1", "2", "3", "4", "5", "6"))
	require.NoError(t, err)
	held := within(t, func(ctx context.Context) (eventlog.LockedGroup, error) { return log.Checkpoints.Lock(ctx, "g") })
	save := func(from, to int64) error {
		events, err := log.Tail.Next(t.Context(), from, int(to-from))
		require.NoError(t, err)
		return log.Save(t.Context(), "g", eventlog.Batch{After: from, UpTo: to, Read: eventlog.MarksOf(events)})
	}
	require.NoError(t, save(0, 5))
	require.Error(t, save(0, 6), "from the beginning again")
	require.Error(t, save(4, 6))
	require.NoError(t, save(5, 6))
	position, err := held.Position(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(6), position)
}
