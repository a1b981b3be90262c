package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAModelRunsAndReplays(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	body := "{ \"prompt\" : \"caf\\u00e9 <b>\",\r\n\t\"number\":1 }"
	first := c.do("POST", echo, body, "Idempotency-Key", "one")
	require.Equal(t, 200, first.status, first.body)
	identified(t, first)
	require.Contains(t, first.body, body) // byte for byte, both ways
	require.Equal(t, "application/json", first.header.Get("Content-Type"))
	require.Empty(t, first.header.Values("Idempotent-Replayed"))
	require.Empty(t, first.header.Get("X-Committed-Spend-Limit"))
	require.Equal(t, "0.00", first.header.Get("X-Comfy-Credits-Used"))
	again := c.do("POST", echo, body, "Idempotency-Key", "one")
	require.Equal(t, 200, again.status)
	require.Equal(t, first.body, again.body)
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	require.NotEqual(t, first.header.Get("X-Service-Request-Id"), again.header.Get("X-Service-Request-Id"))
	for path, other := range map[string]string{echo: body + " ", echo + "?fallback_provider=false": body, "/v2/models/sim/open": body} {
		r := c.do("POST", path, other, "Idempotency-Key", "one")
		turnedDown(t, r, 409, "invalid_input")
		require.Empty(t, r.header.Get("Retry-After"))
	}
	for _, key := range []string{"", strings.Repeat("k", 256)} {
		turnedDown(t, c.do("POST", echo, body, "Idempotency-Key", key), 400, "invalid_input")
	}
	require.Equal(t, 200, c.do("POST", echo, body, "Idempotency-Key", strings.Repeat("k", 255)).status)
}

func TestAnswersOfEveryKindPass(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	sound := c.do("POST", "/v2/models/sim/speech", `{"prompt":"x [sim:size=300000]"}`)
	require.Equal(t, 200, sound.status)
	require.Equal(t, "audio/wav", sound.header.Get("Content-Type"))
	require.Equal(t, "RIFF", sound.body[:4])
	require.Equal(t, fmt.Sprint(len(sound.body)), sound.header.Get("Content-Length"))
	require.Contains(t, sound.header.Get("Content-Security-Policy"), "sandbox")
	require.Equal(t, 200, c.do("POST", "/v2/models/sim/open", `{"anything":[1,2]}`).status)
	image := c.json("POST", "/v2/models/sim/image", `{"prompt":"a red square"}`)
	hosted := image["result"].(map[string]any)["url"].(string)
	require.True(t, strings.HasPrefix(hosted, c.base+"/files/"), hosted)
	res, err := http.Get(hosted)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, 200, res.StatusCode)
}

func TestBadInputOfARun(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	for _, body := range []string{"", "[]", `"x"`, "1", "null", `{"prompt":"x"`, `{"prompt":"x"} {}`} {
		turnedDown(t, c.do("POST", echo, body), 400, "invalid_input")
	}
	turnedDown(t, c.do("POST", echo, "--x--", "Content-Type", "multipart/form-data; boundary=x"), 400, "invalid_input")
	turnedDown(t, c.do("POST", echo+"?strict_mode=maybe", `{"prompt":"x"}`), 400, "invalid_input")
	turnedDown(t, c.do("POST", echo+"?model_provider=nobody", `{"prompt":"x"}`), 400, "invalid_input")
	r := c.do("POST", echo, `{"prompt":"","number":"many"}`)
	turnedDown(t, r, 422, "invalid_input")
	require.NotContains(t, decode(t, r.body), "error_type")
	require.Len(t, decode(t, r.body)["detail"], 2)
	require.Equal(t, 200, c.do("POST", echo, `{"prompt":"x","more":1}`).status)
	turnedDown(t, c.do("POST", "/v2/models/sim/ecko", `{}`), 404, "model_not_found")

	// a body that announces more than the limit is refused before it is sent.
	req, err := http.NewRequestWithContext(t.Context(), "POST", c.base+echo, strings.NewReader("{}"))
	require.NoError(t, err)
	req.ContentLength = 1 << 30
	req.Header.Set("X-API-Key", c.key)
	req.Header.Set("Expect", "100-continue")
	transport := &http.Transport{ExpectContinueTimeout: patience}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, 413, res.StatusCode)
	require.Equal(t, "invalid_input", res.Header.Get("X-Service-Error-Type"))
}

