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

// Every event changes what it is about, and nothing else.
func TestTheStateOfATaskHasAllThatItsEventsSay(t *testing.T) {
	t.Parallel()
	const id = task.ID("22222222-2222-4333-8444-555555555555")
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("east", 3600))
	at := func(version int) *time.Time {
		t := begin.Add(time.Duration(version) * time.Second).UTC()
		return &t
	}
	for _, end := range []any{done{7}, failed{"x"}} {
		var state, want task.Task[requested, done, failed]
		for version, data := range []any{requested{"x"}, started{}, task.RequeuedV1{}, end, started{}} {
			version++
			state = events.Fold(state, eventlog.Recorded{
				Stream: task.Export.Stream(id), Account: "a", Version: int64(version), RecordedAt: begin.Add(time.Duration(version) * time.Second),
				Meta: eventlog.Meta{RequestID: "r"},
			}, data)
			want.Version = int64(version)
			if version < 5 {
				want.UpdatedAt = *at(version)
			}
			switch data := data.(type) {
			case requested:
				want.ID, want.Account, want.RequestID, want.State, want.CreatedAt, want.Requested = id, "a", "r", task.Created, *at(1), data
			case started:
				if version == 2 {
					want.State, want.StartedAt = task.Running, at(2)
				}
			case done:
				want.State, want.EndedAt, want.Done = task.Completed, at(4), &data
			case failed:
				want.State, want.EndedAt, want.Failure = task.Failed, at(4), &data
			}
			require.Equal(t, want, state, "version %d: %T", version, data)
		}
	}
	for state, final := range map[task.State]bool{task.Created: false, task.Running: false, task.Completed: true, task.Failed: true} {
		require.Equal(t, final, state.Final())
	}
	require.Equal(t, "export-"+string(id), task.Export.WorkflowID(id))
	require.Equal(t, "download-"+string(id), task.Download.Stream(id))
	require.InDelta(t, 1, task.Progress{Bytes: 1, Done: 1}.Fraction(), 0, "a file of one byte")
}

// A registry takes the event types of a kind once, and knows what each means.
func TestTheEventTypesOfATaskAreRegisteredOnce(t *testing.T) {
	t.Parallel()
	kind := task.Events[requested, started, done, failed]{Kind: task.Export, Requested: "r", Started: "s", Completed: "c", Failed: "f"}
	types := eventlog.NewRegistry()
	require.NoError(t, kind.Register(types))
	for verb, says := range map[string]string{"requested": "r", "started": "s", "completed": "c", "failed": "f"} {
		require.Equal(t, says, types.Says("export."+verb+".v1"))
	}
	require.True(t, types.Knows("export.requeued.v1"))
	require.Error(t, kind.Register(types))
}
