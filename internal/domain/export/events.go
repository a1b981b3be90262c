package export

import (
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Event type names. They are stored; renaming one breaks history.
const (
	TypeRequested = "export.requested.v1"
	TypeStarted   = "export.started.v1"
	TypeCompleted = "export.completed.v1"
	TypeFailed    = "export.failed.v1"
	TypeRequeued  = "export.requeued.v1"
)

// RequestedV1 records that an export was accepted. The account is the event's own.
type RequestedV1 struct {
	Name    string  `json:"name"` // name of the archive
	Request Request `json:"request"`
	Files   int     `json:"files"` // number of requested files
	Bytes   int64   `json:"bytes"` // total size of the files that exist
}

// StartedV1 records that a worker began to pack.
type StartedV1 struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// CompletedV1 records an archive, which is an asset of the account with this name and hash.
type CompletedV1 struct {
	Name      string     `json:"name"`
	Asset     asset.ID   `json:"asset"`
	Size      int64      `json:"size"` // of the archive, bytes
	Files     int        `json:"files"`
	Packed    int        `json:"packed"` // of the files
	Bytes     int64      `json:"bytes"`  // of the packed files
	Missing   []Missing  `json:"missing,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// FailedV1 records that the export failed. Its text is public.
type FailedV1 struct {
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Files   int       `json:"files"`
	Missing []Missing `json:"missing,omitempty"`
}

// RequeuedV1 records that an export was started again, because its workflow was lost.
type RequeuedV1 struct{}

// Missing is a requested file that is not in the archive.
type Missing struct {
	Asset asset.PublicID `json:"asset_id"`
	Job   string         `json:"job_id,omitempty"`
	Name  string         `json:"asset_name,omitempty"`
	Error string         `json:"error"` // not_found, fetch_failed
}

// The reasons why a file is missing, in the terms of the hosted service.
const (
	reasonAbsent = "not_found"
	reasonLost   = "fetch_failed"
)

// maxMissing bounds the missing files that an event names. All of them are counted.
const maxMissing = 100

// bounded returns the first maxMissing files.
func bounded(missing []Missing) []Missing { return missing[:min(len(missing), maxMissing)] }

// Register adds the event types of exports to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[RequestedV1](TypeRequested).Says("an archive of files was requested"),
		eventlog.TypeOf[StartedV1](TypeStarted).Says("a worker began to pack it"),
		eventlog.TypeOf[CompletedV1](TypeCompleted).Says("the archive was stored as an asset"),
		eventlog.TypeOf[FailedV1](TypeFailed).Says("the export failed, with the reason"),
		eventlog.TypeOf[RequeuedV1](TypeRequeued).Says("the sweeper restarted it, because its workflow was lost"),
	)
}

// Event returns an event of the export. Each type except requeued happens once and has the same id on every attempt.
func (id ID) Event(data any) eventlog.Event {
	switch data.(type) {
	case RequestedV1:
		return eventlog.Event{ID: id.eventID(TypeRequested), Type: TypeRequested, Data: data}
	case StartedV1:
		return eventlog.Event{ID: id.eventID(TypeStarted), Type: TypeStarted, Data: data}
	case CompletedV1:
		return eventlog.Event{ID: id.eventID(TypeCompleted), Type: TypeCompleted, Data: data}
	case FailedV1:
		return eventlog.Event{ID: id.eventID(TypeFailed), Type: TypeFailed, Data: data}
	default:
		return eventlog.Event{ID: uuid.New(), Type: TypeRequeued, Data: RequeuedV1{}}
	}
}

// Fold applies one recorded event of the export's stream to the state before it and returns the state after it.
// Unknown event types, and events after the end, only move the version. An event at or below the version changes
// nothing.
func Fold(before Export, rec eventlog.Recorded, data any) Export {
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
		after.Account, after.State, after.CreatedAt = rec.Account, Created, at
		after.Name, after.Request, after.Files, after.Bytes = e.Name, e.Request, e.Files, e.Bytes
	case StartedV1:
		after.State, after.StartedAt = Running, &at
	case CompletedV1:
		after.State, after.EndedAt, after.Done = Completed, &at, &e
	case FailedV1:
		after.State, after.EndedAt, after.Failure = Failed, &at, &e
	}
	return after
}

// Completion returns the event for an archive with the given name, size and missing files. The caller that creates
// the asset sets its id.
func Completion(name string, size int64, packed Packed, missing []Missing) CompletedV1 {
	return CompletedV1{
		Name: name, Size: size, Files: packed.Files + len(missing), Packed: packed.Files, Bytes: packed.Bytes, Missing: bounded(missing),
	}
}