func TestProviderFailuresReachTheCaller(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	for fault, want := range map[string]struct {
		status    int
		errorType string
		upstream  string
	}{
		"policy":     {400, "content_policy_violation", "400"},
		"validation": {422, "invalid_input", ""},
		"error":      {502, "provider_error", "500"},
		"broken":     {502, "provider_error", ""},
	} {
		body := `{"prompt":"x [sim:` + fault + `]"}`
		first := c.do("POST", echo, body, "Idempotency-Key", fault)
		turnedDown(t, first, want.status, want.errorType)
		if want.upstream != "" {
			require.Equal(t, want.upstream, first.header.Get("X-Comfy-Upstream-Status"), fault)
		}
		require.Empty(t, first.header.Get("Idempotent-Replayed"))
		again := c.do("POST", echo, body, "Idempotency-Key", fault)
		turnedDown(t, again, want.status, want.errorType)
		require.Equal(t, "true", again.header.Get("Idempotent-Replayed"), fault)
		require.Equal(t, first.body, again.body)
	}
	picky := decode(t, c.do("POST", echo, `{"prompt":"x [sim:validation]"}`).body)["detail"].([]any)[0]
	require.Equal(t, map[string]any{ // as the provider said it
		"loc": []any{"body", "prompt"}, "msg": "The picture is too small", "type": "image_too_small", "ctx": map[string]any{"min_width": 64.0},
		"input": "tiny",
	}, picky)
	subject := c.do("POST", echo, `{"prompt":"x [sim:policy]"}`)
	require.Equal(t, "input_text", subject.header.Get("X-Comfy-Refusal-Subject"))
	require.Equal(t, "input_text", decode(t, subject.body)["refusal_subject"])
}

func TestDisconnectedCallerGetsTheAnswerByItsKey(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	const path, body = "/v2/models/sim/image", `{"prompt":"x [sim:delay=20s]"}`
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		for {
			req, err := http.NewRequestWithContext(ctx, "POST", c.base+path, strings.NewReader(body))
			if err == nil {
				req.Header.Set("X-API-Key", c.key)
				req.Header.Set("Idempotency-Key", "k")
				var res *http.Response
				if res, err = http.DefaultTransport.RoundTrip(req); err == nil {
					err = res.Body.Close()
					if res.StatusCode == http.StatusTooManyRequests {
						continue // one of the calls below has the place
					}
				}
			}
			left <- err
			return
		}
	}()
	var busy reply
	require.Eventually(t, func() bool { // once the first call has the only place of a new account
		busy = c.do("POST", echo, `{"prompt":"x"}`)
		return busy.status == 429
	}, patience, 5*time.Millisecond)
	turnedDown(t, busy, 429, "concurrency_limit_exceeded")
	running := c.do("POST", path, body, "Idempotency-Key", "k")
	turnedDown(t, running, 409, "concurrency_limit_exceeded")
	require.Regexp(t, `^[1-9]\d*$`, running.header.Get("Retry-After"))
	leave()
	require.ErrorIs(t, <-left, context.Canceled)
	var got reply
	require.Eventually(t, func() bool {
		got = c.do("POST", path, body, "Idempotency-Key", "k")
		return got.status == 200
	}, patience, 50*time.Millisecond)
	require.Equal(t, "true", got.header.Get("Idempotent-Replayed"))
}

