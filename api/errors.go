package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Codes that this package itself gives to failures, beside those of the contracts.
const (
	codeTooLarge = "body_too_large"
	codeMethod   = "method_not_allowed"
	codeNowhere  = "not_found" // no route has the path

	codeMediaType   = "unsupported_media_type"
	codeInvalidBody = "invalid_body" // it ended early, or came too slowly
)

// generic is what a client reads about a failure that is our own.
const generic = "An internal error occurred."

// surface selects the envelope and the status table of an answer.
type surface uint8

const (
	surfaceCloud  surface = iota // {code, message}
	surfacePrompt                // {error:{type,message,details,extra_info}, node_errors}
	surfaceV2                    // {error:{code,message,details}}
	surfaceAssets                // as v2; what is wrong with a request is 422 there
)

// surfaceOf returns the surface a path belongs to, also where no route is.
func surfaceOf(path string) surface {
	switch {
	case strings.HasPrefix(path, "/api/v2/assets"):
		return surfaceAssets
	case path == "/api/v2" || strings.HasPrefix(path, "/api/v2/"):
		return surfaceV2
	case path == "/prompt" || path == "/api/prompt":
		return surfacePrompt
	default:
		return surfaceCloud
	}
}

// fail answers with err in the surface's envelope and logs what is our own fault.
func (s *server) fail(c *gin.Context, err error) {
	err = classify(err)
	if isRouter(c.Request.URL.Path) {
		s.failRouter(c, err)
		return
	}
	where := surfaceOf(c.Request.URL.Path)
	status, code := verdict(where, err)
	level := slog.LevelDebug
	if status >= http.StatusInternalServerError && fault.KindOf(err) != fault.Canceled && !operatorsWill(code) {
		level = slog.LevelError
	}
	s.log.Log(c.Request.Context(), level, "request failed", "request_id", requestID(c), "method", c.Request.Method,
		"path", c.Request.URL.Path, "status", status, "code", code, "error", err)
	if c.Writer.Written() {
		c.Abort()
		return
	}
	setErrorHeaders(c, status, err)
	c.AbortWithStatusJSON(status, envelope(where, status, code, err))
}

// operatorsWill reports a refusal that an operator asked for (package queue): nothing to be alarmed about.
func operatorsWill(code string) bool { return code == gate.CodeDraining || code == gate.CodeStopped }

// classify gives the failures of net/http their kind. A connection of ours that broke, to the database or to a bucket,
// has its kind already and looks the same inside.
func classify(err error) error {
	var tooBig *http.MaxBytesError
	var known *fault.Error
	var broken unreadable
	switch {
	case errors.As(err, &tooBig):
		return fault.Wrap(err, fault.Exhausted, codeTooLarge, "the request body is larger than %d bytes", tooBig.Limit)
	case fault.CodeOf(err) == "disk_full", fault.CodeOf(err) == "storage_full":
		return fault.Wrap(err, fault.Unavailable, "", "there is no space left to store this")
	case errors.As(err, &known) && known.Kind != fault.Invalid:
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.Wrap(err, fault.Invalid, codeInvalidBody, "the request body came too slowly")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Wrap(err, fault.Invalid, codeInvalidBody, "the request body ended early")
	case errors.As(err, &broken):
		return fault.Wrap(err, fault.Invalid, codeInvalidBody, "the request body is not framed as its headers announce")
	default:
		return err
	}
}

func setErrorHeaders(c *gin.Context, status int, err error) {
	var f *fault.Error
	if errors.As(err, &f) && f.RetryAfter > 0 {
		seconds := int(math.Ceil(f.RetryAfter.Seconds()))
		c.Header("Retry-After", strconv.Itoa(seconds))
	}
	if status == http.StatusUnauthorized {
		c.Header("WWW-Authenticate", "Bearer")
	}
	c.Header("Cache-Control", "no-store")
}

// verdict returns the status of err on a surface and the code its body shows.
func verdict(where surface, err error) (status int, code string) {
	kind, code := fault.KindOf(err), fault.CodeOf(err)
	switch where {
	case surfaceV2:
		return v2Verdict(kind, code)
	case surfaceAssets:
		return assetsVerdict(kind, code)
	case surfacePrompt, surfaceCloud:
		return cloudVerdict(kind, code)
	}
	return http.StatusInternalServerError, code
}

