// Package httperr maps errors to HTTP: the status, the headers and the body for the client of each surface. It
// promises that the answer to an internal failure does not show the cause, and that each code has the status of its
// contract. No other package translates a fault.Kind to a status, except package router, whose contract has its own
// error types.
package httperr

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

// generic is the message of an internal failure.
const generic = "An internal error occurred."

// Surface selects the envelope and the status table of an answer.
type Surface uint8

const (
	Cloud  Surface = iota // {code, message}
	Prompt                // {error:{type,message,details,extra_info}, node_errors}
	V2                    // {error:{code,message,details}}
	Assets                // as V2, except that an invalid request is 422
	Admin                 // the envelope of v2; every code is shown
)

// SurfaceOf returns the surface of a path, even if no route has the path.
func SurfaceOf(path string) Surface {
	switch {
	case strings.HasPrefix(path, "/api/v2/assets"):
		return Assets
	case path == "/api/v2" || strings.HasPrefix(path, "/api/v2/") && path != "/api/v2/userdata": // the exception belongs to the editor
		return V2
	case path == "/prompt" || path == "/api/prompt":
		return Prompt
	default:
		return Cloud
	}
}

// RefusedByOperator reports whether a code means that an operator drained or stopped the deployment.
func RefusedByOperator(code fault.Code) bool {
	return code == fault.CodeDeploymentNotReady || code == fault.CodeDeploymentStopped
}

// Classify gives the failures of net/http a kind. A failed connection of this service, to the database or to a
// bucket, looks the same inside but has a kind already.
func Classify(err error) error {
	var tooBig *http.MaxBytesError
	var known *fault.Error
	var broken *BodyError
	switch {
	case errors.As(err, &tooBig):
		return fault.Wrap(err, fault.Exhausted, fault.CodeBodyTooLarge, "the request body is larger than %d bytes", tooBig.Limit)
	case fault.CodeOf(err) == fault.CodeDiskFull, fault.CodeOf(err) == fault.CodeStorageFull:
		return fault.Wrap(err, fault.Unavailable, "", "there is no space left to store this")
	case errors.As(err, &known) && known.Kind != fault.Invalid:
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidBody, "the request body came too slowly")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidBody, "the request body ended early")
	case errors.As(err, &broken):
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidBody,
			"the request body does not match its headers Content-Length and Transfer-Encoding")
	default:
		return err
	}
}

// SetHeaders sets the headers of an answer for err.
func SetHeaders(h http.Header, status int, err error) {
	var f *fault.Error
	if errors.As(err, &f) && f.RetryAfter > 0 {
		seconds := int(math.Ceil(f.RetryAfter.Seconds()))
		h.Set("Retry-After", strconv.Itoa(seconds))
	}
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	h.Set("Cache-Control", "no-store")
}

// Verdict returns the status of err on a surface and the code in its body.
func Verdict(where Surface, err error) (status int, code fault.Code) {
	kind, code := fault.KindOf(err), fault.CodeOf(err)
	switch where {
	case V2:
		return V2Verdict(kind, code)
	case Assets:
		return assetsVerdict(kind, code)
	case Admin:
		return adminVerdict(kind, code)
	case Prompt, Cloud:
		return cloudVerdict(kind, code)
	}
	return http.StatusInternalServerError, code
}

// V2Verdict is the table of the v2 contract. A code has its own status; without one, the kind decides.
func V2Verdict(kind fault.Kind, code fault.Code) (int, fault.Code) {
	switch code {
	case fault.CodeInvalidWorkflow, fault.CodeWorkflowFormatUI, fault.CodeMissingAsset, fault.CodeIdempotencyKeyReuse,
		fault.CodeMetadataInvalid, fault.CodeMetadataNotSupported, fault.CodeInvalidInput, fault.CodeDeploymentStopped, fault.CodeInvalidBody,
		fault.CodeUnknownLabel:
		return http.StatusUnprocessableEntity, code
	case fault.CodeHashMismatch, fault.CodeAssetInUse, fault.CodeWebhookExists, fault.CodeWebhookDisabled, fault.CodeWebhookLimit:
		return http.StatusConflict, code
	case fault.CodeBlobNotFound, fault.CodeOutputUnavailable, fault.CodeDeploymentNotFound:
		return http.StatusNotFound, code
	case fault.CodeQueueFull, fault.CodeDeploymentNotReady, fault.CodeTooManyStreams, fault.CodeRateLimited:
		return http.StatusTooManyRequests, code
	case fault.CodeInsufficientCredits:
		return http.StatusPaymentRequired, code
	case fault.CodeStorageQuotaExceeded, fault.CodeLabelNotAllowed,
		fault.CodeSubscriptionInactive: // waiting does not help against the last one
		return http.StatusForbidden, code
	case fault.CodeInvalidCursor, fault.CodeInvalidMetadataFilter, fault.CodeInvalidRequest:
		return http.StatusBadRequest, code
	case fault.CodeNotImplemented:
		return http.StatusNotImplemented, code
	case fault.CodeRangeNotSatisfiable:
		return http.StatusRequestedRangeNotSatisfiable, code
	case fault.CodeBodyTooLarge:
		return http.StatusRequestEntityTooLarge, fault.CodeInvalidBody
	case fault.CodeMethodNotAllowed:
		return http.StatusMethodNotAllowed, code
	}
	return v2Kind(kind)
}