func TestQueuedRequests(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	const path = "/v2/models/sim/image/requests"
	turnedDown(t, c.do("POST", path, `{}`), 422, "invalid_input")
	slow := `{"prompt":"x [sim:delay=20s]"}`
	submitted := c.do("POST", path, slow, "Idempotency-Key", "q")
	require.Equal(t, 201, submitted.status, submitted.body)
	handle := decode(t, submitted.body)
	id := handle["request_id"].(string)
	base := c.base + path + "/" + id
	require.Equal(t, submitted.header.Get("X-Comfy-Request-Id"), id)
	require.Equal(t, "IN_QUEUE", handle["status"])
	require.EqualValues(t, 0, handle["queue_position"])
	require.Equal(t, []any{base, base + "/status", base + "/cancel"},
		[]any{handle["response_url"], handle["status_url"], handle["cancel_url"]})
	again := c.do("POST", path, slow, "Idempotency-Key", "q")
	require.Equal(t, 201, again.status)
	require.Equal(t, id, decode(t, again.body)["request_id"])
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))

	unfinished := c.do("GET", base, "")
	require.Equal(t, 202, unfinished.status, unfinished.body)
	require.Regexp(t, `^[1-9]\d*$`, unfinished.header.Get("Retry-After"))
	second := decode(t, c.do("POST", path, `{"prompt":"y"}`).body) // waits: the account has one place
	canceled := c.do("PUT", second["cancel_url"].(string), "")
	require.Equal(t, 202, canceled.status)
	require.JSONEq(t, `{"request_id":"`+second["request_id"].(string)+`","status":"CANCELLATION_REQUESTED"}`, canceled.body)
	turnedDown(t, c.do("GET", second["response_url"].(string), ""), 409, "cancelled")
	ended := decode(t, c.do("GET", second["status_url"].(string), "").body)
	require.Equal(t, []any{"COMPLETED", "cancelled"}, []any{ended["status"], ended["error_type"]})

	var status map[string]any
	require.Eventually(t, func() bool {
		status = decode(t, c.do("GET", base+"/status", "").body)
		return status["status"] == "COMPLETED"
	}, patience, 50*time.Millisecond)
	require.NotContains(t, status, "error_type")
	result := c.do("GET", base, "")
	require.Equal(t, 200, result.status)
	require.Contains(t, result.body, `"status":"done"`)
	late := c.do("PUT", base+"/cancel", "")
	require.Equal(t, 409, late.status)
	require.Equal(t, "ALREADY_COMPLETED", decode(t, late.body)["status"])

	stranger := newClient(t, "creator")
	for _, address := range []string{base, base + "/status", c.base + path + "/" + strings.ToUpper(id), c.base + path + "/nothing"} {
		turnedDown(t, stranger.do("GET", address, ""), 404, "request_not_found")
	}
	turnedDown(t, c.do("GET", "/v2/models/sim/echo/requests/"+id, ""), 404, "request_not_found")
	turnedDown(t, stranger.do("PUT", base+"/cancel", ""), 404, "request_not_found")
}

func TestEstimates(t *testing.T) {
	t.Parallel()
	c := newClient(t, "creator")
	got := c.json("POST", echo+"/estimate", `{"prompt":"x"}`)
	require.Equal(t, []any{"exact", "USD", 0.0}, []any{got["source"], got["currency"], got["amount"]})
	require.NotEmpty(t, got["pricing_as_of"])
	turnedDown(t, c.do("POST", echo+"/estimate", `{}`), 422, "invalid_input")
	turnedDown(t, c.do("POST", echo+"/estimate", `[]`), 400, "invalid_input")
}

func TestModelAccess(t *testing.T) {
	t.Parallel()
	c, s, name := newMember(t)
	s.Run(t, "accounts", "models", name, "--allow", "sim/open,sim/image", "--reason", "test")
	list := c.do("GET", "/v2/models", "")
	require.Contains(t, list.body, "sim/open")
	require.NotContains(t, list.body, "sim/echo")
	turnedDown(t, c.do("GET", echo, ""), 403, "forbidden")
	turnedDown(t, c.do("POST", echo, `{"prompt":"x"}`), 403, "forbidden")
	require.Equal(t, 200, c.do("POST", "/v2/models/sim/open", `{}`).status)
	hint := c.do("GET", "/v2/models/sim/ecko", "")
	turnedDown(t, hint, 404, "model_not_found")
	require.NotContains(t, hint.body, "sim/echo", "suggestions are of what the caller may see")

	s.Run(t, "accounts", "credit", name, "--amount", "0", "--reason", "metered")
	for _, body := range []string{`{}`, `not JSON`} { // before validation
		turnedDown(t, c.do("POST", "/v2/models/sim/open", body), 402, "insufficient_credits")
	}
	s.Run(t, "accounts", "models", name, "--router", "off", "--reason", "test")
	for _, path := range []string{"/v2/models", "/v2/models/sim/open", "/v2/models/sim/open/openapi.json"} {
		r := c.do("GET", path, "")
		turnedDown(t, r, 403, "not_enabled")
		require.Empty(t, r.header.Get("Retry-After"))
	}
	turnedDown(t, c.do("POST", "/v2/models/sim/open", `{}`), 403, "not_enabled")

	reader, s, name := newMember(t)
	reader.key = s.Run(t, "keys", "create", "--account", name, "--scope", "read")
	require.Equal(t, 200, reader.do("GET", "/v2/models", "").status)
	turnedDown(t, reader.do("POST", echo, `{"prompt":"x"}`), 403, "forbidden")
}
