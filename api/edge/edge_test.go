package edge_test

import (
	"cmp"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestHealthAndReadiness(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{Mode: account.ModeToken})
	require.Equal(t, http.StatusOK, h.Do(t, "GET", "/healthz", "").Status)
	ready := h.Do(t, "GET", "/readyz", "")
	require.Equal(t, http.StatusOK, ready.Status, "the workflow engine being away does not refuse submissions")
	require.Contains(t, ready.Body, `"temporal":{"ok":false,"detail":"not reachable"}`)
}

func TestEverySurfaceKeepsItsEnvelope(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{Mode: account.ModeKeys, MaxPrompt: 64, MaxBody: 64})
	long := `{"prompt":{"x":"` + strings.Repeat("y", 100) + `"}}`
	cases := map[string]struct {
		method, path, body, key string
		status                  int
		want                    string
	}{
		"v2 without a key": {
			"GET", "/api/v2/jobs/x", "", "", 401,
			`{"error":{"code":"unauthorized","message":"a credential is required"}}`,
		},
		"v2 unknown path": {
			"GET", "/api/v2/nothing", "", "", 404,
			`{"error":{"code":"not_found","message":"there is nothing at this path"}}`,
		},
		"v2 unknown job": {"GET", "/api/v2/jobs/x", "", "key-a", 404, `{"error":{"code":"not_found","message":"no such job"}}`},
		"v2 wrong method": {
			"PUT", "/api/v2/jobs", "", "", 405,
			`{"error":{"code":"method_not_allowed","message":"this path does not have the method PUT"}}`,
		},
		"v2 too large": {
			"POST", "/api/v2/jobs", long, "key-a", 413,
			`{"error":{"code":"invalid_body","message":"the request body is larger than 64 bytes"}}`,
		},
		"v2 bad JSON": {
			"POST", "/api/v2/jobs", "{", "key-a", 400,
			`{"error":{"code":"invalid_request","message":"the request body is not valid JSON"}}`,
		},
		"v2 no workflow": {
			"POST", "/api/v2/jobs", "{}", "key-a", 422,
			`{"error":{"code":"invalid_workflow","message":"workflow must be an object: a graph in API format"}}`,
		},
		"v2 workflow of text": {
			"POST", "/api/v2/jobs", `{"workflow":"x"}`, "key-a", 422,
			`{"error":{"code":"invalid_workflow","message":"workflow must be an object: a graph in API format"}}`,
		},
		"v2 lapsed": {
			"POST", "/api/v2/jobs", `{"workflow":{}}`, "lapse", 403,
			`{"error":{"code":"subscription_inactive","message":"an active subscription is required to run workflows"}}`,
		},
		"v2 health": {"GET", "/api/v2/health", "", "", 200, `{"status":"healthy","upstream":"` + h.URL + `"}`},
		"v2 scope": {
			"POST", "/api/v2/jobs", "{}", "read", 403,
			`{"error":{"code":"forbidden","message":"this key does not carry the scope \"write\""}}`,
		},
		"v2 assets, unknown": {
			"GET", "/api/v2/assets-of-old", "", "", 404,
			`{"error":{"code":"not_found","message":"there is nothing at this path"}}`,
		},
		"cloud with a wrong key": {"GET", "/api/queue", "", "wrong", 401, `{"code":"unauthorized","message":"the credential is not valid"}`},
		"cloud unknown job":      {"GET", "/job/x/status", "", "key-a", 404, `{"code":"job_not_found","message":"no such job"}`},
		"cloud unknown path":     {"GET", "/api/nothing", "", "", 404, `{"code":"not_found","message":"there is nothing at this path"}`},
		"prompt bad JSON": {
			"POST", "/api/prompt", "{", "key-a", 400,
			`{"error":{"type":"invalid_json","message":"the request body is not valid JSON","details":"","extra_info":{}},"node_errors":{}}`,
		},
		"prompt without a key": {
			"POST", "/prompt", "{}", "", 401,
			`{"error":{"type":"unauthorized","message":"a credential is required","details":"","extra_info":{}},"node_errors":{}}`,
		},
		"prompt too large": {
			"POST", "/prompt", long, "key-a", 413,
			`{"error":{"type":"body_too_large","message":"the request body is larger than 64 bytes","details":"","extra_info":{}},` +
				`"node_errors":{}}`,
		},
		"prompt lapsed": {
			"POST", "/prompt", `{"prompt":{}}`, "lapse", 429,
			`{"error":{"type":"subscription_inactive","message":"an active subscription is required to run workflows","details":"",` +
				`"extra_info":{}},"node_errors":{}}`,
		},
		"prompt wrong type": {
			"POST", "/prompt", `{"prompt":{},"client_id":[3]}`, "key-a", 400,
			`{"error":{"type":"invalid_request","message":"client_id cannot be a JSON array","details":"","extra_info":{}},"node_errors":{}}`,
		},
		"socket without upgrade": {
			"GET", "/ws", "", "key-a", 400,
			`{"code":"invalid_request","message":"this path is a WebSocket: send an upgrade request"}`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := h.Do(t, c.method, c.path, c.body, "X-API-Key", c.key)
			require.Equal(t, c.status, got.Status, got.Body)
			require.JSONEq(t, c.want, got.Body)
			require.NotEmpty(t, got.Header.Get("X-Request-Id"))
			require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
		})
	}
}

