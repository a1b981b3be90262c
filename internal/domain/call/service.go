package call

import (
	"context"
	"log/slog"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Invocation is one request to run a model, after authentication.
type Invocation struct {
	Account     string
	Access      account.Access // models that the account may use
	RequestID   string         // lower-case UUID made by the server; it becomes the call's id
	Key         string         // Idempotency-Key, 1 to 255 characters; "" = none
	Method      string
	Target      string // path and query as sent; part of the fingerprint
	Model       string // "<provider>/<model>"
	API         Version
	Options     Options
	Catalog     string  // names the state of the catalog that the body was made for; "" = as it is now
	For         *JobRun // the run of a job whose node waits for the call; nil = a caller's own
	BaseURL     string  // address the caller reaches us at, without a trailing slash: links to copied assets begin with it
	ContentType string
	Body        []byte // bounded by the caller
	OnStored    func() // called once Body is stored and no longer needed; may be nil
}

// Offer says how one call of a model will run.
type Offer struct {
	Model    string // canonical id
	Provider string
	Catalog  string // names the catalog's state
	Reserve  int64  // USD millionths to reserve: the most it may cost
	Unpriced bool   // Reserve is what the operator lets be held, since the catalog does not know the price
	Server   string // alternate that serves it; "" = the model's own
	Fallback string // alternate that takes over when the model's own server certainly did not take the call; "" = none
}

// Models checks invocations against the catalog.
type Models interface {
	// Offer returns how the invocation would run, or a *Refusal: 404 for an unknown model, 403, 400 or 422 for
	// its body and options.
	Offer(ctx context.Context, inv Invocation) (Offer, error)
}

// Tiers returns the limits of accounts on the router.
type Tiers interface {
	CallLimits(ctx context.Context, account string) (Limits, error)
}

// Credits knows whether an account has credit. An account without a ledger needs none.
type Credits interface {
	Funded(ctx context.Context, account string) (bool, error)
}

// Sender sends a call from the process that accepts it, if that process also dispatches calls. The event
// call.dispatching is then recorded with the call itself, and its workflow, which starts a few milliseconds later, finds
// the exchange under way. This saves a waiting caller the time that Temporal takes to start the workflow.
type Sender interface {
	// Prepare prepares to send a call that is about to be recorded. It returns nil if this process does not dispatch
	// now; then the call's workflow sends the call.
	Prepare(ctx context.Context, r Run) (Attempt, error)
}

// Attempt is a call that is ready to be sent. Exactly one of its methods Send and Discard is called.
type Attempt interface {
	// Dispatching returns the event to record before the call is sent.
	Dispatching() DispatchingV1
	// Send sends the call. The event must have been recorded.
	Send()
	// Discard sends nothing. uncertain says that the event may have been recorded nevertheless.
	Discard(uncertain bool)
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store    Store
	Models   Models
	Tiers    Tiers
	Credits  Credits
	Blobs    blob.Store
	Notify   func([]outbox.Intent) // wakes the relay for intents that are due now
	Watch    *Watch
	Sender   Sender        // nil: calls are sent by their workflows only
	Deadline time.Duration // how long a caller's connection waits for the answer; default 10 minutes
	Log      *slog.Logger
	Now      func() time.Time // default time.Now
}

// Service accepts model calls and hands out their answers. Every method is scoped to the account it
// is given; every error it returns is shown as RefusalOf says.
type Service struct{ Deps }

// answerWait is how long a connection is held by default (router contract: ten minutes).
const answerWait = 10 * time.Minute

// NewService returns the service over its dependencies.
func NewService(deps Deps) *Service {
	if deps.Deadline <= 0 {
		deps.Deadline = answerWait
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Service{Deps: deps}
}
