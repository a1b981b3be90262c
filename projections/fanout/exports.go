package fanout

import (
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

// exportData is the data of asset_export, field for field as the hosted service sends it.
type exportData struct {
	Task      export.ID    `json:"task_id"`
	Name      string       `json:"export_name,omitempty"` // if completed
	Total     int          `json:"assets_total"`
	Attempted int          `json:"assets_attempted"`
	Failed    int          `json:"assets_failed"`
	Bytes     int64        `json:"bytes_total"`
	Processed int64        `json:"bytes_processed"`
	Progress  float64      `json:"progress"` // 0..1
	Status    export.State `json:"status"`
	Error     string       `json:"error,omitempty"` // if failed
}

// HandleExports takes events of exports in the order of the log and publishes their messages. It skips events that it
// has handled. It keeps no snapshot of exports: each event is complete, and a later client asks for the task by GET.
func (f *Fanout) HandleExports(batch []eventlog.Recorded) {
	f.handleTasks(batch, &f.exported, (*accountState).exportEvent)
}

// handleTasks publishes the messages that render returns for each event after position done, and moves done.
func (f *Fanout) handleTasks(batch []eventlog.Recorded, done *int64, render func(*accountState, eventlog.Recorded, any) []*stream.Message) {
	for _, rec := range batch {
		if err := f.handleTask(rec, done, render); err != nil {
			f.log.Error("event of a task not published", "position", rec.Position, "event_type", rec.Type, "error", err)
		}
	}
}

func (f *Fanout) handleTask(rec eventlog.Recorded, done *int64,
	render func(*accountState, eventlog.Recorded, any) []*stream.Message,
) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rec.Position <= *done {
		return nil
	}
	*done = rec.Position
	e := f.accounts[rec.Account]
	if e == nil || e.loading {
		return nil
	}
	data, err := f.registry.DecodeKnown(rec)
	if err != nil {
		return err
	}
	f.hub.Publish(rec.Account, render(e.accountState, rec, data)...)
	return nil
}

// exportEvent returns the messages of an event of an export.
func (a *accountState) exportEvent(rec eventlog.Recorded, data any) []*stream.Message {
	id, _ := export.IDOfStream(rec.Stream)
	d := exportData{Task: id}
	switch e := data.(type) {
	case export.RequestedV1:
		d.Status, d.Total, d.Bytes = export.Created, e.Files, e.Bytes
	case export.StartedV1:
		d.Status, d.Total, d.Bytes = export.Running, e.Files, e.Bytes
	case export.CompletedV1:
		d.Status, d.Name, d.Progress = export.Completed, e.Name, 1
		d.Total, d.Attempted, d.Failed, d.Bytes, d.Processed = e.Files, e.Files, e.Files-e.Packed, e.Bytes, e.Bytes
	case export.FailedV1:
		d.Status, d.Error = export.Failed, e.Message
		d.Total, d.Attempted, d.Failed = e.Files, e.Files, e.Files
	default:
		return nil
	}
	switch d.Status {
	case export.Running:
		a.packing[id] = true
	case export.Completed, export.Failed:
		delete(a.packing, id)
	case export.Created:
	}
	return d.messages()
}

// exportProgress returns the messages of a live frame of an export. Frames can overtake events: a frame before the
// export's started event, or after its last event, is dropped.
func (a *accountState) exportProgress(p export.Progress) []*stream.Message {
	if !a.packing[p.Export] {
		return nil
	}
	return exportData{
		Task: p.Export, Status: export.Running, Progress: p.Fraction(),
		Total: p.Files, Attempted: p.Attempted, Failed: p.Failed, Bytes: p.Bytes, Processed: p.Packed,
	}.messages()
}

// messages returns one message for all clients of the account, because an export belongs to no connection.
func (d exportData) messages() []*stream.Message {
	return []*stream.Message{{Broadcast: true, Text: text("asset_export", d)}}
}
