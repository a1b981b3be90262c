package call

import (
	"context"
	"io"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Result is a model's answer, ready to send to the caller.
type Result struct {
	Call        ID
	Status      int // 200
	ContentType string
	Size        int64
	Replayed    bool   // the answer repeats the result of an idempotency key
	Spend       *Spend // nil unless a spend ceiling applies to the account
	Charged     *int64 // USD millionths; nil = not known
	Served             // set if a fallback server answered, or fields were dropped

	ref       blob.Ref
	blobs     blob.Store
	delivered func(context.Context) error
}

// Open returns the answer's bytes. Reads are verified against their hash.
func (r *Result) Open(ctx context.Context) (io.ReadSeekCloser, error) {
	return r.blobs.Open(ctx, r.ref)
}

// Delivered records that the caller received the whole answer. An answer that cannot be replayed can be collected by
// its key for some more minutes. Call Delivered after the last byte was written.
func (r *Result) Delivered(ctx context.Context) error {
	if r.delivered == nil {
		return nil
	}
	return r.delivered(ctx)
}

// resultOf returns the result of an ended call, or the refusal that it ended with.
func (s *Service) resultOf(c Call, replayed bool) (*Result, error) {
	switch c.State {
	case Succeeded:
		return s.result(c, replayed), nil
	case Failed:
		r := c.Failure.refusal()
		r.Replayed = replayed
		return nil, r
	case Canceled:
		return nil, Refuse(fault.Conflict, CancelledType, "the request was cancelled")
	case Unknown:
		return nil, c.Failure.refusal().withCause(ErrOutcomeUnknown)
	case Waiting, Admitted, Dispatching, Running, Answered:
	}
	return nil, Refuse(fault.Internal, InternalError, "the router failed; the operator's log has the details")
}

func (s *Service) result(c Call, replayed bool) *Result {
	r := &Result{
		Call: c.ID, Status: 200, ContentType: c.Answer.ContentType, Size: c.Answer.Size,
		Replayed: replayed, Charged: c.Charged, Served: c.Served, ref: c.Answer.Ref, blobs: s.Blobs,
	}
	if c.Keyed && !c.Replayable {
		r.delivered = func(ctx context.Context) error { return s.Store.Deliver(ctx, c.Account, c.ID) }
	}
	return r
}
