package sim_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim"
)

func start(t *testing.T) (*sim.Server, string) {
	t.Helper()
	s := sim.New(sim.Options{Delay: time.Millisecond})
	t.Cleanup(s.Close)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

func send(t *testing.T, method, url, body string, headers ...string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close() // read below
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var decoded map[string]any
	if json.Unmarshal(raw, &decoded) != nil {
		return resp.StatusCode, nil
	}
	return resp.StatusCode, decoded
}

func TestSimulatorCountsChargesByKeyOrBody(t *testing.T) {
	t.Parallel()
	s, base := start(t)
	for range 2 {
		status, _ := send(t, "POST", base+"/sim/echo", `{"prompt":"a"}`, "Idempotency-Key", "k1")
		require.Equal(t, 200, status)
	}
	status, _ := send(t, "POST", base+"/sim/echo", `{"prompt":"[sim:policy]"}`, "Idempotency-Key", "k2")
	require.Equal(t, 400, status)
	_, err := http.Post(base+"/sim/echo", "application/json", strings.NewReader(`{"prompt":"[sim:drop]"}`)) // it is dropped
	require.Error(t, err)
	charged := s.Charges()
	require.Equal(t, 1, charged["k1"], "a repeated request is not charged again")
	require.NotContains(t, charged, "k2")
	require.Len(t, charged, 2, "a call that was dropped after its work is charged: %v", charged)
	status, _ = send(t, "DELETE", base+"/charges", "")
	require.Equal(t, 204, status)
	require.Empty(t, s.Charges())
}

func TestSimulatedProviderChecksItsCredential(t *testing.T) {
	t.Parallel()
	_, base := start(t)
	for path, header := range map[string][2]string{
		"/bfl/v1/flux-2-pro": {"x-key", "k"}, "/openai/v1/chat/completions": {"Authorization", "Bearer k"},
		"/fal/fal-ai/flux/schnell": {"Authorization", "Key k"}, "/elevenlabs/v1/sound-generation": {"xi-api-key", "k"},
	} {
		status, _ := send(t, "POST", base+path, `{"prompt":"x"}`)
		require.Equal(t, 401, status, path)
		status, _ = send(t, "POST", base+path, `{"prompt":"x"}`, header[0], strings.Replace(header[1], "k", "wrong", 1))
		require.Equal(t, 401, status, path)
		status, _ = send(t, "POST", base+path, `{"prompt":"x"}`, header[0], header[1])
		require.Equal(t, 200, status, path)
	}
}

func TestWebhooksReachThisMachineOnly(t *testing.T) {
	t.Parallel()
	_, base := start(t)
	got := make(chan map[string]any, 3)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if json.NewDecoder(r.Body).Decode(&body) == nil {
			got <- body
		}
	}))
	t.Cleanup(hook.Close)
	send(t, "POST", base+"/replicate/v1/models/black-forest-labs/flux-schnell/predictions", `{"input":{},"webhook":"`+hook.URL+`"}`,
		"Authorization", "Bearer k")
	require.Equal(t, "succeeded", (<-got)["status"])
	send(t, "POST", base+"/fal/fal-ai/flux/schnell?fal_webhook="+hook.URL, `{"prompt":"x"}`, "Authorization", "Key k")
	require.Equal(t, "OK", (<-got)["status"])
	send(t, "POST", base+"/bfl/v1/flux-2-pro", `{"prompt":"x","webhook_url":"`+hook.URL+`"}`, "x-key", "k")
	require.Equal(t, "Ready", (<-got)["status"])
	for path, want := range map[string]string{
		"/wavespeed/api/v3/wavespeed-ai/flux-schnell?webhook=" + hook.URL:               "completed",
		"/higgsfield/higgsfield-ai/soul/v2/standard?hf_webhook=" + hook.URL:             "completed",
		"/higgsfield/higgsfield-ai/soul/v2/standard?note=policy&hf_webhook=" + hook.URL: "nsfw",
		"/byteplus/api/v3/contents/generations/tasks":                                   "succeeded",
		"/kling/v1/videos/text2video":                                                   "succeed",
	} {
		body := `{"prompt":"x","callback_url":"` + hook.URL + `"}`
		if strings.Contains(path, "note=policy") {
			body = `{"prompt":"[sim:policy]"}`
		}
		word := "Bearer k"
		if strings.Contains(path, "higgsfield") {
			word = "Key k"
		}
		status, _ := send(t, "POST", base+path, body, "Authorization", word)
		require.Equal(t, 200, status, path)
		posted := <-got
		require.Contains(t, []any{posted["status"], posted["task_status"]}, any(want), "%s: %v", path, posted)
	}
	send(t, "POST", base+"/bfl/v1/flux-2-pro", `{"prompt":"x","webhook_url":"http://192.0.2.1/"}`, "x-key", "k")
}

func TestAGenerationSurvivesItsServer(t *testing.T) {
	t.Parallel()
	_, first := start(t)
	_, submitted := send(t, "POST", first+"/sim/generations", `{"prompt":"x"}`)
	_, second := start(t)
	var document map[string]any
	for document["status"] != "done" {
		_, document = send(t, "GET", second+"/sim/generations/"+submitted["id"].(string), "")
	}
	result := document["result"].(map[string]any)
	require.True(t, strings.HasPrefix(result["url"].(string), second))
	resp, err := http.Get(result["url"].(string)) // a test
	require.NoError(t, err)
	defer resp.Body.Close() // only its header
	require.Equal(t, "image/png", resp.Header.Get("Content-Type"))
	status, _ := send(t, "GET", second+"/sim/generations/sim-nonsense", "")
	require.Equal(t, 404, status)
}

func TestSimulatedDelayAppliesToGenerationOnly(t *testing.T) {
	t.Parallel()
	s, base := start(t)
	status, submitted := send(t, "POST", base+"/sim/generations", `{"prompt":"[sim:delay=10m]"}`) // answered now
	require.Equal(t, 202, status)
	require.Len(t, s.Charges(), 1)
	path := base + "/sim/generations/" + submitted["id"].(string)
	_, document := send(t, "GET", path, "")
	require.Equal(t, "running", document["status"])
	status, _ = send(t, "DELETE", path, "")
	require.Equal(t, 200, status)
	require.Equal(t, map[string]int{submitted["id"].(string): 1}, s.Cancels())
	_, document = send(t, "GET", path, "")
	require.Equal(t, "cancelled", document["status"])
	status, _ = send(t, "DELETE", base+"/sim/generations/sim-nonsense", "")
	require.Equal(t, 409, status)
}

func TestSimulatedStatusHangsOnce(t *testing.T) {
	t.Parallel()
	_, base := start(t)
	_, submitted := send(t, "POST", base+"/sim/generations", `{"prompt":"[sim:late-hang]"}`)
	path := base + "/sim/generations/" + submitted["id"].(string)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // it is there by then
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", path, nil)
	require.NoError(t, err)
	_, err = http.DefaultClient.Do(req) // it gives none
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, document := send(t, "GET", path, "")
	require.Equal(t, "done", document["status"])
}
