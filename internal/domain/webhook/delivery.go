package webhook

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// State is the state of a delivery.
type State string

// The states of deliveries.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Dead      State = "dead" // no more attempts; can be replayed
)

// States returns all states.
func States() []State { return []State{Pending, Delivered, Dead} }

// Delivery is one message to one endpoint. Its id is the webhook-id of every attempt.
type Delivery struct {
	ID        uuid.UUID
	Account   string
	Webhook   ID
	Kind      Kind
	Subject   string // stream of the event; deliveries of one subject are made in order
	Body      []byte
	State     State
	Attempts  int // since the last replay
	Replays   int
	CreatedAt time.Time
	DueAt     time.Time // of the next attempt, while pending
	EndedAt   *time.Time
	Tries     []Try // the latest, oldest first
}

// Try is the record of one attempt. Of the response it keeps the status only.
type Try struct {
	At     time.Time `json:"at"`
	Status int       `json:"status,omitempty"` // 0: no response
	Error  Problem   `json:"error,omitempty"`  // "" = delivered
	Millis int64     `json:"millis"`
}

// Problem is the reason why an attempt did not deliver.
type Problem string

// The problems of attempts.
const (
	Refused     Problem = "status"              // the response was not 2xx
	Redirected  Problem = "redirect"            // the response was 3xx; redirects are not followed
	TimedOut    Problem = "timeout"             // no response in time
	NotAllowed  Problem = "address_not_allowed" // the name resolves to an address that is not public
	NoName      Problem = "name_not_found"      // the name has no address
	BadTLS      Problem = "tls"                 // the certificate is invalid, or the server does not speak TLS
	Unreachable Problem = "unreachable"         // no connection, or it broke
	Lost        Problem = "lost"                // the sending process died at every attempt
	Unreadable  Problem = "unreadable"          // no configured secret key decrypts the URL
	Off         Problem = "disabled"            // the endpoint was disabled before the delivery was made
)

// MaxTries bounds the attempts kept in a delivery.
const MaxTries = 10

// Claimed is a delivery that this process has leased, with the result of its attempt.
type Claimed struct {
	Delivery
	response
	Lease    uuid.UUID
	Sealed   []byte // the encrypted secrets of the endpoint
	Disabled bool
}

// AttemptLimits bounds concurrent attempts, so that no account or endpoint takes all of them.
type AttemptLimits struct {
	Total, Account, Endpoint int
}

// Outcome is the outcome of an attempt.
type Outcome struct {
	State State         // Pending: attempt it again after Retry
	Retry time.Duration // from now
	Try   Try
}

// Queue stores deliveries until they end.
type Queue interface {
	// Claim leases at most free due deliveries to the caller. share bounds the deliveries leased for each account
	// and endpoint over all processes. Of one subject and endpoint only the oldest is leased. Each lease counts as
	// an attempt.
	Claim(ctx context.Context, free int, share AttemptLimits, lease time.Duration) ([]*Claimed, error)
	// Finish records the outcome of an attempt. An outcome whose lease has passed to another process is ignored,
	// unless it is a success. Finish returns how long all attempts at the endpoint have failed, 0 after a success.
	Finish(ctx context.Context, c *Claimed, o Outcome) (failing time.Duration, err error)
	// GiveBack makes a delivery due again after an interrupted attempt, which does not count.
	GiveBack(ctx context.Context, c *Claimed) error
	// Prune removes one batch of deliveries that are past the retention or have no endpoint. more reports whether
	// another batch remains.
	Prune(ctx context.Context, retention time.Duration) (more bool, err error)
}

// Query selects deliveries, newest first. Zero fields select all.
type Query struct {
	Account string
	Webhook ID
	State   State
	Before  int64 // Next of the previous page
	Limit   int
}

// Page is one page of deliveries.
type Page struct {
	Deliveries []Delivery
	Next       int64 // cursor of the next page; 0 = this is the last
}
