package live

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
)

// turns orders the messages of a client that follows one job at a time, because a ComfyUI server runs one prompt at a time. Such a client
// gives a job up when it hears of the start of another one. It gets the messages of a job after the last one of the job that it follows.
type turns struct {
	job   job.ID            // that the client follows, "" = none
	held  []*stream.Message // of other jobs
	bytes int               // of held
}

// maxHeld bounds what a socket holds for a client, in bytes.
const maxHeld = 16 << 20

// pass returns the messages that the client gets now that m has come. The error is a *stream.Closed if too much is held.
func (t *turns) pass(m *stream.Message) (now []*stream.Message, err error) {
	if t.job == "" {
		t.job = m.Job
	}
	if m.Job != t.job {
		return nil, t.hold(m)
	}
	now = []*stream.Message{m}
	if m.State == nil || !m.State.State.Final() {
		return now, nil
	}
	held := t.held
	t.job, t.held, t.bytes = "", nil, 0
	for _, h := range held {
		next, err := t.pass(h)
		if err != nil {
			return nil, err
		}
		now = append(now, next...)
	}
	return now, nil
}

// hold keeps a message. Previews would be outdated, and a state of the job's nodes replaces the one before.
func (t *turns) hold(m *stream.Message) error {
	if m.Frame != nil && m.Frame.Kind == stream.FramePreview {
		return nil
	}
	t.held = slices.DeleteFunc(t.held, func(h *stream.Message) bool {
		replaced := m.Whole && h.Whole && h.Job == m.Job
		if replaced {
			t.bytes -= h.Size()
		}
		return replaced
	})
	t.held = append(t.held, m)
	if t.bytes += m.Size(); t.bytes > maxHeld {
		return &stream.Closed{Reason: stream.CloseSlow}
	}
	return nil
}
