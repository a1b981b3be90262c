// Package eventlog is the append-only log of events that every view is folded
// from. A recorded event is delivered to every subscriber, in stream order, at least
// once. Aggregates define what events mean; implementations of Store define how they
// are stored.
package eventlog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Event is an event to append. Data is a pointer-free struct of a type
// known to the Registry; it is small (bytes live in the blob store) and never holds a secret.
type Event struct {
	ID   uuid.UUID // chosen by the caller; the same id is appended once, ever
	Type string    // explicit, versioned, past tense: "job.submitted.v1"
	Data any
}

// Meta says who caused an event and why. It is stored beside the data.
type Meta struct {
	Actor     string `json:"actor,omitempty"`      // account, operator or process that acted
	RequestID string `json:"request_id,omitempty"` // of the API request at the start of the chain
	Cause     string `json:"cause,omitempty"`      // id of the event that led to this one
	Reason    string `json:"reason,omitempty"`     // an operator's words
}

// Recorded is an event as stored.
type Recorded struct {
	Position   int64 // global, increasing; gaps are rolled-back appends
	Stream     string
	Version    int64 // within the stream, from 1, without gaps
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
	Close    bool // nothing may follow: later appends without Reopen are refused
	Reopen   bool // append although the stream is closed (retention events)
}

// Store appends events and reads streams.
type Store interface {
	// Append records the events and returns them as stored. A wrong expected version or a closed
	// stream is Conflict (ErrVersion, ErrClosed). If the first event's id is already recorded,
	// nothing is appended and the recorded events with these ids are returned: a retry is harmless.
	Append(ctx context.Context, a Append) ([]Recorded, error)
	Streams
}