func TestInternalErrorsShowNoCause(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Jobs.Refuse = fault.Wrap(http.ErrBodyNotAllowed, fault.Internal, "", "table jobs is missing")
	for path, body := range map[string]string{"/api/prompt": `{"prompt":{}}`, "/api/v2/jobs": `{"workflow":{}}`} {
		got := h.Do(t, "POST", path, body)
		require.Equal(t, http.StatusInternalServerError, got.Status)
		require.NotContains(t, got.Body, "table")
		require.Contains(t, got.Body, "An internal error occurred.")
	}
	require.Contains(t, h.Logs.String(), "table jobs is missing")
}

func TestCredentialsAreReadWhereTheContractsPutThem(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{Mode: account.ModeToken})
	cases := map[string]struct {
		headers []string
		status  int
	}{
		"header":               {[]string{"X-API-Key", "s3cret"}, 200},
		"bearer":               {[]string{"Authorization", "Bearer s3cret"}, 200},
		"bearer in lower case": {[]string{"Authorization", "bearer s3cret"}, 200},
		"header decides":       {[]string{"X-API-Key", "wrong", "Authorization", "Bearer s3cret"}, 401},
		"basic is no bearer":   {[]string{"Authorization", "Basic s3cret"}, 401},
		"none":                 {nil, 401},
		"token is for sockets": {nil, 401},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.status, h.Do(t, "GET", "/api/queue?token=s3cret", "", c.headers...).Status)
		})
	}
}

func TestModeNoneAnswersItsOwnOriginOnly(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{AllowedOrigins: []string{"http://ui.lan"}})
	own := h.URL
	cases := map[string]struct {
		headers []string
		status  int
	}{
		"plain client":               {nil, 200},
		"localhost":                  {[]string{"Host", "localhost:8188"}, 200},
		"IPv6 loopback":              {[]string{"Host", "[::1]:8188"}, 200},
		"rebound name":               {[]string{"Host", "evil.example"}, 403},
		"own origin":                 {[]string{"Origin", own}, 200},
		"allowed origin":             {[]string{"Origin", "http://ui.lan"}, 200},
		"foreign origin":             {[]string{"Origin", "https://evil.example"}, 403},
		"another port is another":    {[]string{"Origin", "http://127.0.0.1:1"}, 403},
		"opaque origin":              {[]string{"Origin", "null"}, 403},
		"embedded by another site":   {[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		"link followed from another": {[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.status, h.Do(t, "GET", "/queue", "", c.headers...).Status)
		})
	}
}

