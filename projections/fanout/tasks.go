package fanout

import (
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

// exportData is the data of asset_export, field for field as the hosted service sends it.
type exportData struct {
	Task      task.ID    `json:"task_id"`
	Name      string     `json:"export_name,omitempty"` // if completed
	Total     int        `json:"assets_total"`
	Attempted int        `json:"assets_attempted"`
	Failed    int        `json:"assets_failed"`
	Bytes     int64      `json:"bytes_total"`
	Processed int64      `json:"bytes_processed"`
	Progress  float64    `json:"progress"` // 0..1
	Status    task.State `json:"status"`
	Error     string     `json:"error,omitempty"` // if failed
}

// downloadData is the data of asset_download, field for field as the hosted service sends it.
type downloadData struct {
	Task     task.ID        `json:"task_id"`
	Name     string         `json:"asset_name"`
	Total    int64          `json:"bytes_total"` // 0 = the source does not send it
	Fetched  int64          `json:"bytes_downloaded"`
	Progress float64        `json:"progress"` // 0..1
	Status   task.State     `json:"status"`
	Asset    asset.PublicID `json:"asset_id,omitempty"` // if completed
	Error    string         `json:"error,omitempty"`    // if failed
}

// HandleTasks takes events of tasks of one kind in the order of the log and publishes their messages. It skips events
// that it has handled. It keeps no snapshot of tasks: each event is complete, and a later client asks for the task by
// GET.
func (f *Fanout) HandleTasks(kind task.Kind, batch []eventlog.Recorded) {
	for _, rec := range batch {
		if err := f.handleTask(kind, rec); err != nil {
			f.log.Error("event of a task not published", "position", rec.Position, "event_type", rec.Type, "error", err)
		}
	}
}

func (f *Fanout) handleTask(kind task.Kind, rec eventlog.Recorded) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rec.Position <= f.tasks[kind] {
		return nil
	}
	f.tasks[kind] = rec.Position
	e := f.accounts[rec.Account]
	if e == nil || e.loading {
		return nil
	}
	data, err := f.registry.DecodeKnown(rec)
	if err != nil {
		return err
	}
	id, _ := kind.IDOfStream(rec.Stream)
	f.hub.Publish(rec.Account, e.taskEvent(id, data)...)
	return nil
}

// taskEvent returns the messages of an event of a task.
func (a *accountState) taskEvent(id task.ID, data any) []*stream.Message {
	switch e := data.(type) {
	case export.RequestedV1:
		return taskMessage(exportData{Task: id, Status: task.Created, Total: e.Files, Bytes: e.Bytes})
	case export.StartedV1:
		a.tasks[id] = true
		return taskMessage(exportData{Task: id, Status: task.Running, Total: e.Files, Bytes: e.Bytes})
	case export.CompletedV1:
		delete(a.tasks, id)
		return taskMessage(exportData{
			Task: id, Status: task.Completed, Name: e.Name, Progress: 1,
			Total: e.Files, Attempted: e.Files, Failed: e.Files - e.Packed, Bytes: e.Bytes, Processed: e.Bytes,
		})
	case export.FailedV1:
		delete(a.tasks, id)
		return taskMessage(exportData{
			Task: id, Status: task.Failed, Error: e.Message, Total: e.Files, Attempted: e.Files, Failed: e.Files,
		})
	case download.RequestedV1:
		return taskMessage(downloadData{Task: id, Status: task.Created, Name: e.Request.Name})
	case download.StartedV1:
		a.tasks[id] = true
		return taskMessage(downloadData{Task: id, Status: task.Running, Name: e.Name})
	case download.CompletedV1:
		delete(a.tasks, id)
		return taskMessage(downloadData{
			Task: id, Status: task.Completed, Name: e.Name, Asset: e.Asset, Progress: 1, Total: e.Size, Fetched: e.Size,
		})
	case download.FailedV1:
		delete(a.tasks, id)
		return taskMessage(downloadData{Task: id, Status: task.Failed, Name: e.Name, Error: e.Message})
	}
	return nil
}

// taskProgress returns the messages of a live frame of a task. Frames can overtake events: a frame before the task's
// started event, or after its last event, is dropped.
func (a *accountState) taskProgress(p task.Progress) []*stream.Message {
	if !a.tasks[p.Task] {
		return nil
	}
	if p.Kind == task.Download {
		return taskMessage(downloadData{
			Task: p.Task, Name: p.Name, Status: task.Running, Total: p.Bytes, Fetched: p.Done, Progress: p.Fraction(),
		})
	}
	return taskMessage(exportData{
		Task: p.Task, Status: task.Running, Progress: p.Fraction(),
		Total: p.Files, Attempted: p.Attempted, Failed: p.Failed, Bytes: p.Bytes, Processed: p.Done,
	})
}

// taskMessage returns one message for all clients of the account, because a task belongs to no connection.
func taskMessage[Data exportData | downloadData](data Data) []*stream.Message {
	name := "asset_export"
	if _, download := any(data).(downloadData); download {
		name = "asset_download"
	}
	return []*stream.Message{{Broadcast: true, Text: text(name, data)}}
}
