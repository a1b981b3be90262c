package sim

import "net/http"

func openAIError(message, kind, param, code string) map[string]any {
	return map[string]any{"error": map[string]any{"message": message, "type": kind, "param": param, "code": code}}
}

var openAIRefusals = refusals{
	faultPolicy: fail(http.StatusBadRequest, openAIError("Your request was rejected by the safety system.", "image_generation_user_error", "",
		"moderation_blocked")),
	faultInvalid: fail(http.StatusBadRequest, openAIError("Invalid value: 'huge'. Supported values are: '1024x1024', '1536x1024', "+
		"'1024x1536', and 'auto'.", "invalid_request_error", "size", "invalid_value")),
	faultUnpaid: fail(http.StatusTooManyRequests, openAIError("You exceeded your current quota.", "insufficient_quota", "",
		"insufficient_quota")),
	faultBusy: {
		status:  http.StatusTooManyRequests,
		json:    openAIError("Rate limit reached for model in organization org-simulated0001.", "requests", "", "rate_limit_exceeded"),
		headers: map[string]string{"Retry-After": "1"},
	},
	faultError: fail(http.StatusInternalServerError,
		openAIError("The server had an error while processing your request.", "server_error", "", "")),
	faultDown: fail(http.StatusServiceUnavailable, openAIError("The engine is currently overloaded.", "server_error", "", "")),
}

func (s *Server) openAIRoutes() {
	s.handle("POST /openai/v1/images/generations", bearer, openAIRefusals.or(openAIImage))
	s.handle("POST /openai/v1/chat/completions", bearer, openAIRefusals.or(openAIChat))
}

func openAIImage(e *exchange) reply {
	return reply{status: http.StatusOK, charged: true, json: map[string]any{
		"created": e.now.Unix(), "background": "opaque", "output_format": "png", "quality": "low", "size": "1024x1024",
		"data": []any{map[string]any{"b64_json": inline(picture(seedOf(e.raw)))}},
		"usage": map[string]any{
			"total_tokens": 240, "input_tokens": 44, "output_tokens": 196,
			"input_tokens_details": map[string]any{"text_tokens": 44, "image_tokens": 0},
		},
	}}
}

func openAIChat(e *exchange) reply {
	return reply{status: http.StatusOK, charged: true, json: map[string]any{
		"id": "chatcmpl-" + seedOf(e.raw), "object": "chat.completion", "created": e.now.Unix(), "model": e.text("model"),
		"choices": []any{map[string]any{
			"index": 0, "message": map[string]any{"role": "assistant", "content": "A simulated answer.", "refusal": nil}, "logprobs": nil,
			"finish_reason": "stop",
		}},
		"service_tier": "default", "usage": map[string]any{
			"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17,
			"prompt_tokens_details": map[string]any{"cached_tokens": 0},
		},
	}}
}
