package fanout_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

const exported = task.ID("22222222-2222-4333-8444-555555555555")

// pack has the events of an export happen, behind what happened before.
func (w *watch) pack(t *testing.T, events ...any) {
	t.Helper()
	for _, data := range events {
		raw, err := json.Marshal(data)
		require.NoError(t, err)
		w.log.mu.Lock()
		rec := eventlog.Recorded{
			Position: int64(len(w.log.events) + 1), Stream: task.Export.Stream(exported), Version: 1, ID: uuid.New(),
			Type: export.Events.Event(exported, data).Type, Account: owner, Data: raw, RecordedAt: at,
		}
		w.log.events = append(w.log.events, rec)
		w.log.mu.Unlock()
		w.out.HandleTasks(task.Export, []eventlog.Recorded{rec, rec}) // a second time says nothing
	}
}

func packing(p task.Progress) stream.Frame {
	p.Kind, p.Task = task.Export, exported
	return stream.Frame{Account: owner, Kind: stream.FrameTask, Task: &p}
}

func said(status string, rest string) string {
	return `{"type":"asset_export","data":{"task_id":"` + string(exported) + `",` + rest + `,"status":"` + status + `"}}`
}

func TestExportProgressIsAnnounced(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.out.HandleFrame(packing(task.Progress{Files: 3, Attempted: 1, Bytes: 100, Done: 40}))
	w.pack(t, export.RequestedV1{Name: "x.zip", Files: 3, Bytes: 100}, export.StartedV1{Files: 3, Bytes: 100})
	w.out.HandleFrame(packing(task.Progress{Files: 3, Attempted: 1, Bytes: 100, Done: 50}))
	w.pack(t, task.RequeuedV1{}, export.CompletedV1{Name: "x.zip", Files: 3, Packed: 2, Bytes: 80})
	w.out.HandleFrame(packing(task.Progress{Files: 3, Attempted: 2, Bytes: 100, Done: 60}))
	messages := drain(t, w.sub)
	require.Equal(t, []string{
		said("created", `"assets_total":3,"assets_attempted":0,"assets_failed":0,"bytes_total":100,"bytes_processed":0,"progress":0`),
		said("running", `"assets_total":3,"assets_attempted":0,"assets_failed":0,"bytes_total":100,"bytes_processed":0,"progress":0`),
		said("running", `"assets_total":3,"assets_attempted":1,"assets_failed":0,"bytes_total":100,"bytes_processed":50,"progress":0.5`),
		said("completed", `"export_name":"x.zip","assets_total":3,"assets_attempted":3,"assets_failed":1,"bytes_total":80,`+
			`"bytes_processed":80,"progress":1`),
	}, frames(messages), "progress that comes before the start or behind the end is of no interest")
	for _, m := range messages {
		require.True(t, m.Broadcast, "an export belongs to no connection")
	}
}

func TestExportFailureIsAnnounced(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.pack(t, export.FailedV1{Code: "c", Message: "no room", Files: 2})
	w.out.HandleFrame(packing(task.Progress{Files: 2, Bytes: 1}))
	require.Equal(t, []string{`{"type":"asset_export","data":{"task_id":"` + string(exported) +
		`","assets_total":2,"assets_attempted":2,"assets_failed":2,` +
		`"bytes_total":0,"bytes_processed":0,"progress":0,"status":"failed","error":"no room"}}`}, frames(drain(t, w.sub)))
}
