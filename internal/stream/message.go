package stream

import (
	"sync"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// Message is one message to the watchers of an account. Each adapter sends the fields that its protocol has. A
// published message must not be changed.
type Message struct {
	Job       job.ID // "" = the message concerns the whole account
	ClientID  string // of the job's submitter, for routing by client
	Broadcast bool   // sent to every client even when messages are routed by client

	Text     []byte    // a text frame of the cloud contract, {"type":…,"data":…}; nil = none
	Frame    *Frame    // a preview or text of a running node, or nil
	State    *job.Job  // the job after the event that caused this; nil = unchanged
	Progress *Progress // the job's progress, when this changed it
	// Whole means that the message replaces earlier ones of the job with this mark. A watcher that falls behind misses those.
	Whole bool
	// InTurn means that the client follows one job at a time: it gets the messages of this job after those of the job that it follows.
	InTurn bool

	once     sync.Once
	rendered any
}

// Rendered returns the result of build for the message. build is called once for all watchers, so every caller must
// pass the same function.
func (m *Message) Rendered(build func(*Message) any) any {
	m.once.Do(func() { m.rendered = build(m) })
	return m.rendered
}

// Size estimates the memory of a queued message, in bytes.
func (m *Message) Size() int {
	n := 256 + len(m.Text)
	if m.Frame != nil {
		n += len(m.Frame.Data)
	}
	if m.State != nil { // each state has lists of its own
		n += 1024 + 16*len(m.State.Executed) + 128*len(m.State.Outputs)
	}
	return n
}

// Snapshot is the state of an account that a new watcher gets first.
type Snapshot struct {
	Remaining int    // jobs that wait or run: queue_remaining
	Jobs      []Live // jobs that have begun, in run order
	// Ended are the last messages of jobs that have just ended, for clients that submitted them and connect afterwards.
	Ended []*Message
}

// Live is the last announced state of an unfinished job.
type Live struct {
	Job      job.Job
	LastNode string    // the node that was last reported as executing, or ""
	Progress *Progress // nil before the job runs
	Preview  *Message  // the latest preview of a node that is still running, or nil
}
