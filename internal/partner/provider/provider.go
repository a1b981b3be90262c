// Package provider speaks the HTTP protocols of partner models. It sends a caller's bytes unchanged, streams the
// answer, polls submitted generations, and classifies every answer that is not a result by the error types of the
// router contract. It keeps no state and makes no retries: every error states whether the provider may have received
// the request. The protocol of each model is data (internal/partner/catalog).
package provider

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// The two meanings of an error of Dispatch. Errors of Poll and Cancel wrap one of them too; both calls can be
// repeated.
var (
	// ErrNotSent means that no part of the request reached the provider, so sending it again is safe.
	ErrNotSent = errors.New("the request did not reach the provider")
	// ErrUnknown means that the request may have reached the provider, but no answer arrived. The call may have been
	// charged, so the request must not be sent again.
	ErrUnknown = errors.New("the provider may have received the request, but no answer arrived")
)

// Phase is the state of a conversation after one exchange.
type Phase string

// The phases.
const (
	Answered Phase = "answered" // the sink holds the final answer
	Accepted Phase = "accepted" // submitted; Handle identifies the generation
	Pending  Phase = "pending"  // not finished; poll again after PollAfter
	Failed   Phase = "failed"   // no result, for the reason in Failure; the bytes in the sink must be dropped
)

// Outcome is the result of one exchange with a provider.
type Outcome struct {
	Phase       Phase
	Status      int               // HTTP status of the provider
	ContentType string            // content type of the answer, unchanged
	Size        int64             // bytes written to the sink, when Answered
	Handle      string            // when Accepted; contains no secret, at most 2,048 bytes
	PollAfter   time.Duration     // when Accepted or Pending
	Failure     *Failure          // when Failed
	Headers     map[string]string // headers of the answer, names in lower case; when Answered or Failed
	// Document is the answer with long strings cut, for price expressions and diagnosis; nil for bytes.
	Document any
}

// Failure describes an exchange without a result, in the terms of the router contract.
type Failure struct {
	Type           string          `json:"type"` // error_type
	Detail         string          `json:"detail"`
	UpstreamStatus int             `json:"upstream_status,omitempty"`
	UpstreamDetail string          `json:"upstream_detail,omitempty"`
	RefusalSubject string          `json:"refusal_subject,omitempty"`
	Validation     json.RawMessage `json:"validation,omitempty"` // the provider's validation errors, verbatim, for a 422
	// Retryable means that the provider did nothing, as with a 429: the idempotency key of the call can be used again, and
	// another provider may be asked. Nothing sends the request to the same provider again.
	Retryable bool `json:"retryable,omitempty"`
	// Charged is whether the provider charges for the failed call.
	Charged catalog.Charges `json:"charged,omitempty"`
	// Cause is the reason why an answer could not be read, for logs.
	Cause string `json:"cause,omitempty"`
}

// Request is a call to dispatch. CallID is the value of the provider's idempotency header, which is the same for
// every attempt of the call. Body is the caller's body of Size bytes: a JSON object, or a form if ContentType is that
// of a form.
type Request struct {
	Model       *catalog.Model
	CallID      string
	Body        io.ReadSeeker
	Size        int64
	ContentType string // "" = application/json
}

// AssetRef is an address in a result and the JSON pointer to it.
type AssetRef struct {
	Pointer string
	URL     string
}
