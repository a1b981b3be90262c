package sim

import (
	"net/http"
	"strings"
)

var bflRefusals = refusals{
	faultInvalid: fail(http.StatusBadRequest, map[string]any{"detail": "Invalid request parameters."}),
	faultValidation: fail(http.StatusUnprocessableEntity, map[string]any{"detail": []any{map[string]any{
		"type": "multiple_of", "loc": []any{"body", "width"}, "msg": "Input should be a multiple of 16", "input": 1000,
		"ctx": map[string]any{"multiple_of": 16},
	}}}),
	faultPolicy: {status: http.StatusOK, json: map[string]any{"id": "sim-refused", "status": "Request Moderated"}},
	faultUnpaid: fail(http.StatusPaymentRequired, map[string]any{"detail": "Insufficient credits."}),
	faultBusy:   fail(http.StatusTooManyRequests, map[string]any{"detail": "Too many active tasks."}),
	faultError:  fail(http.StatusInternalServerError, map[string]any{"detail": "Internal server error"}),
	faultDown:   fail(http.StatusServiceUnavailable, map[string]any{"detail": "Service unavailable"}),
}

func (s *Server) bflRoutes() {
	key := headerKey("x-key")
	s.handle("POST /bfl/v1/{model}", key, bflRefusals.or(bflSubmit))
	s.handle("POST /bfl/v1/flux-tools/{model}", key, bflRefusals.or(bflSubmit))
	s.handle("GET /bfl/v1/get_result", key, refusals{faultBusy: bflRefusals[faultBusy], faultDown: bflRefusals[faultDown]}.or(bflResult))
}

func bflSubmit(e *exchange) reply {
	kind := "png"
	if strings.Contains(e.PathValue("model"), "video") {
		kind = "mp4"
		if e.body["draft"] == true {
			kind = "draft"
		}
	}
	t := e.submit(kind)
	if hook := e.text("webhook_url"); hook != "" {
		e.server.webhook(hook, func() any { return bflDocument(e, t) }, e, t)
	}
	return reply{status: http.StatusOK, charged: true, json: map[string]any{
		"id": t.id(), "polling_url": e.base() + "/bfl/v1/get_result?id=" + t.id(), "cost": 3.0, "input_mp": 0.0, "output_mp": 1.05,
	}}
}

func bflResult(e *exchange) reply {
	t, found := e.ticket()
	switch {
	case !found:
		return fail(http.StatusNotFound, map[string]any{"id": e.URL.Query().Get("id"), "status": "Task not found", "result": nil})
	case !t.finished(e.now):
		return ok(map[string]any{"id": t.id(), "status": "Pending", "result": nil, "progress": 0.5, "details": nil, "preview": nil})
	case t.Fault == faultPolicy:
		return ok(map[string]any{
			"id": t.id(), "status": "Content Moderated", "result": nil,
			"details": map[string]any{"Moderation Reasons": []any{"Derivative Works Filter"}},
		})
	case t.Fault != "":
		return ok(map[string]any{"id": t.id(), "status": "Error", "result": nil, "details": map[string]any{"error": "Generation failed"}})
	}
	return ok(bflDocument(e, t))
}

func bflDocument(e *exchange, t ticket) any {
	ext := "mp4"
	if t.Extra == "png" {
		ext = "png"
	}
	result := map[string]any{
		"sample": e.file(t.Seed, ext), "prompt": "simulated", "seed": 42,
		"start_time": float64(t.Ready)/1000 - 1, "end_time": float64(t.Ready) / 1000, "duration": 1.0,
	}
	if t.Extra == "draft" {
		result["draft_cache"] = e.file(t.Seed, "bin")
	}
	return map[string]any{"id": t.id(), "status": "Ready", "result": result, "progress": 1.0, "details": nil, "preview": nil}
}
