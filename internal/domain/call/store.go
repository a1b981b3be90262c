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

// ErrKeyTaken reports an idempotency key that another call holds.
var ErrKeyTaken = errors.New("the idempotency key is taken")

// Limits are what an account may use of the router.
type Limits struct {
	Enabled  bool           // false: the router is not switched on for the account
	Lapsed   bool           // the subscription is not active: nothing new is run, and what ran is handed out
	Access   account.Access // models that it may use
	Steps    []Step         // calls in flight by lifetime spend, lowest spend first
	Ceiling  int64          // USD millionths committed to calls in flight; 0 = no ceiling
	Windows  []Window       // allowances per time; none = not limited
	Backlog  int            // calls that may be parked
	QueueFor time.Duration
}

// Step says how many calls may be in flight once an account has spent so much in its life.
type Step struct {
	Spent      int64 // USD millionths; the step counts at this amount and above
	Concurrent int
}

// Window is an allowance: so many calls in each period of that length.
type Window struct {
	Name   string // as the refusal names it: "minute"
	Length time.Duration
	Calls  int
}

// costlyShare is the part of the limit that costly models may have at once, as a divisor.
const costlyShare = 4

// CostlyFrom is the price at which a model counts as costly: five US dollars.
const CostlyFrom = 5_000_000

// Concurrent returns how many calls may be in flight after that lifetime spend, and how many of
// them of costly models. Zero means that the account may make none at all.
func (l Limits) Concurrent(spent int64) (all, costly int) {
	for _, step := range l.Steps {
		if spent >= step.Spent {
			all = step.Concurrent
		}
	}
	if all == 0 {
		return 0, 0
	}
	return all, max(1, all/costlyShare)
}

// Run names one run of a call's workflow; it is what a start intent carries.
type Run struct {
	Call    ID      `json:"call"`
	Account string  `json:"account"`
	Run     int     `json:"run"`
	Model   string  `json:"model"`
	Request Body    `json:"request"`
	Held    int64   `json:"held_micros"`
	Version int64   `json:"version"` // of the stream when the run was made
	For     *JobRun `json:"for,omitempty"`
	Catalog string  `json:"catalog,omitempty"` // names the catalog's state that the call was accepted with
	Route
}

// JobRun names the run of a job one of whose nodes waits for a call: when that run ends, the call is of
// no use to anybody.
type JobRun struct {
	Job string `json:"job"`
	Run int    `json:"run"`
}

// Route says which server of the model a call goes to. The zero value is the model's own.
type Route struct {
	Server   string `json:"server,omitempty"`   // alternate; "" = the model's own
	Strict   bool   `json:"strict,omitempty"`   // body and answer are the alternate's, and pass as they are
	Fallback string `json:"fallback,omitempty"` // alternate that takes over when Server certainly did nothing
}

// NewCall is a validated call as the Store records it.
type NewCall struct {
	ID          ID
	Account     string
	Key         string // "" = none
	Fingerprint blob.Ref
	Fact        AcceptedV1
	For         *JobRun // set: the call of a node
	Costly      bool
	Limits      Limits
	Sending     *DispatchingV1 // set: this process goes on the wire as soon as the call is recorded
}

// firstRun numbers the run that a call begins with.
const firstRun = 1

// Run returns the call's first run; version is that of its stream as it begins.
func (n NewCall) Run(version int64) Run {
	return Run{
		Call: n.ID, Account: n.Account, Run: firstRun, Model: n.Fact.Model, Request: n.Fact.Request, Held: n.Fact.Held, Version: version,
		For: n.For, Catalog: n.Fact.Catalog,
		Route: Route{Server: n.Fact.Server, Strict: n.Fact.Options.Strict && n.Fact.Server != "", Fallback: n.Fact.Fallback},
	}
}

// Admission is what the Store decided.
type Admission struct {
	Call    Call
	Ahead   int64 // parked calls of the account before this one
	Spend   *Spend
	Intents []outbox.Intent // to carry out now; also in the outbox
}

// KeyRecord is a claimed idempotency key.
type KeyRecord struct {
	Call        ID
	Fingerprint blob.Ref
	Delivered   bool // the caller has all of an answer that cannot be replayed
}

// HoldEnd says what becomes of the credit held for a call that ends.
type HoldEnd uint8

// What a hold ends as.
const (
	Settle   HoldEnd = iota // the charged amount is spent, the rest is free again
	KeepHold                // the outcome is unknown: kept for reconciliation
)

// Ending is the end of a call.
type Ending struct {
	Run
	Before     []eventlog.Event // events that come with the end, such as the answer
	Type       string
	Fact       any
	Charged    int64 // USD millionths
	Hold       HoldEnd
	ReleaseKey bool // the call certainly did nothing: the same key may be used again
	Keep       []Body
	Limits     Limits
	Actor      string
	Reason     string
	RequestID  string // that asked for it; "" = none did
}

// Ended is the outcome of an ending.
type Ended struct {
	Applied bool // false: the call had ended before
	Intents []outbox.Intent
}

// Cancellation is the outcome of a cancel request.
type Cancellation struct {
	Active  bool // the call had not ended
	Intents []outbox.Intent
}

// Store carries out the transactions of calls. Every method is scoped to the account it is given.
type Store interface {
	// Accept claims the key, passes the gates, holds the credit and records the call, all or
	// nothing. It returns ErrKeyTaken, a *Refusal of a gate, or a fault.
	Accept(ctx context.Context, n NewCall) (Admission, error)
	// Key returns what a key was claimed for; false when nobody holds it.
	Key(ctx context.Context, account, key string) (KeyRecord, bool, error)
	// Load folds a call from the log. Another account's and an unknown one are NotFound.
	Load(ctx context.Context, account string, id ID) (Call, error)
	// Note records an event that does not end the call. A call that has ended is Conflict (ErrClosed).
	Note(ctx context.Context, account string, id ID, e eventlog.Event) error
	// Cancel ends a parked call, and records the request for one under way.
	Cancel(ctx context.Context, account string, id ID, requestID string) (Cancellation, error)
	// OfJob returns the calls in flight that nodes of that run wait for.
	OfJob(ctx context.Context, account string, of JobRun) ([]ID, error)
	// Ahead returns how many parked calls of the account come before that one.
	Ahead(ctx context.Context, account string, id ID) (int64, error)
	// Count counts a poll against the account's allowances; a *Refusal when one is used up.
	Count(ctx context.Context, account string, windows []Window) error
	// Deliver records that an answer reached its caller, for the key of that call.
	Deliver(ctx context.Context, account string, id ID) error
}
