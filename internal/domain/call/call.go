// Package call is the aggregate of a model call: its states, its events, the fold from events to states,
// and the Service that accepts calls. It promises that a call is sent to its provider at most once, and
// that a recorded answer is not lost before its retention ends. Folding is pure and total. The Store runs
// the transactions; package provider speaks to providers.
package call

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// ID identifies a call. It equals the request id of the API request that made it. Lower-case UUID.
type ID string

// NewID returns a fresh random id.
func NewID() ID { return ID(uuid.NewString()) }

// ParseID accepts the canonical lower-case form only.
func ParseID(s string) (ID, error) { return eventlog.ParseID[ID](s) }

const streamPrefix = "call-"

// Stream returns the name of the call's event stream.
func (id ID) Stream() string { return streamPrefix + string(id) }

// IDOfStream returns the call that the stream belongs to.
func IDOfStream(stream string) (ID, bool) { return eventlog.IDOfStream[ID](streamPrefix, stream) }

// WorkflowID returns the Temporal workflow id of one run of the call.
func (id ID) WorkflowID(run int) string { return fmt.Sprintf("call-%s-%d", id, run) }

// State is the state of a call.
type State string

// The states; docs/state_machine.md draws the transitions.
const (
	Waiting     State = "queued"      // queued delivery: waits for admission
	Admitted    State = "admitted"    // admitted; nothing was sent
	Dispatching State = "dispatching" // the request may have been sent
	Running     State = "running"     // the provider accepted it and returned a handle
	Answered    State = "answered"    // the answer is stored; its assets may still be copied
	Succeeded   State = "succeeded"
	Failed      State = "failed"
	Canceled    State = "canceled"
	Unknown     State = "unknown" // sent; the outcome is unknown
)

// Final reports whether a call in this state has ended. Unknown counts as ended, although a late answer
// or an operator may still settle the call.
func (s State) Final() bool {
	switch s {
	case Succeeded, Failed, Canceled, Unknown:
		return true
	case Waiting, Admitted, Dispatching, Running, Answered:
		return false
	}
	return false
}

// Mode is how a call's answer is delivered.
type Mode string

// The modes.
const (
	Sync   Mode = "sync"   // the caller's connection waits
	Queued Mode = "queued" // the caller polls (router contract, …/requests)
	Node   Mode = "node"   // a partner node of a job waits
)

// Version is the API version of a call.
type Version string

// The versions.
const (
	V1 Version = "v1"
	V2 Version = "v2"
)

// Options are the query parameters of the run route. All are part of the idempotency fingerprint.
type Options struct {
	ModelProvider string `json:"model_provider,omitempty"`
	Strict        bool   `json:"strict_mode,omitempty"`
	Fallback      bool   `json:"fallback_provider,omitempty"`
	RejectUnknown bool   `json:"reject_unknown_fields,omitempty"`
}

// Body locates a request's or an answer's bytes in the blob store.
type Body struct {
	Ref         blob.Ref `json:"ref"`
	Size        int64    `json:"size"`
	ContentType string   `json:"content_type,omitempty"`
}

// Failure says why a call failed, in the terms of the router API. It is shown to clients and contains no
// secret and no internal text.
type Failure struct {
	Type           string `json:"type"`   // error_type
	Status         int    `json:"status"` // HTTP status of the answer, set as it is recorded
	Detail         string `json:"detail"`
	Validation     string `json:"validation,omitempty"` // JSON text of a 422's detail array, as the provider sent it
	UpstreamStatus int    `json:"upstream_status,omitempty"`
	UpstreamDetail string `json:"upstream_detail,omitempty"`
	RefusalSubject string `json:"refusal_subject,omitempty"`
}

// Call is the folded state of one call. Views store its JSON encoding.
type Call struct {
	ID       ID      `json:"id"`
	Account  string  `json:"account"`
	State    State   `json:"state"`
	Version  int64   `json:"version"`  // of the stream, folded so far
	Position int64   `json:"position"` // of the last folded event
	Mode     Mode    `json:"mode"`
	API      Version `json:"api"`
	Model    string  `json:"model"`
	Provider string  `json:"provider"`
	Keyed    bool    `json:"keyed"` // has an Idempotency-Key
	Options  Options `json:"options,omitzero"`
	Request  Body    `json:"request"`
	Base     string  `json:"base,omitempty"`           // base URL that the caller used
	Held     int64   `json:"held_micros"`              // USD millionths reserved at admission
	Charged  *int64  `json:"charged_micros,omitempty"` // USD millionths settled; absent = not known yet
	Run      int     `json:"run,omitempty"`
	Token    string  `json:"token,omitempty"`    // of the one dispatch
	Worker   string  `json:"worker,omitempty"`   // process that dispatched
	Server   string  `json:"server,omitempty"`   // alternate server of the call; "" = the model's own server
	Repeated bool    `json:"repeated,omitempty"` // the request was sent again by the provider's idempotency header
	Handle   string  `json:"handle,omitempty"`   // the provider's name for the generation
	Answer   *Body   `json:"answer,omitempty"`   // as delivered to the caller
	// USD millionths, as named by the provider when it accepted the call, then as named with the answer
	Price      int64    `json:"price_micros,omitempty"`
	Linked     bool     `json:"linked,omitempty"` // the provider's answer refers to bytes outside itself
	Replayable bool     `json:"replayable,omitempty"`
	Failure    *Failure `json:"failure,omitempty"`
	Hosted     int      `json:"hosted,omitempty"`    // assets copied to our storage
	Canceling  bool     `json:"canceling,omitempty"` // the caller asked to stop
	Detached   bool     `json:"detached,omitempty"`  // the deadline passed or the caller disconnected; the key gets the answer
	Served
	AcceptedAt time.Time  `json:"accepted_at"`
	AdmittedAt *time.Time `json:"admitted_at,omitempty"`
	SentAt     *time.Time `json:"sent_at,omitempty"`
	EndedAt    *time.Time `json:"ended_at,omitempty"`
	UpdatedAt  time.Time  `json:"updated_at"`
}

// Fingerprint identifies a request for idempotency: its method, its path and query as sent, and every byte of its
// body. Each part is prefixed with its length, so that different requests never have the same hashed bytes.
func Fingerprint(method, target string, body []byte) blob.Ref {
	h := blob.NewHash()
	for _, part := range [][]byte{[]byte(method), []byte(target), body} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	return blob.RefOf(h)
}
