package task_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

type (
	requested struct{ Name string }
	started   struct{}
	done      struct{ Size int }
	failed    struct{ Code string }
)

var events = task.Events[requested, started, done, failed]{Kind: task.Export}

func TestATaskIsFoldedUntilItsEnd(t *testing.T) {
	t.Parallel()
	const id = task.ID("22222222-2222-4333-8444-555555555555")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var state task.Task[requested, done, failed]
	version := int64(0)
	fold := func(data any) {
		version++
		state = events.Fold(state, eventlog.Recorded{
			Stream: task.Export.Stream(id), Account: "a", Version: version, RecordedAt: at.Add(time.Duration(version)),
			Meta: eventlog.Meta{RequestID: "r"},
		}, data)
		require.Equal(t, version, state.Version)
	}
	fold(requested{"x"})
	require.Equal(t, task.Created, state.State)
	require.Equal(t, []any{id, "a", "r", "x"}, []any{state.ID, state.Account, state.RequestID, state.Requested.Name})
	fold(started{})
	fold(task.RequeuedV1{})
	fold(nil) // an event type of a newer version
	require.Equal(t, task.Running, state.State)
	fold(done{7})
	require.Equal(t, task.Completed, state.State)
	ended := state
	fold(failed{"late"})
	ended.Version = state.Version
	require.Equal(t, ended, state, "what follows the end only moves the version")
	require.Equal(t, state, events.Fold(state, eventlog.Recorded{Version: 2}, started{}), "an event is folded once")
	var running task.Task[requested, done, failed]
	running = events.Fold(running, eventlog.Recorded{Stream: task.Export.Stream(id), Version: 1}, requested{"x"})
	require.Equal(t, running, events.Fold(running, eventlog.Recorded{Version: 1}, done{7}), "the latest event is folded once, too")
}

func TestEventsOfARepeatedAttemptAreTheSame(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, data := range []any{requested{}, started{}, done{1}, failed{"x"}} {
		first, again := events.Event("1", data), events.Event("1", data)
		require.Equal(t, first, again)
		require.NotEqual(t, first.ID, events.Event("2", data).ID, "another task")
		seen[first.Type] = true
	}
	require.Equal(t, map[string]bool{
		"export.requested.v1": true, "export.started.v1": true, "export.completed.v1": true, "export.failed.v1": true,
	}, seen, "stored names")
	a, b := events.Event("1", task.RequeuedV1{}), events.Event("1", task.RequeuedV1{})
	require.Equal(t, "export.requeued.v1", a.Type)
	require.NotEqual(t, a.ID, b.ID, "a task can be started again several times")
}

func TestParseID(t *testing.T) {
	t.Parallel()
	const id = "0b9f3f2c-6a55-4f3e-9d8e-3f1c5a6b7c8d"
	for _, good := range []string{id, strings.ToUpper(id)} {
		got, err := task.ParseID(good)
		require.NoError(t, err)
		require.Equal(t, task.ID(id), got)
	}
	for _, bad := range []string{"", "x", "{" + id + "}", "urn:uuid:" + id, strings.ReplaceAll(id, "-", "")} {
		_, err := task.ParseID(bad)
		require.True(t, fault.Is(err, fault.NotFound), bad)
	}
}

// A source may not say how much it sends.
func TestFractionOfATask(t *testing.T) {
	t.Parallel()
	for p, want := range map[task.Progress]float64{
		{}: 0, {Done: 5}: 0, {Bytes: 10}: 0, {Bytes: 10, Done: 5}: 0.5, {Bytes: 10, Done: 10}: 1, {Bytes: 10, Done: 15}: 1,
	} {
		require.InDelta(t, want, p.Fraction(), 0, "%+v", p)
	}
}
