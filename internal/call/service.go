package call

import (
	"context"
	"io"

	"github.com/millrace-dev/millrace/internal/blob"
)

// Invocation is one request to run a model, after authentication.
type Invocation struct {
	Account     string
	RequestID   string // lower-case UUID made by the server; it becomes the call's id
	Key         string // Idempotency-Key, 1 to 255 characters; "" = none
	Method      string
	Target      string // path and query as sent; part of the fingerprint
	Model       string // "<provider>/<model>"
	API         Version
	Options     Options
	ContentType string
	Body        []byte // bounded by the caller
}

// Result is a model's answer, ready to be sent.
type Result struct {
	Call        ID
	Status      int
	ContentType string
	Size        int64
	Replayed    bool   // answered from an idempotency record
	Spend       *Spend // nil unless a spend ceiling applies to the account
	Charged     *int64 // USD millionths; nil = not known
	Fallback    string // provider that served it instead, or ""
	Dropped     []string

	ref       blob.Ref
	blobs     blob.Store
	delivered func(context.Context) error
}

// Open returns the answer's bytes. Reads are verified against their hash.
func (r *Result) Open(ctx context.Context) (io.ReadSeekCloser, error) {
	return r.blobs.Open(ctx, r.ref)
}

// Delivered records that the caller has all of the answer. An answer that cannot be replayed stays
// collectable by its key until then. Call it after the last byte was written.
func (r *Result) Delivered(ctx context.Context) error {
	if r.delivered == nil {
		return nil
	}
	return r.delivered(ctx)
}

// Enqueued is an accepted call of the queued delivery.
type Enqueued struct {
	Call     ID
	Position int64 // calls of the account ahead of it
	Replayed bool
}

// Progress is where a call of the queued delivery stands.
type Progress struct {
	Call       ID
	Status     string // IN_QUEUE, IN_PROGRESS or COMPLETED
	Position   *int64 // calls ahead of it, while IN_QUEUE
	ErrorType  string // of a call that is COMPLETED without an answer
	RetryAfter int    // seconds, at least 1
}

// The statuses of the queued delivery.
const (
	InQueue    = "IN_QUEUE"
	InProgress = "IN_PROGRESS"
	Completed  = "COMPLETED"
)
