package call

import (
	"context"
	"log/slog"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Invocation is one request to run a model, after authentication.
type Invocation struct {
	Account     string
	Access      account.Access // models that the account may use
	RequestID   string         // lower-case UUID made by the server; it becomes the call's id
	Key         string         // Idempotency-Key, 1 to 255 characters, or ""
	Method      string
	Target      string // path and query as sent; part of the fingerprint
	Model       string // "<provider>/<model>"
	API         Version
	Options     Options
	Catalog     string  // version of the catalog for which the body was made; "" = the current one
	For         *JobRun // the run of a job whose node waits for the call, or nil
	BaseURL     string  // base URL that the caller used, without a trailing slash; links to copied assets begin with it
	ContentType string
	Body        []byte // bounded by the caller
	OnStored    func() // called once Body is stored and no longer needed; may be nil
}

// Offer describes how one call of a model will run.
type Offer struct {
	Model    string // canonical id
	Provider string
	Catalog  string // version of the catalog
	Reserve  int64  // USD millionths to reserve: the maximum cost
	Unpriced bool   // the catalog has no price; Reserve is the operator's ceiling
	Server   string // alternate server; "" = the model's own server
	Fallback string // fallback server, used if the model's own server certainly did not process the call; "" = none
}

// Models checks invocations against the catalog.
type Models interface {
	// Offer returns how the invocation would run, or a *Refusal: 404 for an unknown model; 403, 400 or 422 for the
	// access, options or body.
	Offer(ctx context.Context, inv Invocation) (Offer, error)
}

// Tiers returns the limits of accounts on the router.
type Tiers interface {
	// CallLimits returns an account's limits, with what it may do and whether it can pay, as they are now.
	CallLimits(ctx context.Context, account string) (Limits, error)
	// CallBounds returns the limits that the configuration sets, without reading the account: they decide when a
	// call that was accepted may run, and how often its client may poll.
	CallBounds(account string) Limits
}

// Sender sends a call from the process that accepts it, if that process also dispatches calls. The event
// call.dispatching is then recorded with the call itself, and its workflow, which starts later, finds the exchange over or
// under way. This saves a waiting caller the time that Temporal takes to start the workflow.
type Sender interface {
	// Prepare prepares to send a call that is about to be recorded. It returns nil if this process does not dispatch
	// now; then the call's workflow sends the call.
	Prepare(ctx context.Context, r Run) (Attempt, error)
}

// Attempt is a call that is ready to be sent. Exactly one of its methods Send and Discard is called.
type Attempt interface {
	// Dispatching returns the event to record before the call is sent.
	Dispatching() DispatchingV1
	// Send sends the call. The event must have been recorded. over is called when the outcome of the exchange is
	// recorded, or the exchange takes long.
	Send(over func())
	// Discard gives the attempt up without sending. uncertain means that the event may have been recorded
	// nevertheless.
	Discard(uncertain bool)
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store    Store
	Models   Models
	Tiers    Tiers
	Blobs    blob.Store
	Notify   func([]outbox.Intent) // wakes the relay for intents that are due now
	Gate     *load.Gate            // of requests to run a model; nil = they never wait
	Watch    *Watch
	Sender   Sender        // nil = only workflows send calls
	Deadline time.Duration // how long a caller's connection waits for the answer; default 10 minutes
	Log      *slog.Logger
	Now      func() time.Time // default time.Now
}

// NewGate returns the gate of the model calls of a process. A call that has ended is answered before its workflow starts, so
// calls can end faster than Temporal starts workflows. While 256 workflows are to start, new calls wait. Whoever would wait for
// more than about two seconds is refused: a call takes a slot twice, to be recorded and until its workflow starts, and Wait counts
// the average of both. While no workflow starts, because Temporal is away, nobody waits: a process that sends calls answers them
// without it.
func NewGate() *load.Gate {
	return load.New(load.Options{
		What: "calls", Slots: 256, Few: 64, Many: 512, Wait: time.Second, Longest: 5 * time.Second, Stall: 2 * time.Second,
	})
}

// Service accepts model calls and returns their answers. Every method is limited to the given account; RefusalOf
// converts every returned error for clients.
type Service struct{ Deps }

// defaultDeadline is the default time for which a connection waits (router contract: ten minutes).
const defaultDeadline = 10 * time.Minute

// NewService returns the service over its dependencies.
func NewService(deps Deps) *Service {
	if deps.Deadline <= 0 {
		deps.Deadline = defaultDeadline
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Service{Deps: deps}
}
