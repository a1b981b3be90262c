package fanout_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

const fetched = task.ID("33333333-2222-4333-8444-555555555555")

// fetch has the events of a download happen, behind what happened before.
func (w *watch) fetch(t *testing.T, events ...any) {
	t.Helper()
	for _, data := range events {
		raw, err := json.Marshal(data)
		require.NoError(t, err)
		w.log.mu.Lock()
		rec := eventlog.Recorded{
			Position: int64(len(w.log.events) + 1), Stream: task.Download.Stream(fetched), Version: 1, ID: uuid.New(),
			Type: download.Events.Event(fetched, data).Type, Account: owner, Data: raw, RecordedAt: at,
		}
		w.log.events = append(w.log.events, rec)
		w.log.mu.Unlock()
		w.out.HandleTasks(task.Download, []eventlog.Recorded{rec, rec}) // a second time says nothing
	}
}

func fetching(read int64) stream.Frame {
	return stream.Frame{
		Account: owner, Kind: stream.FrameTask,
		Task: &task.Progress{Kind: task.Download, Task: fetched, Name: "a.bin", Bytes: 100, Done: read},
	}
}

func downloadSaid(status, rest string) string {
	return `{"type":"asset_download","data":{"task_id":"` + string(fetched) + `","asset_name":"a.bin",` + rest[:len(rest)-1] + `,"status":"` +
		status + `"` + rest[len(rest)-1:] + `}`
}

func TestDownloadProgressIsAnnounced(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.out.HandleFrame(fetching(10))
	w.fetch(t, download.RequestedV1{Request: download.Request{Name: "a.bin"}}, download.StartedV1{Name: "a.bin"})
	w.out.HandleFrame(fetching(50))
	w.fetch(t, task.RequeuedV1{}, download.CompletedV1{Name: "a.bin", Asset: asset.PublicID("x"), Size: 100})
	w.out.HandleFrame(fetching(60))
	messages := drain(t, w.sub)
	require.Equal(t, []string{
		downloadSaid("created", `"bytes_total":0,"bytes_downloaded":0,"progress":0}`),
		downloadSaid("running", `"bytes_total":0,"bytes_downloaded":0,"progress":0}`),
		downloadSaid("running", `"bytes_total":100,"bytes_downloaded":50,"progress":0.5}`),
		`{"type":"asset_download","data":{"task_id":"` + string(fetched) +
			`","asset_name":"a.bin","bytes_total":100,"bytes_downloaded":100,"progress":1,"status":"completed","asset_id":"x"}}`,
	}, frames(messages), "progress that comes before the start or after the end is dropped")
	for _, m := range messages {
		require.True(t, m.Broadcast, "a download belongs to no connection")
	}
}

func TestDownloadFailureIsAnnounced(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.fetch(t, download.FailedV1{Name: "a.bin", Code: "c", Message: "gone"})
	require.Equal(t, []string{`{"type":"asset_download","data":{"task_id":"` + string(fetched) +
		`","asset_name":"a.bin","bytes_total":0,"bytes_downloaded":0,"progress":0,"status":"failed","error":"gone"}}`}, frames(drain(t, w.sub)))
}
