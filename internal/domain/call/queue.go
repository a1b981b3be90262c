package call

import (
	"context"

	"github.com/millrace-dev/millrace/internal/fault"
)

// The statuses of the queued delivery.
const (
	InQueue    = "IN_QUEUE"
	InProgress = "IN_PROGRESS"
	Completed  = "COMPLETED"
)

// Enqueued is an accepted call of the queued delivery.
type Enqueued struct {
	Call     ID
	Ahead    int64 // waiting calls of the account before it
	Replayed bool
}

// Progress is the progress of a call of the queued delivery.
type Progress struct {
	Call       ID
	Status     string // IN_QUEUE, IN_PROGRESS or COMPLETED
	Ahead      *int64 // queue_position, while IN_QUEUE
	ErrorType  string // error type of a call that is COMPLETED without an answer
	RetryAfter int    // seconds, at least 1
}

// Handle identifies a call of the queued delivery by the values that its caller sends.
type Handle struct {
	Account string
	Call    ID
	Model   string // "<provider>/<model>" to which it was sent; "" = any
}

// Enqueue accepts a call whose client polls for the answer. The call waits while the account has reached its limit of
// calls in flight. A key that was used before returns the same call.
func (s *Service) Enqueue(ctx context.Context, inv Invocation) (Enqueued, error) {
	admission, rec, err := s.record(ctx, inv, Queued)
	if err != nil {
		return Enqueued{}, err
	}
	if rec == nil {
		return Enqueued{Call: admission.Call.ID, Ahead: admission.Ahead}, nil
	}
	ahead, err := s.Store.Ahead(ctx, inv.Account, rec.Call)
	return Enqueued{Call: rec.Call, Ahead: ahead, Replayed: true}, err
}

// queued loads a call of the queued delivery: 404 if it does not exist, 410 if its answer has expired.
func (s *Service) queued(ctx context.Context, h Handle) (Call, error) {
	c, err := s.Store.Load(ctx, h.Account, h.Call)
	if fault.Is(err, fault.NotFound) || err == nil && (c.Mode != Queued || h.Model != "" && h.Model != c.Model) {
		return Call{}, Refuse(fault.NotFound, RequestNotFound, "this request does not exist")
	}
	if err != nil {
		return Call{}, err
	}
	if c.EndedAt != nil && s.Now().Sub(*c.EndedAt) >= Retention {
		return Call{}, RefuseWith(fault.NotFound, fault.CodeExpired, RequestNotFound,
			"the request ended more than 24 hours ago and its result was deleted")
	}
	return c, nil
}

// polled is queued for a poll, which counts against the account's rate limits.
func (s *Service) polled(ctx context.Context, h Handle) (Call, error) {
	if windows := s.Tiers.CallBounds(h.Account).Windows; len(windows) > 0 {
		if err := s.Store.Count(ctx, h.Account, windows); err != nil {
			return Call{}, err
		}
	}
	return s.queued(ctx, h)
}

// Status returns the progress of a queued call.
func (s *Service) Status(ctx context.Context, h Handle) (Progress, error) {
	c, err := s.polled(ctx, h)
	if err != nil {
		return Progress{}, err
	}
	return s.progress(ctx, c)
}

func (s *Service) progress(ctx context.Context, c Call) (Progress, error) {
	p := Progress{Call: c.ID, Status: InProgress, RetryAfter: 1}
	switch c.State {
	case Waiting:
		ahead, err := s.Store.Ahead(ctx, c.Account, c.ID)
		if err != nil {
			return Progress{}, err
		}
		p.Status, p.Ahead, p.RetryAfter = InQueue, &ahead, collectEvery
	case Succeeded:
		p.Status = Completed
	case Failed, Unknown:
		p.Status, p.ErrorType = Completed, c.Failure.Type
	case Canceled:
		p.Status, p.ErrorType = Completed, CancelledType
	case Admitted, Dispatching, Running, Answered:
	}
	return p, nil
}

// Result returns the answer of a queued call, or its progress while it is unfinished. If the call ended without an
// answer, Result returns its refusal.
func (s *Service) Result(ctx context.Context, h Handle) (*Result, *Progress, error) {
	c, err := s.polled(ctx, h)
	if err != nil {
		return nil, nil, err
	}
	if !c.State.Final() {
		p, err := s.progress(ctx, c)
		return nil, &p, err
	}
	if c.State == Unknown && c.Failure.Type == InternalError { // a 500 would ask the caller to try again, for ever
		return nil, nil, Refuse(fault.Conflict, InvalidInput, "the outcome of this request is unknown, and it is not sent again; send a new "+
			"request").withCause(ErrOutcomeUnknown)
	}
	res, err := s.resultOf(c, false)
	return res, nil, err
}

// Cancel requests that a queued call stop, best effort: a generation that has begun may finish and be charged. It
// returns false for a call that has ended.
func (s *Service) Cancel(ctx context.Context, h Handle, requestID string) (bool, error) {
	c, err := s.queued(ctx, h)
	if err != nil {
		return false, err
	}
	if c.State.Final() {
		return false, nil
	}
	return s.Store.Cancel(ctx, h.Account, h.Call, requestID)
}
