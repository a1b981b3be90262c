// Package eventlog is the append-only log of events from which every view is folded. It promises that a recorded
// event is delivered to every subscriber, in stream order, at least once. Aggregates define the meaning of events;
// implementations of Store define how they are stored.
package eventlog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Event is an event to append. Data is a struct without pointers, of a type in the Registry. It is small, because
// bytes belong in the blob store, and contains no secret.
type Event struct {
	ID   uuid.UUID // chosen by the caller; an id is appended only once
	Type string    // explicit, versioned, past tense: "job.submitted.v1"
	Data any
}

// Meta describes who caused an event and why. It is stored beside the data.
type Meta struct {
	Actor     string `json:"actor,omitempty"`      // account, operator or process that acted
	RequestID string `json:"request_id,omitempty"` // of the API request at the start of the chain
	Cause     string `json:"cause,omitempty"`      // id of the event that led to this one
	Reason    string `json:"reason,omitempty"`     // the reason that an operator gave
}

// By names the actor of a command and the reason, which are stored with its events.
type By struct{ Actor, Reason, RequestID string }

// Meta returns what is stored beside the data of the events.
func (b By) Meta() Meta { return Meta{Actor: b.Actor, Reason: b.Reason, RequestID: b.RequestID} }

// Recorded is an event as stored.
type Recorded struct {
	Position   int64 // global, increasing; gaps are rolled-back appends
	Stream     string
	Version    int64 // in the stream, from 1, without gaps
	ID         uuid.UUID
	Type       string
	Account    string
	Data       json.RawMessage
	Meta       Meta
	RecordedAt time.Time // UTC, of the database's clock
}

// AnyVersion appends at the end of the stream, whatever its version.
const AnyVersion int64 = -1

// Append is one atomic addition to one stream.
type Append struct {
	Stream   string
	Account  string
	Expected int64 // the version the stream must have (0 = new), or AnyVersion
	Events   []Event
	Meta     Meta
	Close    bool // closes the stream: later appends without Reopen are refused
	Reopen   bool // append although the stream is closed (retention events)
}

// AppendTo returns the append of events at the end of a stream, whatever its version.
func AppendTo(stream, account string, meta Meta, events ...Event) Append {
	return Append{Stream: stream, Account: account, Expected: AnyVersion, Meta: meta, Events: events}
}

// NewEvent returns an event with a random id: the event of another attempt is another event.
func NewEvent(eventType string, data any) Event {
	return Event{ID: uuid.New(), Type: eventType, Data: data}
}

// Closing returns the append with which the stream is closed.
func (a Append) Closing() Append {
	a.Close = true
	return a
}

// Store appends events and reads streams.
type Store interface {
	// Append records the events and returns them as stored. A wrong expected version or a closed stream is Conflict
	// (ErrVersion, ErrClosed). If the first event's id is already recorded, Append returns the recorded events with
	// these ids and appends nothing, so a retry is harmless.
	Append(ctx context.Context, a Append) ([]Recorded, error)
	Streams
}
