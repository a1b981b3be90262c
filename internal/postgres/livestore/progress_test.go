package livestore_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/internal/stream"
)

func TestProgressIsStoredForPolls(t *testing.T) {
	t.Parallel()
	store := livestore.NewProgress(storetest.OpenPool(t, storetest.NewDatabase(t)))
	bus := stream.NewRecorder(stream.NewLocal(), store, slog.New(slog.DiscardHandler))
	id, other := job.NewID(), job.NewID()
	publish := func(of job.ID, run int, node string, value int) {
		require.NoError(t, bus.Publish(t.Context(), stream.Frame{
			Account: "a", Job: of, Run: run, Node: node, Kind: stream.FrameProgress, Value: value, Max: 10,
		}))
	}
	publish(id, 1, "3", 1)
	publish(id, 1, "3", 4)
	publish(id, 1, "nöde", 2)
	publish(other, 1, "3", 9)
	bus.Flush(t.Context())
	steps, err := store.Steps(t.Context(), id, 1)
	require.NoError(t, err)
	require.Equal(t, map[string]stream.Step{"3": {Value: 4, Max: 10}, "nöde": {Value: 2, Max: 10}}, steps)

	publish(id, 2, "3", 1)
	bus.Flush(t.Context())
	publish(id, 1, "3", 8) // a straggler of the run before
	bus.Flush(t.Context())
	bus.Flush(t.Context())
	steps, err = store.Steps(t.Context(), id, 2)
	require.NoError(t, err)
	require.Equal(t, map[string]stream.Step{"3": {Value: 1, Max: 10}}, steps)
}
