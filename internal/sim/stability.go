package sim

import (
	"net/http"
	"strings"
)

func stabilityError(status int, name, message string) reply {
	return fail(status, map[string]any{"id": "simulated", "name": name, "errors": []any{message}})
}

var stabilityRefusals = refusals{
	faultPolicy:  stabilityError(http.StatusForbidden, "content_moderation", "Your request was flagged by our content moderation system."),
	faultInvalid: stabilityError(http.StatusBadRequest, "bad_request", "aspect_ratio: must be one of 1:1, 16:9"),
	faultBusy:    stabilityError(http.StatusTooManyRequests, "rate_limit_exceeded", "You have exceeded the rate limit of 150 requests."),
	faultUnpaid:  stabilityError(http.StatusPaymentRequired, "payment_required", "You lack sufficient credits to make this request."),
	faultError:   stabilityError(http.StatusInternalServerError, "internal_error", "An unexpected server error has occurred."),
}

func (s *Server) stabilityRoutes() {
	s.handle("POST /stability/v2beta/stable-image/generate/{model}", bearer, stabilityRefusals.or(stabilityImage))
}

// stabilityImage takes a form, as the real one does, and answers with the picture's bytes.
func stabilityImage(e *exchange) reply {
	if !strings.HasPrefix(e.Header.Get("Content-Type"), "multipart/form-data") {
		return stabilityError(http.StatusBadRequest, "bad_request", "content-type: must be multipart/form-data")
	}
	if e.text("prompt") == "" {
		return stabilityError(http.StatusBadRequest, "bad_request", "prompt: cannot be blank")
	}
	reason := "SUCCESS"
	if e.scenario.Late == faultPolicy { // the picture was made, and is blurred
		reason = "CONTENT_FILTERED"
	}
	return reply{
		status: http.StatusOK, bytes: picture(seedOf([]byte(e.text("prompt")))), contentType: "image/png", charged: true,
		headers: map[string]string{"Finish-Reason": reason, "Seed": "42", "X-Request-Id": "simulated"},
	}
}
