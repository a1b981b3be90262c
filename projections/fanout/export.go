package fanout

import (
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

// exportData is that of asset_export, field for field as the hosted service sends it.
type exportData struct {
	Task      export.ID    `json:"task_id"`
	Name      string       `json:"export_name,omitempty"` // of a completed one
	Total     int          `json:"assets_total"`
	Attempted int          `json:"assets_attempted"`
	Failed    int          `json:"assets_failed"`
	Bytes     int64        `json:"bytes_total"`
	Processed int64        `json:"bytes_processed"`
	Progress  float64      `json:"progress"` // 0..1
	Status    export.State `json:"status"`
	Error     string       `json:"error,omitempty"` // of a failed one
}

// HandleExports takes facts of exports in the order of the log and tells watchers; those that it has seen are passed
// over. Nothing of them is kept: each fact says all there is to say, and who comes later asks for the task.
func (f *Fanout) HandleExports(batch []eventlog.Recorded) {
	for _, rec := range batch {
		if err := f.handleExport(rec); err != nil {
			f.log.Error("watchers are not told of an export", "position", rec.Position, "event_type", rec.Type, "error", err)
		}
	}
}

func (f *Fanout) handleExport(rec eventlog.Recorded) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rec.Position <= f.exported {
		return nil
	}
	f.exported = rec.Position
	e := f.rooms[rec.Account]
	if e == nil || e.loading {
		return nil
	}
	data, err := f.registry.DecodeKnown(rec)
	if err != nil {
		return err
	}
	f.hub.Publish(rec.Account, e.exportFact(rec, data)...)
	return nil
}

// exportFact returns what watchers learn from a fact of an export.
func (r *room) exportFact(rec eventlog.Recorded, data any) []*stream.Message {
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
		r.packing[id] = true
	case export.Completed, export.Failed:
		delete(r.packing, id)
	case export.Created:
	}
	return d.messages()
}

// exportProgress returns what watchers learn from a live frame of an export. Frames overtake facts: one that comes
// before the export was said to be packed, or after its end, is passed over.
func (r *room) exportProgress(p export.Progress) []*stream.Message {
	if !r.packing[p.Export] {
		return nil
	}
	return exportData{
		Task: p.Export, Status: export.Running, Progress: p.Fraction(),
		Total: p.Files, Attempted: p.Attempted, Failed: p.Failed, Bytes: p.Bytes, Processed: p.Packed,
	}.messages()
}

// messages is one message to every client of the account: an export belongs to none of its connections.
func (d exportData) messages() []*stream.Message {
	return []*stream.Message{{Broadcast: true, Text: text("asset_export", d)}}
}
