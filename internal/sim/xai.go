package sim

import "net/http"

func xaiError(status int, code, message string) reply {
	return fail(status, map[string]any{"code": code, "error": message})
}

var xaiRefusals = refusals{
	faultPolicy:  xaiError(http.StatusBadRequest, "The request was rejected", "Generated image rejected by content moderation."),
	faultInvalid: xaiError(http.StatusBadRequest, "Client specified an invalid argument", "aspect_ratio is not supported"),
	faultBusy:    xaiError(http.StatusTooManyRequests, "Some resource has been exhausted", "Too many requests for team team-simulated."),
	faultError:   xaiError(http.StatusInternalServerError, "Internal error", "An internal error occurred."),
	faultDown:    xaiError(http.StatusServiceUnavailable, "The service is currently unavailable", "Try again later."),
}

func (s *Server) xaiRoutes() {
	s.handle("POST /xai/v1/images/generations", bearer, xaiRefusals.or(xaiImage))
	s.handle("POST /xai/v1/images/edits", bearer, xaiRefusals.or(xaiImage))
	for _, kind := range []string{"generations", "extensions"} {
		s.handle("POST /xai/v1/videos/"+kind, bearer, xaiRefusals.or(func(e *exchange) reply {
			return reply{status: http.StatusOK, json: map[string]any{"request_id": e.submit("").id()}, charged: true}
		}))
	}
	s.handle("GET /xai/v1/videos/{id}", bearer, refusals{faultDown: xaiRefusals[faultDown]}.or(xaiVideo))
}

func xaiImage(e *exchange) reply {
	count := 1
	if n, found := e.body["n"].(float64); found {
		count = min(max(int(n), 1), 10)
	}
	var images []any
	for i := range count {
		seed := seedOf(append(e.raw, byte(i)))
		image := map[string]any{"revised_prompt": ""}
		if e.text("response_format") == "b64_json" {
			image["b64_json"] = inline(picture(seed))
		} else {
			image["url"] = e.file(seed, "png")
		}
		images = append(images, image)
	}
	return reply{status: http.StatusOK, json: map[string]any{"data": images}, charged: true}
}

func xaiVideo(e *exchange) reply {
	t, found := e.ticket()
	switch {
	case !found:
		return xaiError(http.StatusNotFound, "Some requested entity was not found", "The request is not known.")
	case !t.finished(e.now):
		return reply{status: http.StatusAccepted, json: map[string]any{"status": "pending"}}
	case t.Fault == faultPolicy:
		return ok(map[string]any{
			"status": "done", "model": "grok-imagine-video", "usage": map[string]any{"cost_in_usd_ticks": 2500000000},
			"video": map[string]any{"url": "", "duration": 0, "respect_moderation": false},
		})
	case t.Fault != "":
		return ok(map[string]any{"status": "failed", "error": map[string]any{"code": "internal_error", "message": "The generation failed."}})
	}
	return ok(map[string]any{
		"status": "done", "model": "grok-imagine-video", "usage": map[string]any{"cost_in_usd_ticks": 2500000000},
		"video": map[string]any{"url": e.file(t.Seed, "mp4"), "duration": 5, "respect_moderation": true},
	})
}
