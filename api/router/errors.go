package router

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
)

// isRequests reports whether a path belongs to the queued delivery, which has four more error types.
func isRequests(path string) bool {
	parts := strings.Split(path, "/") // "", v2, models, provider, model, requests; or with a variant before requests
	return len(parts) > 5 && parts[1] == "v2" && (parts[5] == "requests" || len(parts) > 6 && parts[6] == "requests")
}

// routerError is the body of every error except a 422.
type routerError struct {
	Detail         string `json:"detail"`
	Type           string `json:"error_type"`
	UpstreamDetail string `json:"upstream_detail,omitempty"`
	RefusalSubject string `json:"refusal_subject,omitempty"`
}

// routerValidation is the body of a 422. Its error type is only in the header.
type routerValidation struct {
	Detail json.RawMessage `json:"detail"`
}

// bodyViolation is the body of a 422 that does not concern a single field.
type bodyViolation struct {
	Detail [1]violation `json:"detail"`
}

type violation struct {
	Loc  [1]string `json:"loc"`
	Msg  string    `json:"msg"`
	Type string    `json:"type"`
}

func bodyError(msg string) bodyViolation {
	return bodyViolation{[1]violation{{Loc: [1]string{"body"}, Msg: msg, Type: "value_error"}}}
}

// Fail implements edge.Dialect: it answers with err in the router's envelope.
func (s *Surface) Fail(c *gin.Context, err error) {
	r, status := routerRefusal(c.Request.URL.Path, err)
	level := slog.LevelDebug
	if r.Type == call.InternalError && r.UpstreamStatus == 0 {
		level = slog.LevelError
	}
	if s.Edge.LogFailure(c, level, status, r.Type, err) {
		return
	}
	setRefusalHeaders(c, r, status)
	c.Abort()
	switch {
	case len(r.Validation) > 0:
		c.PureJSON(status, routerValidation{r.Validation})
		return
	case status == http.StatusUnprocessableEntity:
		c.PureJSON(status, bodyError(r.Detail))
		return
	}
	c.PureJSON(status, routerError{Detail: r.Detail, Type: r.Type, UpstreamDetail: r.UpstreamDetail, RefusalSubject: r.RefusalSubject})
}

// routerRefusal returns err as an error of the router contract, and its status.
func routerRefusal(path string, err error) (call.Refusal, int) {
	err = httperr.Classify(err)
	r := *refusalOf(path, err)
	if !sendable(r.Type, isRequests(path)) {
		r = *call.RefusalOf(fault.New(fault.Internal, "", "error type %q at %s: %s", r.Type, path, r.Detail))
	}
	status := Status(&r)
	switch { // types that the contract does not have
	case r.Type != call.InvalidInput:
	case fault.CodeOf(err) == fault.CodeBodyTooLarge:
		status = http.StatusRequestEntityTooLarge
	case fault.CodeOf(err) == fault.CodeMethodNotAllowed:
		status = http.StatusMethodNotAllowed
	}
	if versionOf(path) == call.V1 && r.Type == call.RateLimited {
		r.Type = call.ConcurrencyLimit // v1 has no other 429
	}
	return r, status
}

// statusClientGone is logged as the status of a request whose client has left. It is not sent.
const statusClientGone = 499

