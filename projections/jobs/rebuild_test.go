package jobs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/projections"
)

// life returns the ten events of one job of three nodes.
func life() []eventlog.Event {
	ui := json.RawMessage(`{"images":[{"filename":"ComfyUI_00001_.png","subfolder":"","type":"output"}]}`)
	events := []eventlog.Event{
		{Type: job.TypeSubmitted, Data: job.SubmittedV1{
			Number: 1, Surface: job.SurfaceCloud, Targets: []string{"9"}, NodesTotal: 3, Document: job.Document{Inline: `{"prompt":{}}`},
		}},
		{Type: job.TypeAdmitted, Data: job.AdmittedV1{Run: 1}},
		{Type: job.TypeStarted, Data: job.StartedV1{Run: 1, NodesTotal: 3}},
		{Type: job.TypeNodesCached, Data: job.NodesCachedV1{Run: 1}},
	}
	for _, node := range []string{"1", "5"} {
		events = append(events,
			eventlog.Event{Type: job.TypeNodeStarted, Data: job.NodeStartedV1{Run: 1, Node: node, Class: "ImageBlur"}},
			eventlog.Event{Type: job.TypeNodeExecuted, Data: job.NodeExecutedV1{Run: 1, Node: node, Class: "ImageBlur", Millis: 3}})
	}
	events = append(events,
		eventlog.Event{Type: job.TypeNodeExecuted, Data: job.NodeExecutedV1{Run: 1, Node: "9", Class: "SaveImage", UI: ui}},
		eventlog.Event{Type: job.TypeSucceeded, Data: job.SucceededV1{Run: 1}})
	for i := range events {
		events[i].ID = uuid.New()
	}
	return events
}

// BenchmarkRebuild folds the view of 20,000 jobs, 200,000 events, again. The target is 10,000 events a second.
func BenchmarkRebuild(b *testing.B) {
	const count, together = 20_000, 100
	l := newLog(b)
	var last int64
	for range count / together {
		appends := make([]eventlog.Append, together)
		for i := range appends {
			appends[i] = eventlog.Append{Stream: job.NewID().Stream(), Account: fmt.Sprintf("acme-%d", i), Events: life()}
		}
		written, err := l.store.Write(b.Context(), eventstore.Decision{
			Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error { return c.Append(appends...) },
		})
		require.NoError(b, err)
		last = written.Events[len(written.Events)-1].Position
	}
	l.foldTo(b, last)
	for b.Loop() {
		started := time.Now()
		rebuilt, err := projections.Rebuild(b.Context(), l.pool, l.view, projections.RebuildOptions{})
		require.NoError(b, err)
		require.Equal(b, last, rebuilt.Position)
		b.ReportMetric(float64(last)/time.Since(started).Seconds(), "events/s")
	}
}