func v2Kind(kind fault.Kind) (int, fault.Code) {
	switch kind {
	case fault.Invalid:
		return http.StatusBadRequest, fault.CodeInvalidRequest
	case fault.NotFound:
		return http.StatusNotFound, fault.CodeNotFound
	case fault.Conflict:
		return http.StatusConflict, fault.CodeConflict
	case fault.Exhausted:
		return http.StatusTooManyRequests, fault.CodeRateLimited
	case fault.Unavailable, fault.Canceled:
		return http.StatusServiceUnavailable, fault.CodeUpstreamUnreachable
	case fault.Unauthenticated:
		return http.StatusUnauthorized, fault.CodeUnauthorized
	case fault.Denied:
		return http.StatusForbidden, fault.CodeForbidden
	case fault.Internal:
	}
	return http.StatusInternalServerError, fault.CodeUpstreamError
}

// assetsVerdict is the v2 table with the differences of the asset contract: an invalid value is 422, and every
// internal failure is 500.
func assetsVerdict(kind fault.Kind, code fault.Code) (int, fault.Code) {
	status, code := V2Verdict(kind, code)
	switch {
	case status == http.StatusBadRequest && code != fault.CodeInvalidCursor:
		return http.StatusUnprocessableEntity, code
	case status == http.StatusServiceUnavailable:
		return http.StatusInternalServerError, fault.CodeUpstreamError
	}
	return status, code
}

// adminVerdict is the table of the admin API: the kind decides, and operators read every code but that of an internal failure.
func adminVerdict(kind fault.Kind, code fault.Code) (int, fault.Code) {
	status, _ := v2Kind(kind)
	switch {
	case status == http.StatusInternalServerError:
		return status, fault.CodeInternalError
	case code == fault.CodeInvalidServer:
		return http.StatusUnprocessableEntity, code
	case code == "":
		return status, fault.CodeInvalidRequest
	}
	return status, code
}

// cloudVerdict is the table of the cloud contract.
func cloudVerdict(kind fault.Kind, code fault.Code) (int, fault.Code) {
	switch code {
	case fault.CodeInsufficientCredits:
		return http.StatusPaymentRequired, code
	case fault.CodeBodyTooLarge:
		return http.StatusRequestEntityTooLarge, code
	case fault.CodeMethodNotAllowed:
		return http.StatusMethodNotAllowed, code
	case fault.CodeUnsupportedMediaType:
		return http.StatusUnsupportedMediaType, code
	case fault.CodeAssetInUse, fault.CodeAssetIDTaken, fault.CodeHashMismatch:
		return http.StatusConflict, code
	case fault.CodeRangeNotSatisfiable:
		return http.StatusRequestedRangeNotSatisfiable, code
	}
	status, fallback := cloudKind(kind)
	if code == "" || status == http.StatusInternalServerError {
		code = fallback
	}
	return status, code
}

func cloudKind(kind fault.Kind) (int, fault.Code) {
	switch kind {
	case fault.Invalid, fault.Conflict:
		return http.StatusBadRequest, fault.CodeInvalidRequest
	case fault.NotFound:
		return http.StatusNotFound, fault.CodeNotFound
	case fault.Exhausted:
		return http.StatusTooManyRequests, fault.CodeRateLimited
	case fault.Unavailable, fault.Canceled:
		return http.StatusServiceUnavailable, fault.CodeUnavailable
	case fault.Unauthenticated:
		return http.StatusUnauthorized, fault.CodeUnauthorized
	case fault.Denied:
		return http.StatusForbidden, fault.CodeForbidden
	case fault.Internal:
	}
	return http.StatusInternalServerError, fault.CodeInternalError
}

// V2Envelope is the body of a failure on the v2 surface.
type V2Envelope struct {
	Error V2Error `json:"error"`
}

