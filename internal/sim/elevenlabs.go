package sim

import "net/http"

func elevenError(status int, name, message string) reply {
	return fail(status, map[string]any{"detail": map[string]any{"status": name, "message": message}})
}

var elevenRefusals = refusals{
	faultPolicy: elevenError(http.StatusBadRequest, "content_against_policy",
		"The content you are trying to use was deemed to violate our terms of service."),
	faultInvalid: elevenError(http.StatusBadRequest, "invalid_duration", "The duration is not supported."),
	faultValidation: fail(http.StatusUnprocessableEntity, map[string]any{"detail": []any{map[string]any{
		"type": "missing", "loc": []any{"body", "text"}, "msg": "Field required", "input": map[string]any{},
	}}}),
	faultBusy:   elevenError(http.StatusTooManyRequests, "too_many_concurrent_requests", "Too many concurrent requests."),
	faultUnpaid: elevenError(http.StatusUnauthorized, "quota_exceeded", "This request exceeds your quota."),
	faultError:  elevenError(http.StatusInternalServerError, "internal_error", "An internal error occurred."),
}

func (s *Server) elevenLabsRoutes() {
	key := headerKey("xi-api-key")
	for _, path := range []string{"/v1/sound-generation", "/v1/text-to-dialogue", "/v1/music"} {
		s.handle("POST /elevenlabs"+path, key, elevenRefusals.or(elevenAudio))
	}
}

func elevenAudio(e *exchange) reply {
	// An MP3 frame header, so that the type is right, and bytes from the input.
	audio := append([]byte{0xff, 0xfb, 0x90, 0x64}, tone(seedOf(e.raw), e.scenario.Size)...)
	return reply{
		status: http.StatusOK, bytes: audio, contentType: "audio/mpeg", charged: true,
		headers: map[string]string{"Request-Id": "simulated", "Character-Cost": "12"},
	}
}
