package live

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
)

// turns orders the messages of a client that follows one job at a time, because a ComfyUI server runs one prompt at a time. Such a client
// gives a job up when it hears of the start of another one. It gets the messages of a job after the last one of the job that it follows,
// and those of other clients' jobs only while it follows none.
type turns struct {
	job     job.ID            // that the client follows, "" = none
	waiting []*stream.Message // of other jobs
	bytes   int               // of waiting
}

// maxWaiting bounds the messages that wait in a socket for their turn, in bytes.
const maxWaiting = 16 << 20

// pass returns the messages that the client gets now that m has come. The error is a *stream.Closed if too many wait.
func (t *turns) pass(m *stream.Message) (now []*stream.Message, err error) {
	if t.job == "" {
		t.job = m.Job
	}
	if m.Job != t.job {
		return nil, t.keep(m)
	}
	now = []*stream.Message{m}
	if m.State == nil || !m.State.State.Final() {
		return now, nil
	}
	waiting := t.waiting
	t.job, t.waiting, t.bytes = "", nil, 0
	for _, next := range waiting {
		more, err := t.pass(next)
		if err != nil {
			return nil, err
		}
		now = append(now, more...)
	}
	return now, nil
}

// keep keeps a message until its job has its turn. Previews would be outdated, and a state of the job's nodes replaces the one before.
func (t *turns) keep(m *stream.Message) error {
	if m.Frame != nil && m.Frame.Kind == stream.FramePreview {
		return nil
	}
	t.waiting = slices.DeleteFunc(t.waiting, func(w *stream.Message) bool {
		replaced := m.Whole && w.Whole && w.Job == m.Job
		if replaced {
			t.bytes -= w.Size()
		}
		return replaced
	})
	t.waiting = append(t.waiting, m)
	if t.bytes += m.Size(); t.bytes > maxWaiting {
		return &stream.Closed{Reason: stream.CloseSlow}
	}
	return nil
}