// V2Error is the error inside a V2Envelope.
type V2Error struct {
	Code    fault.Code     `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// CloudEnvelope is the body of a failure on the cloud surface.
type CloudEnvelope struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// PromptEnvelope is the body of a failure of POST /prompt.
type PromptEnvelope struct {
	Error      PromptError      `json:"error"`
	NodeErrors graph.NodeErrors `json:"node_errors"`
}

// PromptError is the error inside a PromptEnvelope.
type PromptError struct {
	Type      string         `json:"type"`
	Message   string         `json:"message"`
	Details   string         `json:"details"`
	ExtraInfo map[string]any `json:"extra_info"`
}

// Envelope returns the body of an answer for err on a surface.
func Envelope(where Surface, status int, code fault.Code, err error) any {
	if where == Prompt {
		return promptRefusal(status, code, err)
	}
	message, details := PublicText(status, err)
	if where == Cloud {
		return CloudEnvelope{Code: code, Message: message}
	}
	return V2Envelope{Error: V2Error{Code: code, Message: message, Details: v2Details(err, details)}}
}

// PublicText returns the text of err that a client may read. Only a classified error that is not an internal failure
// has a public text of its own.
func PublicText(status int, err error) (string, map[string]any) {
	var f *fault.Error
	if !errors.As(err, &f) || status == http.StatusInternalServerError {
		if status == http.StatusServiceUnavailable || errors.Is(err, context.Canceled) {
			return "The service is temporarily unavailable.", nil
		}
		return generic, nil
	}
	return f.Message, f.Details
}

// RetryLater returns a refusal that the client should repeat after d.
func RetryLater(d time.Duration, code fault.Code, message string) error {
	return fault.New(fault.Exhausted, code, "%s", message).WithRetryAfter(d)
}

// Invalidf returns the refusal of a request that breaks a rule of its contract.
func Invalidf(format string, args ...any) error {
	return fault.New(fault.Invalid, fault.CodeInvalidRequest, format, args...)
}

// NoSuchPath is the error of a request whose path no route has.
func NoSuchPath() error {
	return fault.New(fault.NotFound, fault.CodeNotFound, "there is nothing at this path")
}

// MethodNotAllowed is the error of a request whose path has only routes for other methods.
func MethodNotAllowed(method string) error {
	return fault.New(fault.Invalid, fault.CodeMethodNotAllowed, "this path does not have the method %s", method)
}

// TooLarge is the error of a request whose body is larger than limit bytes.
func TooLarge(limit int64) error {
	return fault.New(fault.Exhausted, fault.CodeBodyTooLarge, "the request body is larger than %d bytes", limit)
}

// BodyError is a failure to read the body of a request. It distinguishes failures of the client's connection and
// framing from failures of the service's own connections, which look the same inside.
type BodyError struct{ Err error }

// Error implements error.
func (e *BodyError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *BodyError) Unwrap() error { return e.Err }

// NoPrompt refuses a submission without a graph, with the message of the self-hosted runtime.
func NoPrompt() error {
	const text = "No prompt provided"
	return &graph.PromptError{Type: "no_prompt", Message: text, Details: text}
}

// BadPromptID refuses a submission whose prompt_id is not a UUID.
func BadPromptID() error {
	return &graph.PromptError{
		Type: "invalid_prompt_id", Message: "prompt_id must be a valid UUID",
		Details: "prompt_id must be a UUID in canonical form: lower-case hexadecimal digits in groups of 8-4-4-4-12",
	}
}

// promptRefusal renders err for the prompt surface: errors of graph validation keep their type and message, other
// errors have their code.
func promptRefusal(status int, code fault.Code, err error) PromptEnvelope {
	var refused *graph.PromptError
	if errors.As(err, &refused) {
		return PromptEnvelope{
			Error: PromptError{
				Type: refused.Type, Message: refused.Message, Details: refused.Details, ExtraInfo: orEmpty(refused.ExtraInfo),
			},
			NodeErrors: refused.NodeErrors,
		}
	}
	message, details := PublicText(status, err)
	return PromptEnvelope{Error: PromptError{Type: string(code), Message: message, ExtraInfo: orEmpty(details)}}
}

// orEmpty returns m, or an empty map if m is nil, so that it marshals as {} and not as null.
func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// v2Details returns the details of err on the v2 surface: node_errors for a graph that
// validation refused.
func v2Details(err error, public map[string]any) map[string]any {
	var refused *graph.PromptError
	if !errors.As(err, &refused) {
		return public
	}
	byNode := refused.NodeErrors.ByField()
	if node, ok := refused.ExtraInfo["node_id"].(string); ok && len(byNode) == 0 {
		// The cloud surface reports an unknown class as an error of the whole prompt.
		byNode[node] = []graph.FieldError{{Field: "class_type", Reason: refused.Message}}
	}
	return map[string]any{"node_errors": byNode}
}
