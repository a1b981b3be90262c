package sim

import (
	"net/http"
	"strings"
)

// waveEnvelope is the envelope of every answer of WaveSpeedAI.
func waveEnvelope(code int, message string, data any) map[string]any {
	return map[string]any{"code": code, "message": message, "data": data}
}

func waveError(status int, message string) reply {
	return fail(status, waveEnvelope(status, message, nil))
}

var waveRefusals = refusals{
	faultInvalid: waveError(http.StatusBadRequest, "size is not supported"),
	faultBusy:    waveError(http.StatusTooManyRequests, "Too many requests"),
	faultUnpaid:  waveError(http.StatusForbidden, "Insufficient credits. Please top up to continue."),
	faultError:   waveError(http.StatusInternalServerError, "Internal server error"),
	faultDown:    waveError(http.StatusServiceUnavailable, "Service unavailable"),
}

var waveCredential = credential{header: "Authorization", scheme: "Bearer ", refusal: func() any {
	return waveEnvelope(http.StatusUnauthorized, "invalid authentication", nil)
}}

func (s *Server) wavespeedRoutes() {
	for _, model := range []string{"flux-schnell", "seedvr2/image", "ultimate-image-upscaler", "flashvsr"} {
		s.handle("POST /wavespeed/api/v3/wavespeed-ai/"+model, waveCredential, waveRefusals.or(waveSubmit))
	}
	s.handle("GET /wavespeed/api/v3/predictions/{id}/result", waveCredential, refusals{faultDown: waveRefusals[faultDown]}.or(waveResult))
}

func waveSubmit(e *exchange) reply {
	t := e.submit(strings.TrimPrefix(e.URL.Path, "/wavespeed/api/v3/"))
	if e.scenario.Fault == faultPolicy { // found while it runs
		t.Fault = faultPolicy
	}
	e.callback(e.URL.Query().Get("webhook"), t, waveResult, ofData)
	data := wavePrediction(e, t, "created")
	return reply{status: http.StatusOK, json: waveEnvelope(http.StatusOK, "success", data), charged: true}
}

func waveResult(e *exchange) reply {
	t, found := e.ticket()
	if !found {
		return waveError(http.StatusNotFound, "task not found")
	}
	data := wavePrediction(e, t, "processing")
	switch {
	case !t.finished(e.now):
	case t.Fault == faultPolicy:
		data["status"], data["error"] = "failed", "Content flagged as potentially sensitive. Please try different prompts."
	case t.Fault != "":
		data["status"], data["error"] = "failed", "The generation failed."
	default:
		data = waveCompleted(e, t)
	}
	return ok(waveEnvelope(http.StatusOK, "success", data))
}

func wavePrediction(e *exchange, t ticket, status string) map[string]any {
	return map[string]any{
		"id": t.id(), "model": t.Extra, "status": status, "outputs": []any{}, "error": "", "has_nsfw_contents": []any{},
		"urls":       map[string]any{"get": e.base() + "/wavespeed/api/v3/predictions/" + t.id() + "/result"},
		"timings":    map[string]any{"inference": 0},
		"created_at": "2026-11-01T12:00:00Z",
	}
}

func waveCompleted(e *exchange, t ticket) map[string]any {
	data := wavePrediction(e, t, "completed")
	extension := "png"
	if t.Extra == "wavespeed-ai/flashvsr" {
		extension = "mp4"
	}
	data["outputs"], data["has_nsfw_contents"] = []any{e.file(t.Seed, extension)}, []any{false}
	data["timings"] = map[string]any{"inference": 812}
	return data
}
