package gate

import "github.com/millrace-dev/millrace/internal/eventlog"

// Event type names. They are stored; renaming one breaks history.
const (
	TypeResumed      = "queue.resumed.v1"
	TypePaused       = "queue.paused.v1"
	TypeDrainStarted = "queue.drain_started.v1"
	TypeStopped      = "queue.stopped.v1"
)

// Each event holds the previous mode. Actor and reason are in the event's meta.
type (
	// ResumedV1 records that a queue was opened.
	ResumedV1 struct {
		Was Mode `json:"was"`
	}
	// PausedV1 records that a queue was paused.
	PausedV1 struct {
		Was Mode `json:"was"`
	}
	// DrainStartedV1 records that a queue refuses new jobs and starts the waiting ones.
	DrainStartedV1 struct {
		Was Mode `json:"was"`
	}
	// StoppedV1 records that a queue refuses new jobs and starts none.
	StoppedV1 struct {
		Was Mode `json:"was"`
	}
)

// ChangeEvent returns the event type and data that record a change to mode.
func ChangeEvent(mode, was Mode) (eventType string, data any) {
	switch mode {
	case Paused:
		return TypePaused, PausedV1{was}
	case Draining:
		return TypeDrainStarted, DrainStartedV1{was}
	case Stopped:
		return TypeStopped, StoppedV1{was}
	case Open:
	}
	return TypeResumed, ResumedV1{was}
}

// Register adds the queue's event types to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[ResumedV1](TypeResumed).Says("jobs are accepted and start"),
		eventlog.TypeOf[PausedV1](TypePaused).Says("jobs are accepted and wait"),
		eventlog.TypeOf[DrainStartedV1](TypeDrainStarted).Says("new jobs are refused, waiting jobs start"),
		eventlog.TypeOf[StoppedV1](TypeStopped).Says("new jobs are refused, waiting jobs keep waiting"),
	)
}
