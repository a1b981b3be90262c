package sim

import (
	"bytes"
	"net/http"
)

func runwareError(status int, code, message string) reply {
	return fail(status, map[string]any{"errors": []any{map[string]any{"code": code, "message": message, "taskType": "imageInference"}}})
}

var runwareRefusals = refusals{
	faultPolicy:  runwareError(http.StatusBadRequest, "contentModeration", "The prompt was flagged by moderation."),
	faultInvalid: runwareError(http.StatusBadRequest, "invalidWidth", "Invalid value for 'width' parameter."),
	faultBusy:    runwareError(http.StatusTooManyRequests, "rateLimitExceeded", "Too many requests."),
	faultUnpaid:  runwareError(http.StatusPaymentRequired, "insufficientCredits", "Insufficient credits."),
	faultError:   runwareError(http.StatusInternalServerError, "internalServerError", "An internal error occurred."),
	faultDown:    runwareError(http.StatusServiceUnavailable, "serviceUnavailable", "Service unavailable."),
}

var runwareCredential = credential{header: "Authorization", scheme: "Bearer ", refusal: func() any {
	return map[string]any{"errors": []any{map[string]any{
		"code": "invalidApiKey", "message": "Invalid API key.", "parameter": "apiKey",
		"taskType": "authentication",
	}}}
}}

func (s *Server) runwareRoutes() {
	s.handle("POST /runware/v1", runwareCredential, func(e *exchange) reply {
		if !bytes.HasPrefix(bytes.TrimSpace(e.raw), []byte("[")) {
			return runwareError(http.StatusBadRequest, "invalidRequest", "The body must be an array of tasks.")
		}
		if e.text("taskType") == "getResponse" {
			return refusals{faultDown: runwareRefusals[faultDown]}.or(runwareResponse)(e)
		}
		return runwareRefusals.or(runwareSubmit)(e)
	})
}

// runwareSubmit takes a task. Its id should be the sender's; here it is the ticket, as everywhere, since nothing else
// is kept of it.
func runwareSubmit(e *exchange) reply {
	if e.text("taskUUID") == "" || e.text("deliveryMethod") != "async" {
		return runwareError(http.StatusBadRequest, "missingTaskUUID", "A task needs its taskUUID.")
	}
	t := e.submit("")
	return reply{status: http.StatusOK, charged: true, json: map[string]any{
		"data": []any{map[string]any{"taskType": "imageInference", "taskUUID": t.id()}},
	}}
}

func runwareResponse(e *exchange) reply {
	t, found := e.ticket()
	task := map[string]any{"taskType": "imageInference", "taskUUID": t.id(), "status": "processing"}
	switch {
	case !found:
		return runwareError(http.StatusBadRequest, "taskNotFound", "The task is not known.")
	case !t.finished(e.now):
	case t.Fault == faultPolicy:
		return ok(map[string]any{"data": []any{}, "errors": []any{runwareFailure(t, "contentModeration",
			"The result was flagged by moderation.")}})
	case t.Fault != "":
		return ok(map[string]any{"data": []any{}, "errors": []any{runwareFailure(t, "providerError", "The generation failed.")}})
	default:
		task["status"], task["imageUUID"], task["imageURL"], task["seed"], task["cost"] = "success", t.Seed, e.file(t.Seed, "png"), 42, 0.0006
	}
	return ok(map[string]any{"data": []any{task}})
}

func runwareFailure(t ticket, code, message string) map[string]any {
	return map[string]any{"code": code, "message": message, "status": "error", "taskType": "imageInference", "taskUUID": t.id()}
}
