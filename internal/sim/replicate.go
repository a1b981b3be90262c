package sim

import (
	"net/http"
	"time"
)

func replicateError(status int, title, detail string) reply {
	return fail(status, map[string]any{"title": title, "detail": detail, "status": status})
}

var replicateRefusals = refusals{
	faultInvalid: replicateError(http.StatusUnprocessableEntity, "Input validation failed", "- input: prompt is required"),
	faultBusy: {
		status:  http.StatusTooManyRequests,
		json:    map[string]any{"title": "Too many requests", "detail": "Request was throttled. Expected available in 1 second.", "status": 429},
		headers: map[string]string{"Retry-After": "1"},
	},
	faultUnpaid: replicateError(http.StatusPaymentRequired, "Insufficient credit", "You have insufficient credit to run this model."),
	faultError:  replicateError(http.StatusInternalServerError, "Internal server error", "An internal error occurred."),
	faultDown:   replicateError(http.StatusServiceUnavailable, "Unavailable", "The service is unavailable."),
}

func (s *Server) replicateRoutes() {
	s.handle("POST /replicate/v1/models/{owner}/{model}/predictions", bearer, replicateRefusals.or(replicateSubmit))
	s.handle("GET /replicate/v1/predictions/{id}", bearer, refusals{faultDown: replicateRefusals[faultDown]}.or(replicateTask))
	s.handle("POST /replicate/v1/predictions/{id}/cancel", bearer, func(e *exchange) reply {
		e.cancel() // of one that has finished, it changes nothing
		return replicateTask(e)
	})
}

func replicateSubmit(e *exchange) reply {
	t := e.submit(e.PathValue("owner") + "/" + e.PathValue("model"))
	if e.scenario.Fault == faultPolicy {
		t.Fault = faultPolicy
	}
	if hook := e.text("webhook"); hook != "" {
		e.server.webhook(hook, func() any { return replicateDocument(e, t, time.UnixMilli(t.Ready)) }, e, t)
	}
	return reply{status: http.StatusCreated, json: replicateDocument(e, t, e.now.Add(-time.Hour)), charged: true}
}

func replicateTask(e *exchange) reply {
	t, found := e.ticket()
	if !found {
		return replicateError(http.StatusNotFound, "Prediction not found", "The requested prediction does not exist.")
	}
	return ok(replicateDocument(e, t, e.now))
}

func replicateDocument(e *exchange, t ticket, now time.Time) map[string]any {
	self := e.base() + "/replicate/v1/predictions/" + t.id()
	document := map[string]any{
		"id": t.id(), "model": t.Extra, "version": "simulated", "input": map[string]any{}, "logs": "", "output": nil, "error": nil,
		"data_removed": false,
		"status":       "processing", "created_at": time.UnixMilli(t.Ready - 1000).UTC().Format(time.RFC3339Nano),
		"urls": map[string]any{"get": self, "cancel": self + "/cancel", "web": "https://replicate.com/p/" + t.id()},
	}
	switch {
	case e.canceled(t):
		document["status"] = "canceled"
	case !t.finished(now):
	case t.Fault == faultPolicy:
		document["status"], document["error"] = "failed", "NSFW content detected. Try running it again, or try a different prompt."
	case t.Fault != "":
		document["status"], document["error"] = "failed", "Prediction failed."
	default:
		document["status"], document["output"] = "succeeded", []any{e.file(t.Seed, "png")}
		document["metrics"] = map[string]any{"predict_time": 0.5, "image_count": 1}
		document["completed_at"] = time.UnixMilli(t.Ready).UTC().Format(time.RFC3339Nano)
	}
	return document
}