// Status returns the HTTP status of a refusal. An input that the model does not accept, an expired request and a
// conflict have statuses of their own; every other status follows from the error type.
func Status(r *call.Refusal) int {
	switch {
	case len(r.Validation) > 0, r.Code == fault.CodeContents:
		return http.StatusUnprocessableEntity
	case r.Code == fault.CodeExpired:
		return http.StatusGone
	case r.Kind == fault.Conflict:
		return http.StatusConflict
	}
	switch r.Type {
	case call.InvalidInput, call.PolicyViolation:
		return http.StatusBadRequest
	case call.Unauthorized:
		return http.StatusUnauthorized
	case call.InsufficientCredits:
		return http.StatusPaymentRequired
	case call.Forbidden, call.NotEnabled:
		return http.StatusForbidden
	case call.ModelNotFound, call.RequestNotFound:
		return http.StatusNotFound
	case call.ConcurrencyLimit, call.RateLimited, call.QueueBacklogFull:
		return http.StatusTooManyRequests
	case call.ClientDisconnected:
		return statusClientGone
	case call.ProviderError:
		return http.StatusBadGateway
	case call.ServiceUnavailable:
		return http.StatusServiceUnavailable
	case call.ProviderTimeout, call.DeadlineExceeded, call.QueueTimeout:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}

// sendable reports whether a type may be sent: the contract's fifteen types everywhere, and the four types of the
// queued delivery below …/requests. Other types are sent as internal_error.
func sendable(errorType string, queued bool) bool {
	switch errorType {
	case call.InvalidInput, call.PolicyViolation, call.ProviderError, call.ProviderTimeout, call.InsufficientCredits,
		call.ModelNotFound, call.Unauthorized, call.Forbidden, call.ConcurrencyLimit, call.ClientDisconnected, call.InternalError,
		call.DeadlineExceeded, call.NotEnabled, call.ServiceUnavailable, call.RateLimited:
		return true
	case call.CancelledType, call.QueueTimeout, call.RequestNotFound, call.QueueBacklogFull:
		return queued
	}
	return false
}

// refusalOf returns the refusal for an error of this package; call.RefusalOf converts all other errors.
func refusalOf(path string, err error) *call.Refusal {
	var r *call.Refusal
	var f *fault.Error
	if errors.As(err, &r) || !errors.As(err, &f) {
		return call.RefusalOf(err)
	}
	switch f.Kind {
	case fault.Unauthenticated:
		return call.Refuse(fault.Unauthenticated, call.Unauthorized, "%s", f.Message)
	case fault.Denied:
		return call.Refuse(fault.Denied, call.Forbidden, "%s", f.Message)
	case fault.Internal, fault.Invalid, fault.NotFound, fault.Conflict, fault.Exhausted, fault.Unavailable, fault.Canceled:
	}
	switch f.Code {
	case fault.CodeBodyTooLarge:
		return call.Refuse(fault.Exhausted, call.InvalidInput, "%s", f.Message)
	case fault.CodeMethodNotAllowed:
		return call.Refuse(fault.Invalid, call.InvalidInput, "%s", f.Message)
	case fault.CodeInvalidBody, fault.CodeInvalidRequest:
		return call.Refuse(fault.Invalid, call.InvalidInput, "%s", f.Message)
	case fault.CodeNotFound:
		return noRoute(path)
	}
	return call.RefusalOf(err)
}

// noRoute is the refusal of a path without a route.
func noRoute(path string) *call.Refusal {
	if isRequests(path) {
		return call.Refuse(fault.NotFound, call.RequestNotFound, "there is nothing at this path")
	}
	return call.Refuse(fault.NotFound, call.ModelNotFound, "no model has this path")
}

func setRefusalHeaders(c *gin.Context, r call.Refusal, status int) {
	for name, value := range map[string]string{
		"X-Service-Error-Type": r.Type, "X-Comfy-Error-Type": r.Type,
		"X-Comfy-Upstream-Status": upstreamStatus(r, status), "X-Comfy-Upstream-Detail": upstreamDetail(r, status),
		"X-Comfy-Refusal-Subject": headerText(r.RefusalSubject), "Retry-After": positive(r.RetryAfter),
		"Cache-Control": "no-store",
	} {
		if value != "" {
			c.Header(name, value)
		}
	}
	if status == http.StatusUnauthorized {
		c.Header("WWW-Authenticate", "Bearer")
	}
	setReplayed(c, r.Replayed)
	setSpend(c, r.Spend)
}

// upstreamStatus returns the provider's status, for the three statuses that report it.
func upstreamStatus(r call.Refusal, status int) string {
	switch status {
	case http.StatusBadRequest, http.StatusBadGateway, http.StatusGatewayTimeout:
		return positive(r.UpstreamStatus)
	}
	return ""
}

// upstreamDetail returns the provider's message, for a 400 only.
func upstreamDetail(r call.Refusal, status int) string {
	if status != http.StatusBadRequest {
		return ""
	}
	return headerText(r.UpstreamDetail)
}

// setReplayed marks an answer that repeats the result of an idempotency key. v1 has no such header.
func setReplayed(c *gin.Context, replayed bool) {
	if replayed && versionOf(c.Request.URL.Path) == call.V2 {
		c.Header("Idempotent-Replayed", "true")
	}
}

func setSpend(c *gin.Context, spend *call.Spend) {
	if spend == nil {
		return
	}
	c.Header("X-Committed-Spend-Limit", strconv.FormatInt(spend.Limit, 10))
	c.Header("X-Committed-Spend-Current", strconv.FormatInt(spend.Current, 10))
	c.Header("X-Committed-Spend-Remaining", strconv.FormatInt(spend.Remaining, 10))
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// maxHeaderText bounds a provider's message in a header.
const maxHeaderText = 1024

// headerText converts a provider's message for a header: visible ASCII and spaces.
func headerText(text string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, text)
	return strings.TrimSpace(clean[:min(len(clean), maxHeaderText)])
}
