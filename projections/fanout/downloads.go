package fanout

import (
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/stream"
)

// downloadData is the data of asset_download, field for field as the hosted service sends it.
type downloadData struct {
	Task     download.ID    `json:"task_id"`
	Name     string         `json:"asset_name"`
	Total    int64          `json:"bytes_total"` // 0 = the source does not send it
	Fetched  int64          `json:"bytes_downloaded"`
	Progress float64        `json:"progress"` // 0..1
	Status   download.State `json:"status"`
	Asset    asset.PublicID `json:"asset_id,omitempty"` // if completed
	Error    string         `json:"error,omitempty"`    // if failed
}

// HandleDownloads takes events of downloads in the order of the log and publishes their messages. It skips events that
// it has handled. It keeps no snapshot of downloads: a later client asks for the task by GET.
func (f *Fanout) HandleDownloads(batch []eventlog.Recorded) {
	f.handleTasks(batch, &f.downloaded, (*accountState).downloadEvent)
}

// downloadEvent returns the messages of an event of a download.
func (a *accountState) downloadEvent(rec eventlog.Recorded, data any) []*stream.Message {
	id, _ := download.IDOfStream(rec.Stream)
	d := downloadData{Task: id}
	switch e := data.(type) {
	case download.RequestedV1:
		d.Status, d.Name = download.Created, e.Request.Name
	case download.StartedV1:
		d.Status, d.Name = download.Running, e.Name
	case download.CompletedV1:
		d.Status, d.Name, d.Asset, d.Progress = download.Completed, e.Name, e.Asset, 1
		d.Total, d.Fetched = e.Size, e.Size
	case download.FailedV1:
		d.Status, d.Name, d.Error = download.Failed, e.Name, e.Message
	default:
		return nil
	}
	switch d.Status {
	case download.Running:
		a.fetching[id] = true
	case download.Completed, download.Failed:
		delete(a.fetching, id)
	case download.Created:
	}
	return d.messages()
}

// downloadProgress returns the messages of a live frame of a download. A frame before the download's started event, or
// after its last event, is dropped.
func (a *accountState) downloadProgress(p download.Progress) []*stream.Message {
	if !a.fetching[p.Download] {
		return nil
	}
	return downloadData{
		Task: p.Download, Name: p.Name, Status: download.Running, Total: p.Bytes, Fetched: p.Fetched, Progress: p.Fraction(),
	}.messages()
}

// messages returns one message for all clients of the account, because a download belongs to no connection.
func (d downloadData) messages() []*stream.Message {
	return []*stream.Message{{Broadcast: true, Text: text("asset_download", d)}}
}
