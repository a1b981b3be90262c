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
	OnStored    func() // called once Body is stored and not needed any more; nil = nobody wants to know
}

// Offer is a model as one call of it will run.
type Offer struct {
	Model    string // canonical id
	Provider string
	Catalog  string // names the catalog's state
	Reserve  int64  // USD millionths to reserve: the most it may cost
	Server   string // alternate that serves it; "" = the model's own
	Fallback string // alternate that takes over when the model's own server certainly did not take the call; "" = none
}

// Models checks invocations against the catalog.
type Models interface {
	// Offer returns how the invocation would run, or the *Refusal that it deserves: 404 for an
	// unknown model, 403, 400 or 422 for its body and options.
	Offer(ctx context.Context, inv Invocation) (Offer, error)
}

// Tiers says what accounts may use of the router.
type Tiers interface {
	CallLimits(ctx context.Context, account string) (Limits, error)
}

// Credits tells whether an account can pay for anything at all. An account without a ledger can.
type Credits interface {
	Funded(ctx context.Context, account string) (bool, error)
}

// Sender goes on the wire from the process that accepts a call, where that is also one that dispatches.
// The event call.dispatching is then recorded with the call itself, and its workflow, which begins a few
// milliseconds later, finds the conversation under way. It saves a caller who waits the engine's time.
type Sender interface {
	// Prepare opens both ends of the wire for a call that is about to be recorded. It returns nil when this
	// process does not dispatch now: then the call's workflow sends it.
	Prepare(ctx context.Context, r Run) (Attempt, error)
}

// Attempt is a call that is ready to be sent. Exactly one of its methods Send and Discard is called.
type Attempt interface {
	// Dispatching is what is recorded before the call goes on the wire.
	Dispatching() DispatchingV1
	// Send goes on the wire; the event is recorded.
	Send()
	// Discard sends nothing. Uncertain says that the event may be recorded all the same.
	Discard(uncertain bool)
}

// Deps are what a Service stands on.
type Deps struct {
	Store    Store
	Models   Models
	Tiers    Tiers
	Credits  Credits
	Blobs    blob.Store
	Notify   func([]outbox.Intent) // wakes the relay for intents that are due now
	Watch    *Watch
	Sender   Sender        // nil: calls are sent by their workflows only
	Deadline time.Duration // how long a connection is held; default 10 minutes
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
