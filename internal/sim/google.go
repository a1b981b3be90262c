package sim

import (
	"net/http"
	"strings"
)

func googleError(status int, name, message string) reply {
	return fail(status, map[string]any{"error": map[string]any{"code": status, "message": message, "status": name}})
}

var googleRefusals = refusals{
	faultInvalid: googleError(http.StatusBadRequest, "INVALID_ARGUMENT", "Invalid value at 'generation_config.image_config' (type), \"huge\""),
	faultBusy:    googleError(http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
	faultError:   googleError(http.StatusInternalServerError, "INTERNAL", "An internal error has occurred."),
	faultDown:    googleError(http.StatusServiceUnavailable, "UNAVAILABLE", "The model is overloaded. Please try again later."),
	faultUnpaid:  googleError(http.StatusForbidden, "PERMISSION_DENIED", "Billing is disabled for project proj-simulated1."),
}

// googleKey accepts an API key or an access token, as the two services want.
var (
	googleAPIKey = headerKey("x-goog-api-key")
	googleToken  = bearer
)

func (s *Server) googleRoutes() {
	s.handle("POST /google/v1beta/models/{call}", googleAPIKey, googleRefusals.or(gemini))
	s.handle("POST /google/v1beta/interactions", googleAPIKey, googleRefusals.or(geminiInteraction))
	s.handle("POST /vertexai/token", noCredential, func(*exchange) reply { // of service accounts
		return ok(map[string]any{"access_token": "ya29.token-of-a-service-account", "token_type": "Bearer", "expires_in": 3600})
	})
	veo := "/vertexai/v1/projects/{project}/locations/{location}/publishers/google/models/{call}"
	s.handle("POST "+veo, googleToken, func(e *exchange) reply {
		if strings.HasSuffix(e.PathValue("call"), ":fetchPredictOperation") {
			return veoPoll(e)
		}
		return googleRefusals.or(veoSubmit)(e)
	})
}

func gemini(e *exchange) reply {
	model, _, _ := strings.Cut(e.PathValue("call"), ":")
	if e.scenario.Fault == faultPolicy {
		usage := map[string]any{"promptTokenCount": 8, "totalTokenCount": 8}
		return ok(map[string]any{
			"promptFeedback": map[string]any{"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage,
			"modelVersion": model,
		})
	}
	usage := map[string]any{
		"promptTokenCount": 8, "candidatesTokenCount": 1150, "thoughtsTokenCount": 200, "totalTokenCount": 1358,
		"candidatesTokensDetails": []any{map[string]any{"modality": "IMAGE", "tokenCount": 1120}},
	}
	part := map[string]any{"inlineData": map[string]any{"mimeType": "image/png", "data": inline(picture(seedOf(e.raw)))}}
	if !strings.HasSuffix(model, "-image") {
		part = map[string]any{"text": "A simulated answer."}
		usage = map[string]any{"promptTokenCount": 8, "candidatesTokenCount": 5, "thoughtsTokenCount": 20, "totalTokenCount": 33}
	}
	return reply{status: http.StatusOK, charged: true, json: map[string]any{
		"candidates": []any{map[string]any{
			"content": map[string]any{"role": "model", "parts": []any{part}}, "finishReason": "STOP",
			"index": 0,
		}},
		"usageMetadata": usage, "modelVersion": model, "responseId": seedOf(e.raw),
	}}
}

// geminiInteraction answers with a video and a text.
func geminiInteraction(e *exchange) reply {
	if e.scenario.Fault == faultPolicy {
		return googleError(http.StatusBadRequest, "INVALID_ARGUMENT", "The request was blocked by the safety policy.")
	}
	return reply{status: http.StatusOK, charged: true, json: map[string]any{
		"id": seedOf(e.raw), "object": "interaction", "model": e.text("model"), "status": "completed",
		"steps": []any{map[string]any{"type": "model_output", "content": []any{
			map[string]any{"type": "text", "text": "A simulated video."},
			map[string]any{"type": "video", "mime_type": "video/mp4", "data": inline(film(seedOf(e.raw)))},
		}}},
		"usage": map[string]any{"total_input_tokens": 12, "total_output_tokens": 28960},
	}}
}

func veoSubmit(e *exchange) reply {
	kind := "bytes"
	if parameters, found := e.body["parameters"].(map[string]any); found && parameters["storageUri"] != nil {
		kind = "link"
	}
	t := e.submit(kind)
	if e.scenario.Fault == faultPolicy {
		t.Fault = faultPolicy
	}
	model, _, _ := strings.Cut(e.PathValue("call"), ":")
	return reply{status: http.StatusOK, charged: true, json: map[string]any{
		"name": "projects/" + e.PathValue("project") + "/locations/" + e.PathValue("location") + "/publishers/google/models/" + model +
			"/operations/" + t.id(),
	}}
}

func veoPoll(e *exchange) reply {
	t, found := e.ticket()
	name := e.text("operationName")
	kind := map[string]any{"@type": "type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse"}
	switch {
	case !found:
		return googleError(http.StatusNotFound, "NOT_FOUND", "The operation is not found.")
	case !t.finished(e.now):
		return ok(map[string]any{"name": name})
	case t.Fault == faultPolicy:
		kind["raiMediaFilteredCount"], kind["raiMediaFilteredReasons"] = 1, []any{"The prompt could not be submitted. Support codes: 58061214"}
		return ok(map[string]any{"name": name, "done": true, "response": kind})
	case t.Fault != "":
		return ok(map[string]any{
			"name": name, "done": true,
			"error": map[string]any{"code": 13, "message": "Video generation failed due to an internal server issue."},
		})
	}
	clip := map[string]any{"mimeType": "video/mp4"}
	if t.Extra == "link" {
		clip["gcsUri"] = "https://storage.googleapis.com/simulated-bucket/" + t.Seed + ".mp4?X-Goog-Expires=86400&X-Goog-Signature=00"
	} else {
		clip["bytesBase64Encoded"] = inline(film(t.Seed))
	}
	kind["videos"] = []any{clip}
	return ok(map[string]any{"name": name, "done": true, "response": kind})
}
