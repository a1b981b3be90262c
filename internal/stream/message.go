package stream

import (
	"sync"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Message is one message to the watchers of an account. Each adapter reads the
// fields that it can send. A published message never changes.
type Message struct {
	Job       job.ID // "" = about the account as a whole
	ClientID  string // of the job's submitter, for routing by client
	Broadcast bool   // goes to every client even when messages are routed by client

	Text     []byte    // a text frame of the cloud contract, {"type":…,"data":…}; nil = none
	Frame    *Frame    // a preview or text of a running node; nil = none
	State    *job.Job  // the job after the event that caused this; nil = unchanged
	Progress *Progress // the job's progress, when this changed it

	once     sync.Once
	rendered any
}

// Rendered returns what build makes of the message. It is built once, however many
// watchers ask, so every caller must pass the same function.
func (m *Message) Rendered(build func(*Message) any) any {
	m.once.Do(func() { m.rendered = build(m) })
	return m.rendered
}

// size estimates the memory that a queued message holds on to.
func (m *Message) size() int {
	n := 256 + len(m.Text)
	if m.Frame != nil {
		n += len(m.Frame.Data)
	}
	return n
}

// Snapshot is the first message to a new watcher of an account.
type Snapshot struct {
	Remaining int    // jobs that wait or run: queue_remaining
	Jobs      []Live // those that have begun, in run order
}

// Live is the last announced state of an unfinished job.
type Live struct {
	Job      job.Job
	LastNode string    // the node that was reported as executing last, "" = none
	Progress *Progress // nil before the job runs
	Preview  *Message  // the latest one of a node that still runs, or nil
}
