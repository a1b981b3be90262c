package sim

import (
	"bytes"
	"net/http"
)

// The sim/* models: one of each protocol, in a format of their own.

func echoError(kind, message string) map[string]any {
	return map[string]any{"error": map[string]any{"type": kind, "message": message}}
}

var echoRefusals = refusals{
	faultPolicy:  fail(http.StatusBadRequest, echoError("policy", "This prompt is against the simulator's policy.")),
	faultInvalid: fail(http.StatusBadRequest, echoError("invalid", "The simulator does not like this input.")),
	faultValidation: fail(http.StatusUnprocessableEntity, map[string]any{"detail": []any{map[string]any{
		"loc": []any{"body", "prompt"}, "msg": "The picture is too small", "type": "image_too_small",
		"ctx": map[string]any{"min_width": 64}, "input": "tiny",
	}}}),
	faultError:  fail(http.StatusInternalServerError, echoError("internal", "The simulator failed as asked.")),
	faultUnpaid: fail(http.StatusPaymentRequired, echoError("unpaid", "No money left.")),
	faultBusy: {
		status: http.StatusTooManyRequests, json: echoError("busy", "Too many calls."),
		headers: map[string]string{"Retry-After": "1"},
	},
	faultDown: fail(http.StatusServiceUnavailable, echoError("down", "Closed for now.")),
}

func (s *Server) echoRoutes() {
	s.handle("POST /sim/echo", noCredential, echoRefusals.or(echo))
	s.handle("POST /sim/open", noCredential, echoRefusals.or(echo))
	s.handle("POST /runware/mirror", noCredential, echoRefusals.or(mirror))
	s.handle("POST /sim/speech", noCredential, echoRefusals.or(speech))
	s.handle("POST /sim/generations", noCredential, echoRefusals.or(generate))
	s.handle("GET /sim/generations/{id}", noCredential, generation)
	s.handle("DELETE /sim/generations/{id}", noCredential, stopGeneration)
}

// echo answers with the input as it came, byte for byte.
func echo(e *exchange) reply {
	var out bytes.Buffer
	out.WriteString(`{"id":"` + seedOf(e.raw) + `","model":"echo","input":`)
	out.Write(e.raw)
	out.WriteString("}\n")
	return reply{status: http.StatusOK, bytes: out.Bytes(), contentType: "application/json", charged: true}
}

// mirror is echo on another server.
func mirror(e *exchange) reply {
	return reply{status: http.StatusOK, json: map[string]any{"task": seedOf(e.raw), "said": e.body}, charged: true}
}

// speech answers with bytes of a WAV file.
func speech(e *exchange) reply {
	return reply{status: http.StatusOK, bytes: tone(seedOf(e.raw), e.scenario.Size), contentType: "audio/wav", charged: true}
}

func generate(e *exchange) reply {
	kind := "image"
	if e.text("kind") == "video" {
		kind = "video"
	}
	return reply{status: http.StatusAccepted, json: map[string]any{"id": e.submit(kind).id(), "status": "queued"}, charged: true}
}

func stopGeneration(e *exchange) reply {
	if !e.cancel() {
		return fail(http.StatusConflict, echoError("finished", "There is no such generation under way."))
	}
	return ok(map[string]any{"cancelled": true})
}

func generation(e *exchange) reply {
	t, found := e.ticket()
	switch {
	case !found:
		return fail(http.StatusNotFound, echoError("unknown", "No such generation."))
	case e.canceled(t):
		return ok(map[string]any{"id": t.id(), "status": "cancelled"})
	case !t.finished(e.now):
		return ok(map[string]any{"id": t.id(), "status": "running"})
	case t.Fault == faultPolicy:
		return ok(map[string]any{
			"id": t.id(), "status": "refused",
			"error": map[string]any{"type": "policy", "message": "The result is against the simulator's policy."},
		})
	case t.Fault == faultLost:
		return ok(map[string]any{
			"id": t.id(), "status": "done",
			"result": map[string]any{"url": e.file(t.Seed, "gone"), "kind": t.Extra, "seed": t.Seed},
		})
	case t.Fault != "":
		return ok(map[string]any{
			"id": t.id(), "status": "failed",
			"error": map[string]any{"type": "internal", "message": "The generation failed as asked."},
		})
	}
	ext := map[string]string{"image": "png", "video": "mp4"}[t.Extra]
	return ok(map[string]any{
		"id": t.id(), "status": "done",
		"result": map[string]any{"url": e.file(t.Seed, ext), "kind": t.Extra, "seed": t.Seed},
	})
}
