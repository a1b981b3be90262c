package provider_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/provider"
	"github.com/millrace-dev/millrace/internal/sim"
)

// A problem of the router's own account is not reported as invalid input, whatever status the provider uses. A
// request may be sent again only if the provider certainly did nothing.
func TestErrorsOfProvidersAreClassified(t *testing.T) {
	t.Parallel()
	type word struct {
		model  string
		status int
		answer string
		want   string
		again  bool
	}
	words := map[string]word{
		"BytePlus: the model is not activated": {
			"byteplus/seedance-1-5-pro-251215", 404, `{"error":{"code":"ModelNotOpen","message":"x"}}`,
			"provider_error", false,
		},
		"BytePlus: a picture is refused": {
			"byteplus/seedream-4-5-251128", 200,
			`{"data":[{"error":{"code":"OutputImageSensitiveContentDetected"}}]}`, "content_policy_violation", false,
		},
		"ElevenLabs: an error with a code": {
			"elevenlabs/sound-generation", 401,
			`{"detail":{"type":"quota","code":"quota_exceeded","message":"x"}}`, "provider_error", false,
		},
		"Gemini: a wrong key is a 400": {
			"google/gemini-3-pro-image", 400,
			`{"error":{"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, "provider_error", false,
		},
		"Gemini: billing is a 400": {
			"google/gemini-3-pro-image", 400, `{"error":{"status":"FAILED_PRECONDITION"}}`,
			"provider_error", false,
		},
		"Gemini: the picture is unsafe": {
			"google/gemini-3-pro-image", 200, `{"candidates":[{"finishReason":"IMAGE_SAFETY"}]}`,
			"content_policy_violation", false,
		},
		"Gemini: no picture, and no reason": {
			"google/gemini-3-pro-image", 200, `{"candidates":[{"finishReason":"NO_IMAGE"}]}`,
			"provider_error", false,
		},
		"Kling: an address that may not call": {"kling/kling-v3-text2video", 429, `{"code":1304,"message":"x"}`, "provider_error", false},
		"Kling: too many at once":             {"kling/kling-v3-text2video", 429, `{"code":1303,"message":"x"}`, "service_unavailable", true},
		"MiniMax: too many tokens a minute":   {"minimax/hailuo-2.3", 200, `{"base_resp":{"status_code":1039}}`, "service_unavailable", true},
		"MiniMax: the plan is used up":        {"minimax/hailuo-2.3", 200, `{"base_resp":{"status_code":2056}}`, "provider_error", false},
		"OpenAI: the bill is at its limit": {
			"openai/gpt-image-2", 400, `{"error":{"code":"billing_hard_limit_reached","message":"x"}}`,
			"provider_error", false,
		},
		"OpenAI: too fast": {
			"openai/gpt-image-2", 429, `{"error":{"code":"rate_limit_exceeded"}}`, "service_unavailable",
			true,
		},
		"OpenAI: no quota is a 429": {
			"openai/gpt-image-2", 429, `{"error":{"code":"insufficient_quota"}}`, "provider_error",
			false,
		},
		"Runware: the balance is empty": {
			"runware/flux-schnell", 402, `{"errors":[{"code":"insufficientCredits"}]}`, "provider_error",
			false,
		},
		"Runware: a task that fails at once": {
			"runware/flux-schnell", 200, `{"errors":[{"code":"invalidWidth","message":"x"}]}`,
			"invalid_input", false,
		},
		"Stability: a prompt is refused": {
			"stability/stable-diffusion-3.5", 403, `{"name":"content_moderation","errors":["x"]}`,
			"content_policy_violation", false,
		},
		"Stability: a credential is refused": {
			"stability/stable-diffusion-3.5", 403, `{"name":"permission_denied","errors":["x"]}`,
			"provider_error", false,
		},
		"Vertex AI: too many requests": {
			"vertexai/veo-3.1-fast-generate-001", 429, `{"error":{"status":"RESOURCE_EXHAUSTED"}}`,
			"service_unavailable", true,
		},
		"Black Forest Labs: a wrong picture size": {
			"bfl/flux-2-max", 400, `{"error":"validation_error","message":"Invalid request parameters"}`,
			"invalid_input", false,
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		asked, _ := io.ReadAll(r.Body) // a body that cannot be read contains no secret
		for name, said := range words {
			if strings.Contains(string(asked), name) {
				w.WriteHeader(said.status)
				w.Write([]byte(said.answer))
				return
			}
		} // a service account fetches its token first
		w.Write([]byte(`{"access_token":"t","token_type":"Bearer","expires_in":3600}`))
	}))
	t.Cleanup(server.Close)
	bases := map[string]string{}
	for _, each := range sim.Providers() {
		bases[each] = server.URL
	}
	c, err := catalog.Load(catalog.Options{Bases: bases, Simulator: server.URL})
	require.NoError(t, err)
	connections := outbound.New(outbound.Options{})
	t.Cleanup(connections.Close)
	client := provider.New(connections, environment(t, server.URL), slog.New(slog.DiscardHandler))
	for name, said := range words {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := find(t, c.Snapshot(), said.model)
			out, err := client.Dispatch(t.Context(), request(m, marked(t, m, name)), io.Discard)
			require.NoError(t, err)
			require.Equal(t, provider.Failed, out.Phase)
			require.Equal(t, said.want, out.Failure.Type, "%+v", out.Failure)
			require.Equal(t, said.again, out.Failure.Retryable)
		})
	}
}
