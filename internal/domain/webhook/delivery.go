package webhook

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// State is how far a delivery has come.
type State string

// The states of deliveries.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Dead      State = "dead" // given up; replayable
)

// States lists them.
func States() []State { return []State{Pending, Delivered, Dead} }

// Delivery is one message to one endpoint. Its id is the webhook-id of every attempt.
type Delivery struct {
	ID        uuid.UUID
	Account   string
	Webhook   ID
	Kind      Kind
	Subject   string // stream that it is about: those of one subject are delivered in order
	Body      []byte
	State     State
	Attempts  int // since the last replay
	Replays   int
	CreatedAt time.Time
	DueAt     time.Time // of the next attempt, while pending
	EndedAt   *time.Time
	Tries     []Try // the latest, oldest first
}

// Try is one attempt, without anything that the endpoint said but its status.
type Try struct {
	At     time.Time `json:"at"`
	Status int       `json:"status,omitempty"` // 0: there was no answer
	Error  Problem   `json:"error,omitempty"`  // "" = delivered
	Millis int64     `json:"millis"`
}

// Problem says why an attempt did not deliver.
type Problem string

// The problems of attempts.
const (
	Refused     Problem = "status"              // the answer was not 2xx
	Redirected  Problem = "redirect"            // it was 3xx, which is not followed
	TimedOut    Problem = "timeout"             // no answer in time
	NotAllowed  Problem = "address_not_allowed" // the name leads to an address that is not public
	NoName      Problem = "name_not_found"      // the name has no address
	BadTLS      Problem = "tls"                 // the certificate is not good, or it is not TLS
	Unreachable Problem = "unreachable"         // no connection, or it broke
	Lost        Problem = "lost"                // the process that tried went away every time
	Unreadable  Problem = "unreadable"          // its address does not open with the secret keys that we have
	Off         Problem = "disabled"            // the endpoint was disabled meanwhile
)

// MostTries bounds the attempts that a delivery remembers.
const MostTries = 10

// Claimed is a delivery that is ours to attempt until its lease ends.
type Claimed struct {
	Delivery
	Lease    uuid.UUID
	Sealed   []byte // the endpoint's place
	Disabled bool
}

// Share bounds what is attempted at once, so that nobody takes all of it.
type Share struct {
	Total, Account, Endpoint int
}

// Outcome is how an attempt ended.
type Outcome struct {
	State State         // Pending: attempt it again after Retry
	Retry time.Duration // from now
	Try   Try
}

// Queue keeps deliveries until they are made.
type Queue interface {
	// Claim leases due deliveries to the caller: at most free, the most of each account and endpoint over
	// all processes as share says, and of one subject and endpoint only the oldest. Each counts as an attempt.
	Claim(ctx context.Context, free int, share Share, lease time.Duration) ([]Claimed, error)
	// Finish records how an attempt ended, unless its lease is another's by now; a success always counts.
	// It returns for how long every attempt at the endpoint has failed, 0 after a success.
	Finish(ctx context.Context, c Claimed, o Outcome) (failing time.Duration, err error)
	// GiveBack makes a delivery due again whose attempt was broken off, as if it had not been tried.
	GiveBack(ctx context.Context, c Claimed) error
	// Prune forgets what ended before the retention, and what belongs to no endpoint, in portions. more says
	// that there is another.
	Prune(ctx context.Context, retention time.Duration) (more bool, err error)
}

// Query selects deliveries, newest first. Zero fields select all.
type Query struct {
	Account string
	Webhook ID
	State   State
	Before  int64 // cursor of the page before
	Limit   int
}

// Page is one page of deliveries.
type Page struct {
	Deliveries []Delivery
	Next       int64 // cursor of the next page; 0 = there is none
}
