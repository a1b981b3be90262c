package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// Poll requests the status of a submitted generation once. If the generation is finished, Poll writes the result to
// sink and the outcome is Answered. Errors wrap ErrNotSent or ErrUnknown and mean only that this request was not
// answered: poll again. The caller bounds the time of all polls by Limits.Total.
func (c *Client) Poll(ctx context.Context, m *catalog.Model, handle string, sink io.Writer) (Outcome, error) {
	scope := catalog.Scope{Handle: handle, Settings: c.settings(m)}
	a, err := c.exchange(ctx, m, message{endpoint: m.Poll, scope: scope, repeatable: true})
	if err != nil {
		return endUnreachable(err)
	}
	defer a.close()
	if !a.ok() {
		return c.pollRefused(m, a), nil
	}
	kept := &spool{sink: sink}
	if m.Result.URL.Set() {
		kept.sink = errTooLong{}
	}
	document, err := a.document(kept)
	if err != nil {
		return c.pollUnreadable(m, a, kept, err)
	}
	scope = a.scope(scope, document)
	switch {
	case m.Done.Holds(scope) && m.Result.URL.Set():
		return c.result(ctx, m, scope, sink)
	case m.Done.Holds(scope):
		return finished(a, kept, document)
	case m.Failed.Holds(scope):
		out := c.refused(m, a, scope, kept)
		out.Failure.Retryable = false // a generation that has ended is not polled again
		return out, nil
	default:
		return Outcome{Phase: Pending, Status: a.status, PollAfter: max(m.Limits.PollEvery, a.retryAfter), Document: document}, nil
	}
}

// endUnreachable ends a generation whose status address can never be requested, which would otherwise be polled for ever. It
// returns any other error.
func endUnreachable(err error) (Outcome, error) {
	if errors.Is(err, errForeignHost) || errors.Is(err, errUserInfo) || errors.Is(err, errNoAddress) {
		return unreadableStatus(err), nil
	}
	return Outcome{}, err
}

// unreadableStatus returns the failure of a generation on which the provider works but whose status cannot be read. It is
// unknown whether it is charged.
func unreadableStatus(cause error) Outcome {
	failure := failureOf("provider_error", catalog.ChargesUnknown)
	failure.Detail, failure.Cause = "The provider returned an address for the result that must not be used.", cause.Error()
	return Outcome{Phase: Failed, Failure: failure}
}

// errTooLong is returned by the sink of a status answer, which is never passed on.
type errTooLong struct{}

// Write implements io.Writer.
func (errTooLong) Write([]byte) (int, error) {
	return 0, fmt.Errorf("a status answer has more than %d bytes", maxBuffered)
}

func finished(a *response, kept *spool, document any) (Outcome, error) {
	if err := kept.flush(); err != nil {
		return Outcome{}, fmt.Errorf("%w: store the answer: %w", ErrUnknown, err)
	}
	return Outcome{Phase: Answered, Status: a.status, ContentType: a.contentType, Size: kept.size, Headers: a.headers, Document: document}, nil
}

// refusedPause is the time between polls of a provider that refuses the router's credential. During this time an
// operator can replace the key.
const refusedPause = 30 * time.Second

// pollRefused classifies a status answer with an error status. An error that may be transient is Pending, because the
// generation continues regardless of the status route.
func (c *Client) pollRefused(m *catalog.Model, a *response) Outcome {
	pending := Outcome{Phase: Pending, Status: a.status, PollAfter: max(m.Limits.PollEvery, a.retryAfter)}
	switch {
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		c.log.Warn("provider refused a status request", "provider", m.Provider, "model", m.ID, "status", a.status)
		pending.PollAfter = max(refusedPause, a.retryAfter)
		return pending
	case a.status == http.StatusTooManyRequests, a.status == http.StatusRequestTimeout, a.status >= 500:
		return pending
	}
	out := a.failed(c, m)
	if out.Failure.Type == "invalid_input" { // the caller did not make the status request
		out.Failure = failureOf("provider_error", catalog.ChargesUnknown)
		out.Failure.UpstreamStatus = a.status
		out.Failure.Detail = "The provider no longer has this generation."
	}
	return out
}

// pollUnreadable returns the outcome for a status answer that cannot be read: Pending, unless it is too large, which
// a repetition would not change.
func (c *Client) pollUnreadable(m *catalog.Model, a *response, kept *spool, err error) (Outcome, error) {
	passes := timedOut(a.problem) == nil || errors.Is(a.problem, outbound.ErrStalled)
	if kept.err == nil && !errors.Is(a.problem, errTooLarge) && passes {
		c.log.Warn("status answer cannot be read", "provider", m.Provider, "model", m.ID, "error", err)
		return Outcome{Phase: Pending, Status: a.status, PollAfter: m.Limits.PollEvery}, nil
	}
	return a.unreadable(kept, err)
}

// result fetches the finished document from the address of the result. The document may be an error, which is then
// the final outcome of the generation.
func (c *Client) result(ctx context.Context, m *catalog.Model, scope catalog.Scope, sink io.Writer) (Outcome, error) {
	a, err := c.exchange(ctx, m, message{endpoint: m.Result, scope: scope, repeatable: true})
	if err != nil {
		return endUnreachable(err)
	}
	defer a.close()
	switch {
	case a.status == http.StatusTooManyRequests, a.status > http.StatusInternalServerError:
		return Outcome{Phase: Pending, Status: a.status, PollAfter: max(m.Limits.PollEvery, a.retryAfter)}, nil
	case !a.ok():
		return a.failed(c, m), nil
	}
	if !a.json() {
		return a.stream(sink)
	}
	kept := &spool{sink: sink}
	document, err := a.document(kept)
	if err != nil {
		return c.pollUnreadable(m, a, kept, err)
	}
	return finished(a, kept, document)
}
