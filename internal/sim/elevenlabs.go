package sim

import (
	"bytes"
	"net/http"
)

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
	for _, path := range []string{"/v1/sound-generation", "/v1/text-to-dialogue", "/v1/music", "/v1/audio-isolation"} {
		s.handle("POST /elevenlabs"+path, key, elevenRefusals.or(elevenAudio))
	}
	s.handle("POST /elevenlabs/v1/speech-to-text", key, elevenRefusals.or(elevenText))
}

func elevenAudio(e *exchange) reply {
	// A second of silent MP3 frames; the last bytes of a frame, which decoders ignore, come from the input.
	frame := append([]byte{0xff, 0xfb, 0x90, 0x64}, make([]byte, 413)...)
	copy(frame[len(frame)-8:], seedOf(e.raw))
	audio := bytes.Repeat(frame, max(38, e.scenario.Size/len(frame)+1))
	return reply{
		status: http.StatusOK, bytes: audio, contentType: "audio/mpeg", charged: true,
		headers: map[string]string{"Request-Id": "simulated", "Character-Cost": "12"},
	}
}

func elevenText(*exchange) reply {
	word := func(kind, text string, start, end float64) map[string]any {
		return map[string]any{"text": text, "type": kind, "start": start, "end": end}
	}
	return reply{status: http.StatusOK, charged: true, json: map[string]any{
		"language_code": "eng", "language_probability": 0.98, "text": "Simulated text.",
		"words": []any{word("word", "Simulated", 0, 0.6), word("spacing", " ", 0.6, 0.7), word("word", "text.", 0.7, 1.2)},
	}}
}
