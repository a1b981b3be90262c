package fanout

import (
	ordered "container/list"

	"github.com/millrace-dev/millrace/internal/stream"
)

// Bounds of the previews that are kept for later watchers, of all accounts together.
const (
	maxPreviews     = 256
	maxPreviewBytes = 64 << 20
)

// previews keeps the newest preview of each running job. Beyond its bounds, it drops the preview that was not updated
// for longest.
type previews struct {
	order *ordered.List // of *watched, the latest update in front
	bytes int
}

func newPreviews() *previews { return &previews{order: ordered.New()} }

// keep makes m the preview of a job.
func (p *previews) keep(w *watched, m *stream.Message) {
	p.drop(w)
	w.preview, w.kept = m, p.order.PushFront(w)
	p.bytes += len(m.Frame.Data)
	for p.order.Len() > maxPreviews || p.bytes > maxPreviewBytes {
		p.drop(p.order.Back().Value.(*watched))
	}
}

// drop drops the preview of a job, if it has one.
func (p *previews) drop(w *watched) {
	if w.kept == nil {
		return
	}
	p.order.Remove(w.kept)
	p.bytes -= len(w.preview.Frame.Data)
	w.preview, w.kept = nil, nil
}

// forget drops the previews of an account's jobs.
func (p *previews) forget(a *accountState) {
	for _, w := range a.jobs {
		p.drop(w)
	}
}
