// Package provider speaks the wire of partner models: it sends a caller's bytes as they came,
// streams the answer as it comes, polls what was submitted, and sorts everything that is not a
// result into the error types of the router contract. It keeps no state and decides no retries:
// every outcome says what is known, and every error whether the provider may have seen the
// request. How a model's conversation goes is data (internal/model/catalog).
package provider

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/millrace-dev/millrace/internal/model/catalog"
)

// The two things an error of Dispatch can mean. Errors of Poll and Cancel wrap either; both can
// be repeated.
var (
	// ErrNotSent: nothing of the request reached the provider; sending it again is safe.
	ErrNotSent = errors.New("the request did not reach the provider")
	// ErrUnknown: the request may have reached the provider, and no answer came. It may have been
	// charged, so it is not sent again.
	ErrUnknown = errors.New("the provider may have the request, but no answer came")
)

// Phase is where a conversation stands after one exchange.
type Phase string

// The phases.
const (
	Answered Phase = "answered" // the sink holds the final answer
	Accepted Phase = "accepted" // submitted; Handle leads to the result
	Pending  Phase = "pending"  // not finished; poll again after PollAfter
	Failed   Phase = "failed"   // no result, Failure says why; the sink's bytes are to be dropped
)

// Outcome is what one exchange with a provider gave.
type Outcome struct {
	Phase       Phase
	Status      int               // HTTP status of the provider
	ContentType string            // of the answer, as the provider gave it
	Size        int64             // bytes written to the sink, when Answered
	Handle      string            // when Accepted; no secret, at most 2,048 bytes
	PollAfter   time.Duration     // when Accepted or Pending
	Failure     *Failure          // when Failed
	Headers     map[string]string // of the answer, names in lower case; when Answered or Failed
	// Document is the answer with its long strings cut, for expressions (settled price) and
	// diagnosis; nil for bytes.
	Document any
}

// Failure is an exchange that gave no result, in the terms of the router contract.
type Failure struct {
	Type           string          `json:"type"` // error_type
	Detail         string          `json:"detail"`
	UpstreamStatus int             `json:"upstream_status,omitempty"`
	UpstreamDetail string          `json:"upstream_detail,omitempty"`
	RefusalSubject string          `json:"refusal_subject,omitempty"`
	Validation     json.RawMessage `json:"validation,omitempty"` // the provider's violations, verbatim: the answer is a 422
	RetryAfter     time.Duration   `json:"retry_after,omitempty"`
	// Retryable: the provider says that it did nothing, such as a 429. The same call may be
	// dispatched again.
	Retryable bool `json:"retryable,omitempty"`
	// Charged says whether the provider takes money for this call nevertheless.
	Charged catalog.Charges `json:"charged,omitempty"`
	// Cause is for logs: why an answer could not be read.
	Cause string `json:"cause,omitempty"`
}

// Request is one call to dispatch. CallID is the value of the provider's idempotency header; it
// is the same for every attempt of a call. Body is the caller's, of Size bytes: a JSON object, or a form
// where ContentType says so.
type Request struct {
	Model       *catalog.Model
	CallID      string
	Body        io.ReadSeeker
	Size        int64
	ContentType string // "" = application/json
}

// AssetRef is one address in a result: where it stands (a JSON pointer) and what it is.
type AssetRef struct {
	Pointer string
	URL     string
}
