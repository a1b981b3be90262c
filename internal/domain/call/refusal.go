package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/millrace-dev/millrace/internal/fault"
)

// The error types of the router contract: fifteen of the list, detail, schema and run routes, and four of the queued
// routes only.
const (
	InvalidInput        = "invalid_input"
	PolicyViolation     = "content_policy_violation"
	ProviderError       = "provider_error"
	ProviderTimeout     = "provider_timeout"
	InsufficientCredits = "insufficient_credits"
	ModelNotFound       = "model_not_found"
	Unauthorized        = "unauthorized"
	Forbidden           = "forbidden"
	ConcurrencyLimit    = "concurrency_limit_exceeded"
	ClientDisconnected  = "client_disconnected"
	InternalError       = "internal_error"
	DeadlineExceeded    = "deadline_exceeded"
	NotEnabled          = "not_enabled"
	ServiceUnavailable  = "service_unavailable"
	RateLimited         = "rate_limited"

	CancelledType    = "cancelled"          // queued routes only
	QueueTimeout     = "queue_timeout"      // queued routes only
	RequestNotFound  = "request_not_found"  // queued routes only
	QueueBacklogFull = "queue_backlog_full" // queued routes only
)

// Spend is the committed spend of the account and its ceiling, in whole USD cents. Current excludes a call
// that is being refused. Remaining is never negative.
type Spend struct{ Limit, Current, Remaining int64 }

// Refusal is the answer to a call without a result of the model. Its kind, code and type determine the status; the
// other fields are shown to clients.
type Refusal struct {
	Kind           fault.Kind
	Code           fault.Code // more specific than kind and type, or ""
	Type           string     // error_type
	Detail         string
	Validation     json.RawMessage // the detail array of a 422, shown instead of Detail
	RetryAfter     int             // seconds, at least 1; 0 = no header
	Spend          *Spend          // set if the spend ceiling refused the call
	UpstreamStatus int             // 0 = the failure is not the provider's
	UpstreamDetail string
	RefusalSubject string
	Replayed       bool // repeats the result of an idempotency key
	cause          error
}

// Refuse returns a refusal of that kind, with that error type and public detail.
func Refuse(kind fault.Kind, errorType, format string, args ...any) *Refusal {
	return &Refusal{Kind: kind, Type: errorType, Detail: fmt.Sprintf(format, args...)}
}

// RefuseWith is Refuse with a code.
func RefuseWith(kind fault.Kind, code fault.Code, errorType, format string, args ...any) *Refusal {
	r := Refuse(kind, errorType, format, args...)
	r.Code = code
	return r
}

// Error returns the public detail followed by the cause, for logs.
func (r *Refusal) Error() string {
	if r.cause == nil {
		return r.Type + ": " + r.Detail
	}
	return r.Type + ": " + r.Detail + ": " + r.cause.Error()
}

// Unwrap returns the cause, which is not public.
func (r *Refusal) Unwrap() error { return r.cause }

// retrySoon is the Retry-After while a part of the service is unavailable. A restart takes seconds.
const retrySoon = 2

// ErrOutcomeUnknown is the cause of the refusal of a call that was sent and whose outcome is unknown.
var ErrOutcomeUnknown = errors.New("the outcome of the call is not known")

// RefusalOf returns err in the form of the contract: a refusal unchanged, 503 if a part of the service is
// unavailable, and 500 otherwise. It hides internal text.
func RefusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Canceled:
		r = Refuse(fault.Unavailable, ServiceUnavailable, "a part of the service is temporarily unavailable; send the same request again")
		r.RetryAfter = retrySoon
	case fault.Exhausted:
		r = Refuse(fault.Unavailable, ServiceUnavailable, "the service has no capacity for this call now; send the same request again")
		var full *fault.Error
		errors.As(err, &full)
		r.RetryAfter = max(retrySoon, int(math.Ceil(full.RetryAfter.Seconds())))
	case fault.Internal, fault.Invalid, fault.NotFound, fault.Conflict, fault.Unauthenticated, fault.Denied:
		r = Refuse(fault.Internal, InternalError, "the router failed; the operator's log has the details")
	}
	r.cause = err
	return r
}

// withCause sets the cause of a refusal, which is not public.
func (r *Refusal) withCause(cause error) *Refusal {
	r.cause = cause
	return r
}
