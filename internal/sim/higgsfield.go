package sim

import "net/http"

func higgsError(status int, detail string) reply {
	return fail(status, map[string]any{"detail": detail})
}

var higgsRefusals = refusals{
	faultInvalid: higgsError(http.StatusBadRequest, "resolution is not supported"),
	faultValidation: fail(http.StatusUnprocessableEntity, map[string]any{"detail": []any{map[string]any{
		"type": "missing", "loc": []any{"body", "prompt"}, "msg": "Field required", "input": map[string]any{},
	}}}),
	faultBusy:   higgsError(http.StatusTooManyRequests, "Too many requests"),
	faultUnpaid: higgsError(http.StatusForbidden, "Not enough credits"),
	faultError:  higgsError(http.StatusInternalServerError, "Internal Server Error"),
	faultDown:   higgsError(http.StatusServiceUnavailable, "Model is temporarily unavailable"),
}

var higgsCredential = credential{header: "Authorization", scheme: "Key ", refusal: func() any {
	return map[string]any{"detail": "Invalid credentials"}
}}

func (s *Server) higgsfieldRoutes() {
	s.handle("POST /higgsfield/higgsfield-ai/soul/v2/standard", higgsCredential, higgsRefusals.or(higgsSubmit))
	s.handle("GET /higgsfield/requests/{id}/status", higgsCredential, refusals{faultDown: higgsRefusals[faultDown]}.or(higgsStatus))
	s.handle("POST /higgsfield/requests/{id}/cancel", higgsCredential, func(e *exchange) reply {
		if !e.cancel() {
			return higgsError(http.StatusBadRequest, "Request can not be canceled")
		}
		return reply{status: http.StatusAccepted, contentType: "application/json"}
	})
}

func higgsSubmit(e *exchange) reply {
	t := e.submit("")
	if e.scenario.Fault == faultPolicy { // found while it runs
		t.Fault = faultPolicy
	}
	e.callback(e.URL.Query().Get("hf_webhook"), t, higgsStatus, nil)
	return reply{status: http.StatusOK, json: higgsRequest(e, t, "queued"), charged: true}
}

func higgsStatus(e *exchange) reply {
	t, found := e.ticket()
	switch {
	case !found:
		return higgsError(http.StatusNotFound, "Request not found")
	case e.canceled(t):
		return ok(higgsRequest(e, t, "canceled"))
	case !t.finished(e.now):
		return ok(higgsRequest(e, t, "in_progress"))
	case t.Fault == faultPolicy:
		return ok(higgsRequest(e, t, "nsfw"))
	case t.Fault != "":
		document := higgsRequest(e, t, "failed")
		document["error"] = "Generation failed"
		return ok(document)
	}
	return ok(higgsCompleted(e, t))
}

func higgsRequest(e *exchange, t ticket, status string) map[string]any {
	self := e.base() + "/higgsfield/requests/" + t.id()
	return map[string]any{"status": status, "request_id": t.id(), "status_url": self + "/status", "cancel_url": self + "/cancel"}
}

func higgsCompleted(e *exchange, t ticket) map[string]any {
	document := higgsRequest(e, t, "completed")
	document["images"] = []any{map[string]any{"url": e.file(t.Seed, "png")}}
	return document
}
