package call

import (
	"context"
	"errors"
	"io"
	"time"
)

// Errors of a Provider.
var (
	// ErrNotSent: nothing reached the provider; the call certainly did nothing.
	ErrNotSent = errors.New("the request did not reach the provider")
	// ErrTimeout: the provider has the request and gave no answer in its time.
	ErrTimeout = errors.New("the provider did not answer in time")
	// ErrNoCancel: the provider cannot stop a generation.
	ErrNoCancel = errors.New("the provider cannot cancel")
)

// Phase is the phase of an exchange with a provider.
type Phase string

// The phases.
const (
	PhaseAnswered Phase = "answered" // the sink has the answer
	PhaseAccepted Phase = "accepted" // the handle leads to the result
	PhasePending  Phase = "pending"  // not finished yet
	PhaseFailed   Phase = "failed"   // certainly no result; the sink's bytes mean nothing
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
	Quoted      int64  // USD millionths that the provider named when it accepted; 0 = none
	Catalog     string // names the catalog's state that the call was accepted with
	Route
}

// Exchange is the result of one exchange.
type Exchange struct {
	Phase       Phase
	ContentType string
	Handle      string
	PollAfter   time.Duration
	Failure     *Failure
	Unknown     bool  // of a failure: the provider has the request and may work on it still
	Unsent      bool  // of a failure: the provider says that it did nothing
	Declined    bool  // of a failure: the provider refused to take the request, whatever is in it
	Price       int64 // USD millionths to settle the call for, of an answer or a failure; of an acceptance, what the provider named
	Host        bool  // assets of the answer are to be copied
	Served
}

// Provider speaks to the providers of models. An error of Dispatch that is not ErrNotSent means that
// the provider may have the request. Poll and Cancel may be repeated.
type Provider interface {
	Dispatch(ctx context.Context, c Conversation, sink io.Writer) (Exchange, error)
	Poll(ctx context.Context, c Conversation, sink io.Writer) (Exchange, error)
	// Cancel asks the provider to stop; ErrNoCancel where it cannot.
	Cancel(ctx context.Context, c Conversation) error
	// Total is how long a generation may take from dispatch to its result.
	Total(model string) time.Duration
}
