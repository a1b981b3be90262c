package sim

import "net/http"

func falDetail(location []any, message, kind string, input any) map[string]any {
	return map[string]any{"detail": []any{map[string]any{
		"loc": location, "msg": message, "type": kind, "url": "https://docs.fal.ai/errors#" + kind, "input": input,
	}}}
}

var falRefusals = refusals{
	faultBusy:   fail(http.StatusTooManyRequests, map[string]any{"detail": "Too many requests"}),
	faultUnpaid: fail(http.StatusForbidden, map[string]any{"detail": "User is locked. Reason: Exhausted balance."}),
	faultError:  fail(http.StatusInternalServerError, map[string]any{"detail": "Internal Server Error"}),
	faultDown:   fail(http.StatusServiceUnavailable, map[string]any{"detail": "Service Unavailable"}),
}

func (s *Server) falRoutes() {
	key := scheme("Key")
	s.handle("POST /fal/fal-ai/flux/schnell", key, falRefusals.or(falSubmit("flux")))
	s.handle("POST /fal/fal-ai/flux/dev", key, falRefusals.or(falSubmit("flux")))
	s.handle("POST /fal/fal-ai/flux-2-pro", key, falRefusals.or(falSubmit("flux-2-pro")))
	for _, app := range []string{"flux", "flux-2-pro"} {
		request := "/fal/fal-ai/" + app + "/requests/{id}"
		s.handle("GET "+request+"/status", key, refusals{faultDown: falRefusals[faultDown]}.or(falStatus(app)))
		s.handle("GET "+request, key, falResult)
		s.handle("PUT "+request+"/cancel", key, func(e *exchange) reply {
			if !e.cancel() {
				return fail(http.StatusBadRequest, map[string]any{"status": "ALREADY_COMPLETED"})
			}
			return reply{status: http.StatusAccepted, json: map[string]any{"status": "CANCELLATION_REQUESTED"}}
		})
	}
}

func falRequest(e *exchange, app string, t ticket) string {
	return e.base() + "/fal/fal-ai/" + app + "/requests/" + t.id()
}

func falSubmit(app string) handler {
	return func(e *exchange) reply {
		t := e.submit("")
		switch e.scenario.Fault { // fal finds these while it runs
		case faultPolicy, faultInvalid, faultValidation:
			t.Fault = e.scenario.Fault
		}
		if hook := e.URL.Query().Get("fal_webhook"); hook != "" {
			e.server.webhook(hook, func() any {
				return map[string]any{"request_id": t.id(), "gateway_request_id": t.id(), "status": "OK", "payload": falDocument(e, t)}
			}, e, t)
		}
		self := falRequest(e, app, t)
		return reply{status: http.StatusOK, charged: true, json: map[string]any{
			"request_id": t.id(), "status": "IN_QUEUE", "queue_position": 0, "response_url": self, "status_url": self + "/status",
			"cancel_url": self + "/cancel",
		}}
	}
}

func falStatus(app string) handler {
	return func(e *exchange) reply {
		t, found := e.ticket()
		if !found {
			return fail(http.StatusNotFound, map[string]any{"detail": "Request not found"})
		}
		document := map[string]any{"request_id": t.id(), "status": "IN_PROGRESS", "response_url": falRequest(e, app, t), "logs": nil}
		if t.finished(e.now) {
			document["status"], document["metrics"] = "COMPLETED", map[string]any{"inference_time": 0.4}
		}
		return ok(document)
	}
}

func falResult(e *exchange) reply {
	t, found := e.ticket()
	switch {
	case !found:
		return fail(http.StatusNotFound, map[string]any{"detail": "Request not found"})
	case t.Fault == faultPolicy:
		return fail(http.StatusUnprocessableEntity, falDetail([]any{"body", "prompt"},
			"The content could not be processed because it was flagged by a content checker.", "content_policy_violation", "simulated"))
	case t.Fault == faultInvalid, t.Fault == faultValidation:
		return fail(http.StatusUnprocessableEntity, falDetail([]any{"body", "image_size", "width"}, "Input should be less than or equal to 14142",
			"less_than_equal", 20000))
	case t.Fault != "":
		return fail(http.StatusInternalServerError, map[string]any{"detail": "Internal Server Error"})
	}
	return ok(falDocument(e, t))
}

func falDocument(e *exchange, t ticket) map[string]any {
	return map[string]any{
		"images":  []any{map[string]any{"url": e.file(t.Seed, "png"), "width": 1024, "height": 768, "content_type": "image/png"}},
		"timings": map[string]any{"inference": 0.4}, "seed": 42, "has_nsfw_concepts": []any{false}, "prompt": "simulated",
	}
}
