package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	fallbackHeader = "X-Comfy-Router-Fallback-Provider"
	droppedHeader  = "X-Comfy-Router-Dropped-Params"
)

func TestOtherServersOfAModel(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	const echo = "/v2/models/sim/echo"
	for name, tc := range map[string]struct {
		query, body string
		status      int
		answer      string // part of it
		fallback    string
		dropped     string
	}{
		"its own":         {"", `{"prompt":"x","number":11}`, 200, `"model":"echo"`, "", ""},
		"its own by name": {"?model_provider=comfyui&strict_mode=true", `{"prompt":"x"}`, 200, `"model":"echo"`, "", ""},
		"translated": {
			"?model_provider=runware", `{"prompt":"x","number":3}`, 200, `"input":{"number":3,"prompt":"x"}`, "",
			"",
		},
		"translated with losses": {
			"?model_provider=runware", `{"prompt":"x","number":11,"é":1}`, 200, `"model":"mirror"`, "",
			`["number","\u00e9"]`,
		},
		"checked as the model's own": {"?model_provider=runware", `{"text":"x"}`, 422, `"prompt"`, "", ""},
		"verbatim":                   {"?model_provider=runware&strict_mode=true", `{"any":[1,2]}`, 200, `"said":{"any":[1,2]}`, "", ""},
		"verbatim is an object, too": {"?model_provider=runware&strict_mode=true", `[1]`, 400, "invalid_input", "", ""},
		"does not serve it":          {"?model_provider=fal", `{"prompt":"x"}`, 404, "model_not_found", "", ""},
		"nobody knows it":            {"?model_provider=nobody", `{"prompt":"x"}`, 400, "invalid_input", "", ""},
		"taken over": {
			"?fallback_provider=true", `{"prompt":"[sim:busy@sim]","number":11}`, 200, `"model":"mirror"`,
			"runware", `["number"]`,
		},
		"taken over without a word": {"", `{"prompt":"[sim:busy@sim]"}`, 200, `"model":"mirror"`, "runware", ""},
		"asked not to":              {"?fallback_provider=false", `{"prompt":"[sim:busy@sim]"}`, 503, "service_unavailable", "", ""},
		"strict, so not taken over": {
			"?fallback_provider=true&strict_mode=true", `{"prompt":"[sim:busy@sim]"}`, 503, "service_unavailable",
			"", "",
		},
		"it may have run":               {"?fallback_provider=true", `{"prompt":"[sim:drop@sim]"}`, 502, "provider_error", "", ""},
		"a refusal stays one":           {"?fallback_provider=true", `{"prompt":"[sim:policy@sim]"}`, 400, "content_policy_violation", "", ""},
		"nobody was needed to stand in": {"?fallback_provider=true", `{"prompt":"x","number":11}`, 200, `"model":"echo"`, "", ""},
	} {
		r := c.do("POST", echo+tc.query, tc.body, "Content-Type", "application/json")
		require.Equal(t, tc.status, r.status, "%s: %s", name, r.body)
		require.Contains(t, r.body, tc.answer, name)
		require.Equal(t, tc.fallback, r.header.Get(fallbackHeader), name)
		require.Equal(t, tc.dropped, r.header.Get(droppedHeader), name)
	}
}

func TestDroppedFieldsFitTheirHeaderHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	body := map[string]any{"prompt": "x"}
	for i := range 200 {
		body[strings.Repeat("ü", 40+i)] = i
	}
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	for range 2 { // the second is a replay and says the same
		r := c.do("POST", "/v2/models/sim/echo?model_provider=runware", string(raw), "Content-Type", "application/json", "Idempotency-Key",
			"many")
		require.Equal(t, 200, r.status, r.body)
		require.Len(t, r.header.Values(droppedHeader), 1)
		header := r.header.Get(droppedHeader)
		require.LessOrEqual(t, len(header), 4096)
		var names []string
		require.NoError(t, json.Unmarshal([]byte(header), &names))
		require.NotEmpty(t, names)
		require.LessOrEqual(t, len(names), 64)
		for _, name := range names {
			require.LessOrEqual(t, len(name), 300)
			require.Equal(t, strings.Repeat("ü", len([]rune(name))), name)
		}
	}
}

func TestAQueuedRequestGoesToTheServerItNames(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	made := c.json("POST", "/v2/models/sim/echo/requests?model_provider=runware", `{"prompt":"x","number":50}`)
	url, ok := made["response_url"].(string)
	require.True(t, ok)
	var r reply
	require.Eventually(t, func() bool {
		r = c.do("GET", url, "")
		return r.status != 202
	}, patience, 50*time.Millisecond)
	require.Equal(t, 200, r.status, r.body)
	require.Contains(t, r.body, `"number":10`)
	require.Equal(t, `["number"]`, r.header.Get(droppedHeader))
}
