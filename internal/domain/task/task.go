// Package task has what an account's background tasks (exports and downloads) share. Every task has an event stream, a workflow and an
// end. The package of a kind adds the request, the result and their events.
package task

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// ID identifies a task: a lower-case UUID made by the server.
type ID string

// NewID returns a fresh random id.
func NewID() ID { return ID(uuid.NewString()) }

// ParseID accepts a UUID in upper or lower case.
func ParseID(s string) (ID, error) {
	u, err := uuid.Parse(s)
	if err != nil || !strings.EqualFold(u.String(), s) {
		return "", fault.New(fault.NotFound, fault.CodeNotFound, "there is no such task")
	}
	return ID(u.String()), nil
}

// Kind is a kind of tasks. The names of its streams, workflows and event types begin with it.
type Kind string

// The kinds.
const (
	Export   Kind = "export"   // packs files of an account into an archive
	Download Kind = "download" // makes an asset of the content of a URL
)

// Stream returns the name of a task's event stream.
func (k Kind) Stream(id ID) string { return string(k) + "-" + string(id) }

// WorkflowID returns the Temporal workflow id of a task.
func (k Kind) WorkflowID(id ID) string { return string(k) + "-" + string(id) }

// IDOfStream returns the id of the task that a stream belongs to.
func (k Kind) IDOfStream(stream string) (ID, bool) {
	return eventlog.IDOfStream[ID](string(k)+"-", stream)
}

// Ref names an accepted task; it is what a start intent carries.
type Ref struct {
	Task    ID     `json:"task"`
	Account string `json:"account"`
	Bytes   int64  `json:"bytes,omitempty"` // of the files, from which the work is estimated; 0 = unknown
}

// State is the state of a task, in the terms of the hosted service.
type State string

// The states. Completed and Failed are final.
const (
	Created   State = "created"
	Running   State = "running"
	Completed State = "completed"
	Failed    State = "failed"
)

// Final reports whether the task has ended.
func (s State) Final() bool { return s == Completed || s == Failed }

// Task is the folded state of one task, with the data of its events.
type Task[Request, Result, Failure any] struct {
	ID        ID
	Account   string
	RequestID string // of the request that created it
	State     State
	Version   int64 // of the stream, folded so far
	CreatedAt time.Time
	UpdatedAt time.Time
	StartedAt *time.Time
	EndedAt   *time.Time

	Requested Request
	Done      *Result  // of a completed one
	Failure   *Failure // of a failed one
	Progress  Progress // of a running download; no event has it
}

// Progress is the progress of a task for its watchers.
type Progress struct {
	Kind      Kind   `json:"kind"`
	Task      ID     `json:"task"`
	Name      string `json:"name,omitempty"`  // of the file that is downloaded
	Files     int    `json:"files,omitempty"` // of an export, as are the next two
	Attempted int    `json:"attempted,omitempty"`
	Failed    int    `json:"failed,omitempty"`
	Bytes     int64  `json:"bytes"`             // total size; 0 = the source of a download does not send it
	Done      int64  `json:"done"`              // bytes that were packed or fetched
	Problem   string `json:"problem,omitempty"` // public: why the last attempt failed, if another one follows
}

// Status describes how far a download is, for people, in words that follow its name; "" = not known yet.
func (p Progress) Status() string {
	switch {
	case p.Problem != "":
		return "; another attempt follows: " + p.Problem
	case p.Bytes > 0:
		return fmt.Sprintf(": %d%% of %s", 100*p.Done/p.Bytes, amount.Bytes(p.Bytes))
	}
	return ""
}

// Fraction returns the completed fraction, 0 to 1.
func (p Progress) Fraction() float64 {
	if p.Bytes <= 0 {
		return 0
	}
	return min(1, float64(p.Done)/float64(p.Bytes))
}

// RequeuedV1 records that a task was started again, because its workflow was lost.
type RequeuedV1 struct{}

// Events describes the events of one kind of tasks. Request, Start, Result and Failure are the data of the events that
// a task was requested, started, completed and failed.
type Events[Request, Start, Result, Failure any] struct {
	Kind Kind
	// The meanings of the events, for operators.
	Requested, Started, Completed, Failed string
}

// name returns the name of an event type. Names are stored; renaming one breaks history.
func (e Events[Request, Start, Result, Failure]) name(verb string) string {
	return string(e.Kind) + "." + verb + ".v1"
}

// Register adds the event types of the kind to r.
func (e Events[Request, Start, Result, Failure]) Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[Request](e.name("requested")).Says(e.Requested),
		eventlog.TypeOf[Start](e.name("started")).Says(e.Started),
		eventlog.TypeOf[Result](e.name("completed")).Says(e.Completed),
		eventlog.TypeOf[Failure](e.name("failed")).Says(e.Failed),
		eventlog.TypeOf[RequeuedV1](e.name("requeued")).Says("the sweeper restarted it, because its workflow was lost"),
	)
}

// Event returns an event of a task. Each type except requeued happens once and has the same id on every attempt.
func (e Events[Request, Start, Result, Failure]) Event(id ID, data any) eventlog.Event {
	name := e.name("requeued")
	switch data.(type) {
	case Request:
		name = e.name("requested")
	case Start:
		name = e.name("started")
	case Result:
		name = e.name("completed")
	case Failure:
		name = e.name("failed")
	default:
		return eventlog.Event{ID: uuid.New(), Type: name, Data: RequeuedV1{}}
	}
	return eventlog.Event{ID: asset.EventID(asset.ID(id), name), Type: name, Data: data}
}

// Fold applies one recorded event of the task's stream to the state before it and returns the state after it. Unknown
// event types, and events after the end, only move the version. An event at or below the version changes nothing.
func (e Events[Request, Start, Result, Failure]) Fold(
	before Task[Request, Result, Failure], rec eventlog.Recorded, data any,
) Task[Request, Result, Failure] {
	if rec.Version <= before.Version {
		return before
	}
	after, at := before, rec.RecordedAt.UTC()
	after.Version = rec.Version
	if before.State.Final() {
		return after
	}
	after.UpdatedAt = at
	switch data := data.(type) {
	case Request:
		after.ID, _ = e.Kind.IDOfStream(rec.Stream)
		after.Account, after.RequestID, after.State, after.CreatedAt, after.Requested = rec.Account, rec.Meta.RequestID, Created, at, data
	case Start:
		after.State, after.StartedAt = Running, &at
	case Result:
		after.State, after.EndedAt, after.Done = Completed, &at, &data
	case Failure:
		after.State, after.EndedAt, after.Failure = Failed, &at, &data
	}
	return after
}
