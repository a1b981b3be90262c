package jobs_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/projections/fanout"
)

// A WebSocket that joins while the view is thousands of events behind has the right length of the queue, and is sent the end of
// a job that runs already: every client of ComfyUI waits for its last message.
func TestAWatcherThatJoinsFarBehindTheLogLearnsOfTheEnd(t *testing.T) {
	t.Parallel()
	r := newRetention(t)
	running := r.submit(t, job.Document{Inline: "{}"}, 1)
	r.submit(t, job.Document{Inline: "{}"}, 1)
	notes := make([]eventlog.Event, 5001)
	for i := range notes {
		notes[i] = noted(fmt.Sprint(i))
	}
	for stream, events := range map[string][]eventlog.Event{
		running.Stream(): {{ID: uuid.New(), Type: job.TypeStarted, Data: job.StartedV1{Run: 1, NodesTotal: 1}}},
		"note-1":         notes,
	} {
		_, err := r.store.Append(t.Context(), eventlog.Append{Stream: stream, Account: "acme", Expected: eventlog.AnyVersion, Events: events})
		require.NoError(t, err)
	}
	head, err := r.store.Head(t.Context())
	require.NoError(t, err)
	out := fanout.New(r.reader, r.store, r.types, stream.NewHub(stream.HubOptions{}), slog.New(slog.DiscardHandler))
	out.Begin(head)
	sub, snap, err := out.Subscribe(t.Context(), "acme")
	require.NoError(t, err)
	defer sub.Close()
	require.Equal(t, 2, snap.Remaining)
	require.Len(t, snap.Jobs, 1)
	require.Equal(t, running, snap.Jobs[0].Job.ID)

	r.end(t, running)
	events, err := eventstore.ReadLog(t.Context(), r.pool, head, 1<<62, 100)
	require.NoError(t, err)
	require.NoError(t, out.Handle(t.Context(), events))
	now, cancel := context.WithCancel(t.Context())
	cancel()
	messages, _ := sub.Next(now) // what is there
	var sent []string
	for _, m := range messages {
		sent = append(sent, string(m.Text))
	}
	require.Contains(t, sent, string(fanout.StatusText(1, "")))
	require.Contains(t, sent, fmt.Sprintf(`{"type":"executing","data":{"node":null,"prompt_id":"%s"}}`, running))
}
