package call

import (
	"context"
	"errors"
	"io"
	"time"
)

// Errors of a Provider.
var (
	// ErrNotSent: no byte reached the provider, so the call certainly had no effect.
	ErrNotSent = errors.New("the request did not reach the provider")
	// ErrTimeout: the provider has the request and did not answer in time.
	ErrTimeout = errors.New("the provider did not answer in time")
	// ErrNoCancel: the provider cannot stop a generation.
	ErrNoCancel = errors.New("the provider cannot cancel")
)

// Phase is the phase of an exchange with a provider.
type Phase string

// The phases.
const (
	PhaseAnswered Phase = "answered" // the sink has the answer
	PhaseAccepted Phase = "accepted" // the result can be polled with the handle
	PhasePending  Phase = "pending"  // not finished yet
	PhaseFailed   Phase = "failed"   // there is certainly no result; ignore the sink's bytes
)

// Conversation is a call in the form that its provider receives. Call becomes the provider's own idempotency key, if
// it has one.
type Conversation struct {
	Call        ID
	Model       string
	Handle      string // "" before the provider accepted
	Body        io.ReadSeeker
	Size        int64
	ContentType string
	Held        int64  // USD millionths reserved
	Quoted      int64  // USD millionths that the provider named when it accepted; 0 = not named
	Catalog     string // version of the catalog with which the call was accepted
	Route
}

// Exchange is the result of one exchange.
type Exchange struct {
	Phase       Phase
	ContentType string
	Handle      string
	PollAfter   time.Duration
	Failure     *Failure
	Unknown     bool  // failure: the provider has the request and may still be working on it
	Unsent      bool  // failure: the provider reported that it did nothing
	Declined    bool  // failure: the provider refused the request independently of its content
	Price       int64 // USD millionths: the charge of an answer or a failure, or the price that the provider named when it accepted
	Host        bool  // the assets of the answer must be copied
	Served
}

// Provider sends requests to the providers of models. An error of Dispatch other than ErrNotSent means that the
// provider may have the request. Poll and Cancel may be repeated.
type Provider interface {
	Dispatch(ctx context.Context, c Conversation, sink io.Writer) (Exchange, error)
	Poll(ctx context.Context, c Conversation, sink io.Writer) (Exchange, error)
	// Cancel requests that the provider stop. ErrNoCancel means that it cannot.
	Cancel(ctx context.Context, c Conversation) error
	// Idempotent reports whether the provider answers a repeated request of the same call with its first answer, and charges it
	// once.
	Idempotent(c Conversation) bool
	// Total bounds the time of a generation from dispatch to its result.
	Total(model string) time.Duration
}