func TestAnyHostIsServedWhereTheOperatorAllowsIt(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{AnyHost: true})
	require.Equal(t, 200, h.Do(t, "GET", "/queue", "", "Host", "BOX.lan:8188").Status)
	require.Equal(t, 403, h.Do(t, "GET", "/queue", "", "Host", "box.lan", "Origin", "https://evil.example").Status)
}

func TestAbsoluteLinksUseThePublicURL(t *testing.T) {
	t.Parallel()
	forwarded := []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil.example, pub.example", "X-Forwarded-Prefix", "/evil, /m"}
	cases := map[string]struct {
		opts apitest.Options
		want string
	}{
		"request":    {apitest.Options{Mode: account.ModeToken}, ""},
		"public URL": {apitest.Options{Mode: account.ModeToken, PublicURL: "https://x.example/pre/"}, "https://x.example/pre"},
		"trusted proxy": {
			apitest.Options{Mode: account.ModeToken, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
			"https://pub.example/m",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := apitest.Start(t, c.opts)
			want := c.want
			want = cmp.Or(want, h.URL)
			got := h.Do(t, "POST", "/api/v2/jobs", `{"workflow":{}}`, append(forwarded, "X-API-Key", "s3cret")...).JSON(t)
			id, _ := got["id"].(string)
			require.Equal(t, map[string]any{
				"self": want + "/api/v2/jobs/" + id, "events": want + "/api/v2/jobs/" + id + "/events",
				"cancel": want + "/api/v2/jobs/" + id + "/cancel",
			}, got["urls"])
		})
	}
}

func TestThePublicPrefixIsServedToo(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{PublicURL: "http://x.example/pre"})
	require.Equal(t, 200, h.Do(t, "GET", "/pre/api/queue", "").Status)
	require.Equal(t, 200, h.Do(t, "GET", "/api/queue", "").Status)
	require.Equal(t, 404, h.Do(t, "GET", "/prefix/api/queue", "").Status)
}

func TestABadPublicURLIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	for _, u := range []string{"x.example", "ftp://x", "http://x?y=1", "http://x#f"} {
		_, err := apitest.New(apitest.Deps{}, apitest.Options{PublicURL: u})
		require.Error(t, err, u)
	}
}

func TestTokensDoNotReachTheLog(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{Mode: account.ModeToken})
	h.Do(t, "GET", "/ws?token=s3cret&clientId=c", "")
	h.Do(t, "GET", "/api/queue", "", "X-API-Key", "s3cret")
	h.Do(t, "POST", "/api/prompt", `{"prompt":{},"extra_data":{"api_key_service":"s3cret"}}`, "X-API-Key", "s3cret")
	h.Do(t, "GET", "/api/queue?api_key=s3cret&limit=7&x=s3cret&x=s3cret", "")
	h.Do(t, "GET", "/api/queue?s3cret&s3cret=1", "")
	require.NotContains(t, h.Logs.String(), "s3cret")
	require.Contains(t, h.Logs.String(), "limit=7&redacted=2", "an operator reads what a route has read")
}

func TestTemporaryRefusalsHaveRetryAfter(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	full := fault.New(fault.Exhausted, fault.CodeQueueFull, "the queue is full")
	h.Jobs.Refuse = full.WithRetryAfter(1500 * time.Millisecond)
	for path, body := range map[string]string{"/api/prompt": `{"prompt":{}}`, "/api/v2/jobs": `{"workflow":{}}`} {
		got := h.Do(t, "POST", path, body)
		require.Equal(t, http.StatusTooManyRequests, got.Status)
		require.Equal(t, "2", got.Header.Get("Retry-After"), "whole seconds, never too early")
		require.Contains(t, got.Body, `"queue_full"`)
	}
}

func TestOutageIs503NotAClientError(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Jobs.Refuse = fault.Wrap(http.ErrServerClosed, fault.Unavailable, "", "dial tcp 10.1.2.3:5432")
	for path, body := range map[string]string{"/api/prompt": `{"prompt":{}}`, "/api/v2/jobs": `{"workflow":{}}`} {
		require.Equal(t, http.StatusServiceUnavailable, h.Do(t, "POST", path, body).Status)
	}
}
