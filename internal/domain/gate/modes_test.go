package gate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// A change is recorded by the event of its mode, with the mode before, and the log can read it.
func TestAChangeIsRecordedByTheEventOfItsMode(t *testing.T) {
	t.Parallel()
	types := eventlog.NewRegistry()
	require.NoError(t, gate.Register(types))
	for mode, want := range map[gate.Mode]struct {
		eventType string
		data      any
	}{
		gate.Open:     {"queue.resumed.v1", gate.ResumedV1{Was: gate.Stopped}},
		gate.Paused:   {"queue.paused.v1", gate.PausedV1{Was: gate.Stopped}},
		gate.Draining: {"queue.drain_started.v1", gate.DrainStartedV1{Was: gate.Stopped}},
		gate.Stopped:  {"queue.stopped.v1", gate.StoppedV1{Was: gate.Stopped}},
	} {
		eventType, data := gate.ChangeEvent(mode, gate.Stopped)
		require.Equal(t, want.eventType, eventType)
		require.Equal(t, want.data, data)
		decoded, err := types.Decode(eventType, []byte(`{"was":"stopped"}`))
		require.NoError(t, err)
		require.Equal(t, data, decoded)
		parsed, err := gate.ParseMode(string(mode))
		require.NoError(t, err)
		require.Equal(t, mode, parsed)
	}
	_, err := gate.ParseMode("")
	require.Error(t, err)
	require.Equal(t, "queue-*", gate.Stream(gate.All))
	require.Equal(t, fault.CodeInvalidRequest, fault.CodeOf(gate.Change{Account: "a", Actor: "b", Reason: "c"}.Check()))
}
