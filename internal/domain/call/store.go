package call

import (
	"context"
	"errors"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Retention is how long an idempotency key lives from its first claim, and an answer from its end
// (router contract).
const Retention = 24 * time.Hour

// ErrKeyTaken reports an idempotency key that belongs to another call.
var ErrKeyTaken = errors.New("the idempotency key is taken")

// Limits are an account's limits on model calls.
type Limits struct {
	Enabled  bool           // false = the account may not use the router
	Lapsed   bool           // the subscription is not active: new calls are refused, finished ones can be collected
	Unfunded bool           // the account is metered and has no credit left
	Access   account.Access // permitted models
	Steps    []Step         // calls in flight by lifetime spend, lowest spend first
	Ceiling  int64          // USD millionths reserved for calls in flight; 0 = no ceiling
	Windows  []Window       // rate limits; empty = not limited
	Backlog  int            // calls that may wait
	QueueFor time.Duration
}

// Step is the number of calls that may be in flight from a lifetime spend upwards.
type Step struct {
	Spent      int64 // USD millionths; the step applies from this amount on
	Concurrent int
}

// Window is a rate limit: a number of calls in each period.
type Window struct {
	Name   string // shown in the refusal: "minute"
	Length time.Duration
	Calls  int
}

// costlyDivisor divides the limit of calls in flight to give the limit for costly models.
const costlyDivisor = 4

// CostlyFrom is the price at which a model counts as costly: five US dollars.
const CostlyFrom = 5_000_000

// Concurrent returns how many calls may be in flight after a lifetime spend, and how many of them may be of costly
// models. Zero means that the account may not make calls.
func (l Limits) Concurrent(spent int64) (all, costly int) {
	for _, step := range l.Steps {
		if spent >= step.Spent {
			all = step.Concurrent
		}
	}
	if all == 0 {
		return 0, 0
	}
	return all, max(1, all/costlyDivisor)
}

// Run names one run of a call's workflow. It is the payload of a start intent.
type Run struct {
	Call    ID      `json:"call"`
	Account string  `json:"account"`
	Run     int     `json:"run"`
	Model   string  `json:"model"`
	Request Body    `json:"request"`
	Held    int64   `json:"held_micros"`
	Version int64   `json:"version"` // of the stream when the run was made
	For     *JobRun `json:"for,omitempty"`
	Catalog string  `json:"catalog,omitempty"` // version of the catalog that the call was accepted with
	Route
}

// JobRun names the run of the job whose node waits for a call. When that run ends, the call is canceled.
type JobRun struct {
	Job string `json:"job"`
	Run int    `json:"run"`
}

// Route is the server that a call is sent to. The zero value is the model's own server.
type Route struct {
	Server   string `json:"server,omitempty"`   // alternate; "" = the model's own
	Strict   bool   `json:"strict,omitempty"`   // body and answer have the alternate's form and are passed on unchanged
	Fallback string `json:"fallback,omitempty"` // alternate that takes over if Server certainly did not process the call
}

// NewCall is a validated call to record.
type NewCall struct {
	ID          ID
	Account     string
	Key         string // "" = none
	Fingerprint blob.Ref
	Accepted    AcceptedV1
	For         *JobRun // set: the call of a node
	Costly      bool
	Limits      Limits
	Sending     *DispatchingV1 // set: this process sends the call as soon as it is recorded
}

// firstRun is the number of a call's first run.
const firstRun = 1

// Run returns the call's first run. version is the version of its stream at the start of the run.
func (n NewCall) Run(version int64) Run {
	return Run{
		Call: n.ID, Account: n.Account, Run: firstRun, Model: n.Accepted.Model, Request: n.Accepted.Request, Held: n.Accepted.Held,
		Version: version,
		For:     n.For, Catalog: n.Accepted.Catalog,
		Route: Route{Server: n.Accepted.Server, Strict: n.Accepted.Options.Strict && n.Accepted.Server != "", Fallback: n.Accepted.Fallback},
	}
}

// Admission is the result of Accept.
type Admission struct {
	Call    Call
	Ahead   int64 // waiting calls of the account before this one
	Spend   *Spend
	Intents []outbox.Intent // that start the call: to deliver now; they are in the outbox too
}

// KeyRecord is a claimed idempotency key.
type KeyRecord struct {
	Call        ID
	Fingerprint blob.Ref
	Delivered   bool // the caller received all of an answer that cannot be replayed

	DeliveredAgo time.Duration // since when Delivered holds
}

// ReservationEnd says what happens to the credit reserved for a call that ends.
type ReservationEnd uint8

// The ways to end a reservation.
const (
	Settle       ReservationEnd = iota // the charged amount is spent, the rest is released
	KeepReserved                       // the outcome is unknown: the reservation is kept for reconciliation
)

// Ending is the end of a call.
type Ending struct {
	Run
	Before      []eventlog.Event // events to append with the end, such as the answer
	Type        string
	Data        any
	Charged     int64 // USD millionths
	Reservation ReservationEnd
	ReleaseKey  bool // the provider certainly did not process the call: the key may be used again
	Keep        []Body
	Limits      Limits
	Actor       string
	Reason      string
	RequestID   string // of the API request, "" if there was none
}

// Ended is the result of End.
type Ended struct {
	Applied  bool                // false: the call had ended already
	Recorded []eventlog.Recorded // what was appended
}

// Store runs the transactions on calls. Every method acts on calls of the given account only.
type Store interface {
	// Accept claims the key, checks the limits, reserves the credit and records the call, all in one
	// transaction. It returns ErrKeyTaken, a *Refusal of a limit, or a fault.
	Accept(ctx context.Context, n NewCall) (Admission, error)
	// Key returns the record of a key, false if the key is free.
	Key(ctx context.Context, account, key string) (KeyRecord, bool, error)
	// Load folds a call from the log. An unknown call, or another account's, is NotFound.
	Load(ctx context.Context, account string, id ID) (Call, error)
	// Note records an event that does not end the call. A call that has ended is Conflict (ErrClosed).
	Note(ctx context.Context, account string, id ID, e eventlog.Event) error
	// Cancel ends a waiting call. For a call in flight it records the request. It returns false for a call that has ended.
	Cancel(ctx context.Context, account string, id ID, requestID string) (active bool, err error)
	// OfJob returns the calls in flight that nodes of that run wait for.
	OfJob(ctx context.Context, account string, of JobRun) ([]ID, error)
	// Ahead returns the number of waiting calls of the account before the given one.
	Ahead(ctx context.Context, account string, id ID) (int64, error)
	// Count counts a poll against the account's rate limits. It returns a *Refusal if one is exceeded.
	Count(ctx context.Context, account string, windows []Window) error
	// Deliver records for the key of a call that the caller received the answer.
	Deliver(ctx context.Context, account string, id ID) error
}
