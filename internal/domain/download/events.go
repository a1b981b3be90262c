package download

import (
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Event type names. They are stored; renaming one breaks history.
const (
	TypeRequested = "download.requested.v1"
	TypeStarted   = "download.started.v1"
	TypeCompleted = "download.completed.v1"
	TypeFailed    = "download.failed.v1"
	TypeRequeued  = "download.requeued.v1"
)

// RequestedV1 records that a download was accepted. The account is the event's own.
type RequestedV1 struct {
	Request Request `json:"request"`
}

// StartedV1 records that a worker began to fetch.
type StartedV1 struct {
	Name string `json:"name,omitempty"`
}

// CompletedV1 records that the content became an asset of the account.
type CompletedV1 struct {
	Name  string         `json:"name,omitempty"`
	Asset asset.PublicID `json:"asset"`
	Size  int64          `json:"size"`
	Found bool           `json:"found,omitempty"` // the result is an equal asset that the account already had
}

// FailedV1 records that the download failed. Its text is public.
type FailedV1 struct {
	Name    string `json:"name,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// RequeuedV1 records that a download was started again, because its workflow was lost.
type RequeuedV1 struct{}

// Register adds the event types of downloads to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[RequestedV1](TypeRequested).Says("a download was requested"),
		eventlog.TypeOf[StartedV1](TypeStarted).Says("a worker began to fetch the content"),
		eventlog.TypeOf[CompletedV1](TypeCompleted).Says("the content became an asset"),
		eventlog.TypeOf[FailedV1](TypeFailed).Says("the download failed, with the reason"),
		eventlog.TypeOf[RequeuedV1](TypeRequeued).Says("the sweeper restarted it, because its workflow was lost"),
	)
}

// Event returns an event of the download. Each type except requeued happens once and has the same id on every attempt.
func (id ID) Event(data any) eventlog.Event {
	once := func(eventType string) eventlog.Event {
		return eventlog.Event{ID: id.eventID(eventType), Type: eventType, Data: data}
	}
	switch data.(type) {
	case RequestedV1:
		return once(TypeRequested)
	case StartedV1:
		return once(TypeStarted)
	case CompletedV1:
		return once(TypeCompleted)
	case FailedV1:
		return once(TypeFailed)
	default:
		return eventlog.Event{ID: uuid.New(), Type: TypeRequeued, Data: RequeuedV1{}}
	}
}

// Fold applies one recorded event of the download's stream to the state before it and returns the state after it.
// Unknown event types, and events after the end, only move the version. An event at or below the version changes
// nothing.
func Fold(before Download, rec eventlog.Recorded, data any) Download {
	if rec.Version <= before.Version {
		return before
	}
	after, at := before, rec.RecordedAt.UTC()
	after.Version = rec.Version
	if before.State.Final() {
		return after
	}
	after.UpdatedAt = at
	switch e := data.(type) {
	case RequestedV1:
		after.ID, _ = IDOfStream(rec.Stream)
		after.Account, after.State, after.CreatedAt, after.Request = rec.Account, Created, at, e.Request
		after.RequestID = rec.Meta.RequestID
	case StartedV1:
		after.State, after.StartedAt = Running, &at
	case CompletedV1:
		after.State, after.EndedAt, after.Done = Completed, &at, &e
	case FailedV1:
		after.State, after.EndedAt, after.Failure = Failed, &at, &e
	}
	return after
}
