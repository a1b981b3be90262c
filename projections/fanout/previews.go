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

// add makes m the preview of a job.
func (p *previews) add(w *watchedJob, m *stream.Message) {
	p.drop(w)
	w.preview, w.element = m, p.order.PushFront(w)
	p.bytes += len(m.Frame.Data)
	for p.order.Len() > maxPreviews || p.bytes > maxPreviewBytes {
		p.drop(p.order.Back().Value.(*watchedJob))
	}
}

// drop drops the preview of a job, if it has one.
func (p *previews) drop(w *watchedJob) {
	if w.element == nil {
		return
	}
	p.order.Remove(w.element)
	p.bytes -= len(w.preview.Frame.Data)
	w.preview, w.element = nil, nil
}

// remove drops the previews of an account's jobs.
func (p *previews) remove(a *accountState) {
	for _, w := range a.jobs {
		p.drop(w)
	}
}
