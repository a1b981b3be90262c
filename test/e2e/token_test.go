package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

// tokenSecret is what the service checks tokens with.
const tokenSecret = "an issuer's secret, longer than 32 bytes"

// newToken makes an account and a token that names it; change has names and values of claims, nil = none.
func newToken(t *testing.T, s *service, name string, change ...any) string {
	t.Helper()
	now := time.Now()
	claims := jwt.MapClaims{"sub": name, "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	for i := 0; i+1 < len(change); i += 2 {
		claim, _ := change[i].(string)
		if claims[claim] = change[i+1]; change[i+1] == nil {
			delete(claims, claim)
		}
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(tokenSecret))
	require.NoError(t, err)
	return text
}

// with sends a request with these headers and no other credential.
func (c *client) with(method, path, body string, headers ...string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url(path), strings.NewReader(body))
	require.NoError(c.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return c.send(req)
}

func requireRefusal(t *testing.T, r reply, status int, errorType string) {
	t.Helper()
	require.Equal(t, status, r.status, r.body)
	require.Equal(t, errorType, r.header.Get("X-Service-Error-Type"), r.body)
	require.Equal(t, errorType, r.header.Get("X-Comfy-Error-Type"))
	require.Equal(t, errorType, decode(t, r.body)["error_type"])
	require.NotEmpty(t, r.header.Get("X-Service-Request-Id"))
}

func TestTokensAndKeysOfTheRouter(t *testing.T) {
	t.Parallel()
	s, c := start(t), newClient(t, "standard")
	s.Run(t, "accounts", "create", "tokens-of-router")
	token := newToken(t, s, "tokens-of-router")
	bearer := func(secret string) []string { return []string{"Authorization", "Bearer " + secret} }
	for name, x := range map[string]struct {
		path    string
		headers []string
		status  int
	}{
		"v1, a token":                     {"/v1/models", bearer(token), 200},
		"v1, a key as bearer":             {"/v1/models", bearer(c.key), 401},
		"v1, a key":                       {"/v1/models", []string{"X-API-Key", c.key}, 401},
		"v1, nothing":                     {"/v1/models", nil, 401},
		"v1, a token beside a wrong key":  {"/v1/models", append(bearer(token), "X-API-Key", "wrong"), 200},
		"v1, a token in another scheme":   {"/v1/models", []string{"Authorization", "Basic " + token}, 401},
		"v2, a token":                     {"/v2/models", bearer(token), 200},
		"v2, a key as bearer":             {"/v2/models", bearer(c.key), 200},
		"v2, a key":                       {"/v2/models", []string{"X-API-Key", c.key}, 200},
		"v2, a wrong key decides":         {"/v2/models", append(bearer(token), "X-API-Key", "wrong"), 401},
		"v2, a right key decides":         {"/v2/models", append(bearer("wrong"), "X-API-Key", c.key), 200},
		"v2, a key of the hosted service": {"/v2/models", bearer("comfyui-" + token), 401},
		"v2, nothing":                     {"/v2/models", nil, 401},
		"v2, a token that is over": {
			"/v2/models", bearer(newToken(t, s, "tokens-of-router", "exp", time.Now().Add(-time.Hour).Unix())),
			401,
		},
		"v2, a token without end":            {"/v2/models", bearer(newToken(t, s, "tokens-of-router", "exp", nil)), 401},
		"v2, a token without beginning":      {"/v2/models", bearer(newToken(t, s, "tokens-of-router", "nbf", nil)), 200},
		"v2, a token of nobody":              {"/v2/models", bearer(newToken(t, s, "nobody")), 401},
		"v2, a token of the local account":   {"/v2/models", bearer(newToken(t, s, "local")), 401},
		"v2, a token with another signature": {"/v2/models", bearer(token[:len(token)-6] + "AAAAAA"), 401},
	} {
		r := c.with("GET", x.path, "", x.headers...)
		require.Equal(t, x.status, r.status, "%s: %s", name, r.body)
		if x.status == 401 {
			requireRefusal(t, r, 401, "unauthorized")
		}
	}
	require.Equal(t, 200, c.with("GET", "/api/queue", "", bearer(token)...).status, "the cloud API takes tokens, too")
	require.Equal(t, 401, c.with("GET", "/api/v2/jobs", "", bearer(token)...).status, "the v2 API takes keys")
	require.Equal(t, 401, c.with("GET", "/api/v2/assets", "", bearer(token)...).status)
	require.Equal(t, 200, c.with("GET", "/api/v2/jobs", "", bearer(c.key)...).status)
	require.Equal(t, 401, c.with("GET", "/api/queue", "", bearer(newToken(t, s, "nobody"))...).status)
}

func TestRouterAccessOfAccounts(t *testing.T) {
	t.Parallel()
	s, c := start(t), newClient(t, "standard")
	name := "entitled"
	s.Run(t, "accounts", "create", name)
	token := []string{"Authorization", "Bearer " + newToken(t, s, name)}
	require.Contains(t, c.with("GET", "/v2/models?limit=100&all=true", "", token...).body, `"bfl/`)
	require.Equal(t, 200, c.with("GET", "/v2/models/sim/echo", "", token...).status)

	s.Run(t, "accounts", "models", name, "--allow", "bfl/*", "--allow", "sim/*", "--deny", "sim/echo", "--reason", "test")
	for _, v := range []string{"/v1", "/v2"} {
		listed := c.with("GET", v+"/models?limit=100&all=true", "", token...)
		require.Equal(t, 200, listed.status)
		require.Contains(t, listed.body, `"bfl/`)
		require.NotContains(t, listed.body, `"sim/echo"`, "what the account may not use is not listed")
		require.NotContains(t, listed.body, `"openai/`)
		requireRefusal(t, c.with("GET", v+"/models/sim/echo", "", token...), 403, "forbidden")
		requireRefusal(t, c.with("GET", v+"/models/sim/echo/openapi.json", "", token...), 403, "forbidden")
		requireRefusal(t, c.with("POST", v+"/models/sim/echo", `{}`, token...), 403, "forbidden")
		typo := c.with("GET", v+"/models/sim/ecko", "", token...)
		requireRefusal(t, typo, 404, "model_not_found")
		require.NotContains(t, typo.body, "sim/echo,")
		require.NotRegexp(t, `sim/echo\b[^-]`, typo.body, "nor suggested")
	}
	requireRefusal(t, c.with("POST", "/v2/models/sim/echo/requests", `{}`, token...), 403, "forbidden")
	requireRefusal(t, c.with("POST", "/v2/models/sim/echo/estimate", `{}`, token...), 403, "forbidden")

	s.Run(t, "accounts", "models", name, "--router", "off", "--reason", "test")
	for _, path := range []string{"/v1/models", "/v2/models", "/v2/models/bfl/flux-2-pro", "/v2/models/no/such"} {
		r := c.with("GET", path, "", token...)
		requireRefusal(t, r, 403, "not_enabled")
		require.Empty(t, r.header.Get("Retry-After"))
	}
	requireRefusal(t, c.with("POST", "/v2/models/bfl/flux-2-pro", `{}`, token...), 403, "not_enabled")

	s.Run(t, "accounts", "models", name, "--router", "on", "--allow", "all", "--deny", "none", "--reason", "test")
	require.Equal(t, 200, c.with("GET", "/v2/models/sim/echo", "", token...).status)
	s.Run(t, "accounts", "set", name, "--suspended", "--reason", "test")
	requireRefusal(t, c.with("GET", "/v1/models", "", token...), 403, "forbidden")
	requireRefusal(t, c.with("GET", "/v2/models", "", token...), 403, "forbidden")
}