// v2Verdict is the table of the v2 contract (asset contract, Errors; v2 facts,
// section 7): a code always travels with its own status, else the kind decides.
func v2Verdict(kind fault.Kind, code string) (int, string) {
	switch code {
	case "invalid_workflow", "workflow_format_ui", "missing_asset", "idempotency_key_reuse",
		"metadata_invalid", "metadata_not_supported", "deployment_stopped", "invalid_body":
		return http.StatusUnprocessableEntity, code
	case "hash_mismatch", "asset_in_use", "webhook_exists", "webhook_disabled", "webhook_limit":
		return http.StatusConflict, code
	case "blob_not_found", "job_not_found", "asset_not_found", "output_unavailable":
		return http.StatusNotFound, code
	case "queue_full", "deployment_not_ready", "too_many_streams", "rate_limited", "subscription_inactive":
		return http.StatusTooManyRequests, code
	case "insufficient_credits":
		return http.StatusPaymentRequired, code
	case account.CodeStorage:
		return http.StatusForbidden, code
	case "invalid_cursor", "invalid_metadata_filter", "invalid_request":
		return http.StatusBadRequest, code
	case "not_implemented":
		return http.StatusNotImplemented, code
	case "range_not_satisfiable":
		return http.StatusRequestedRangeNotSatisfiable, code
	case codeTooLarge:
		return http.StatusRequestEntityTooLarge, "invalid_body"
	case codeMethod:
		return http.StatusMethodNotAllowed, code
	}
	return v2Kind(kind)
}

func v2Kind(kind fault.Kind) (int, string) {
	switch kind {
	case fault.Invalid:
		return http.StatusBadRequest, "invalid_request"
	case fault.NotFound:
		return http.StatusNotFound, "not_found"
	case fault.Conflict:
		return http.StatusConflict, "conflict"
	case fault.Exhausted:
		return http.StatusTooManyRequests, "rate_limited"
	case fault.Unavailable, fault.Canceled:
		return http.StatusServiceUnavailable, "upstream_unreachable"
	case fault.Unauthenticated:
		return http.StatusUnauthorized, "unauthorized"
	case fault.Denied:
		return http.StatusForbidden, "forbidden"
	case fault.Internal:
	}
	return http.StatusInternalServerError, "upstream_error"
}

// assetsVerdict is v2's table where the asset contract differs: what is wrong
// with a value is 422, and every failure of ours is 500.
func assetsVerdict(kind fault.Kind, code string) (int, string) {
	status, code := v2Verdict(kind, code)
	switch {
	case status == http.StatusBadRequest && code != "invalid_cursor":
		return http.StatusUnprocessableEntity, code
	case status == http.StatusServiceUnavailable:
		return http.StatusInternalServerError, "upstream_error"
	}
	return status, code
}

// cloudVerdict is the table of the cloud contract (Errors; W-05).
func cloudVerdict(kind fault.Kind, code string) (int, string) {
	switch code {
	case "insufficient_credits":
		return http.StatusPaymentRequired, code
	case codeTooLarge:
		return http.StatusRequestEntityTooLarge, code
	case codeMethod:
		return http.StatusMethodNotAllowed, code
	case codeMediaType:
		return http.StatusUnsupportedMediaType, code
	case "asset_in_use", "asset_id_taken", "hash_mismatch":
		return http.StatusConflict, code
	case "range_not_satisfiable":
		return http.StatusRequestedRangeNotSatisfiable, code
	}
	status, fallback := cloudKind(kind)
	if code == "" || status == http.StatusInternalServerError {
		code = fallback
	}
	return status, code
}

func cloudKind(kind fault.Kind) (int, string) {
	switch kind {
	case fault.Invalid, fault.Conflict:
		return http.StatusBadRequest, "invalid_request"
	case fault.NotFound:
		return http.StatusNotFound, "not_found"
	case fault.Exhausted:
		return http.StatusTooManyRequests, "rate_limited"
	case fault.Unavailable, fault.Canceled:
		return http.StatusServiceUnavailable, "unavailable"
	case fault.Unauthenticated:
		return http.StatusUnauthorized, "unauthorized"
	case fault.Denied:
		return http.StatusForbidden, "forbidden"
	case fault.Internal:
	}
	return http.StatusInternalServerError, "internal_error"
}

type v2Envelope struct {
	Error v2Error `json:"error"`
}

type v2Error struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

type cloudEnvelope struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type promptEnvelope struct {
	Error      promptError      `json:"error"`
	NodeErrors graph.NodeErrors `json:"node_errors"`
}

type promptError struct {
	Type      string         `json:"type"`
	Message   string         `json:"message"`
	Details   string         `json:"details"`
	ExtraInfo map[string]any `json:"extra_info"`
}

func envelope(where surface, status int, code string, err error) any {
	if where == surfacePrompt {
		return promptRefusal(status, code, err)
	}
	message, details := publicText(status, err)
	if where == surfaceCloud {
		return cloudEnvelope{Code: code, Message: message}
	}
	return v2Envelope{Error: v2Error{Code: code, Message: message, Details: v2Details(err, details)}}
}

// publicText returns what a client may read of err. Only a classified error that
// is not our own fault speaks for itself.
func publicText(status int, err error) (string, map[string]any) {
	var f *fault.Error
	if !errors.As(err, &f) || status == http.StatusInternalServerError {
		if status == http.StatusServiceUnavailable || errors.Is(err, context.Canceled) {
			return "The service is temporarily unavailable.", nil
		}
		return generic, nil
	}
	return f.Message, f.Details
}

// retryLater marks a refusal as worth repeating after d.
func retryLater(d time.Duration, code, message string) error {
	return fault.New(fault.Exhausted, code, "%s", message).WithRetryAfter(d)
}
