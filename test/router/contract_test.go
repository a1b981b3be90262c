package router_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

// without sends a request without any credential.
func (c *client) without(method, path string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, http.NoBody)
	require.NoError(c.t, err)
	return c.send(req)
}

func TestPathsOfTheRouterAskForACredential(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, path := range []string{"/v2/models/sim/echo/hd", "/v2/nowhere", "/v1/models/sim/echo/hd", "/v2/models/sim/echo/requests/x/y"} {
		refused := c.without("GET", path)
		refused.failed(t, 401, "unauthorized")
		require.NotEmpty(t, refused.header.Get("WWW-Authenticate"))
		require.Equal(t, 404, c.do("GET", path, "").status)
	}
	variant := c.do("POST", "/v2/models/sim/echo/hd", `{"prompt":"x"}`)
	variant.failed(t, 404, "model_not_found")
	require.Contains(t, decode(t, variant.body)["detail"], "sim/echo", "what may have been meant")
	c.do("GET", "/v2/models/SIM/Echo", "").failed(t, 404, "model_not_found")
	require.Contains(t, c.do("GET", "/v2/models/SIM/Echo", "").body, "sim/echo")
}

func TestCreditIsCheckedBeforeTheBodyIsRead(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.run(t, "accounts", "credit", c.account, "--amount", "0", "--reason", "metered")
	for name, body := range map[string]string{"no JSON": "x", "no object": "[]", "against the schema": "{}"} {
		r := c.do("POST", "/v2/models/sim/echo", body)
		r.failed(t, 402, "insufficient_credits")
		require.Empty(t, r.header.Get("Retry-After"), name)
	}
	c.do("POST", "/v2/models/sim/echo", "--x--", "Content-Type", "multipart/form-data; boundary=x").failed(t, 402, "insufficient_credits")
	c.do("POST", "/v2/models/no/such", "{}").failed(t, 402, "insufficient_credits")
	c.run(t, "accounts", "credit", c.account, "--amount", "1", "--reason", "funded")
	c.do("POST", "/v2/models/sim/echo", "--x--", "Content-Type", "multipart/form-data; boundary=x").failed(t, 400, "invalid_input")
	c.do("POST", "/v2/models/no/such", "{}").failed(t, 404, "model_not_found")
	require.Equal(t, 200, c.do("POST", "/v2/models/sim/echo", `{"prompt":"x"}`).status)
}

func TestInactiveAccountRunsNothingButReadsItsResults(t *testing.T) { // what was paid for is handed out
	t.Parallel()
	c := newClient(t)
	const path, body = "/v2/models/sim/echo", `{"prompt":"x"}`
	before := c.do("POST", path, body, "Idempotency-Key", "paid")
	require.Equal(t, 200, before.status)
	queued := decode(t, c.do("POST", path+"/requests", body).body)["request_id"].(string)
	c.run(t, "accounts", "set", c.account, "--inactive", "--reason", "unpaid")
	for _, other := range []string{"/v1/models/sim/echo", path, path + "/requests"} {
		r := c.do("POST", other, body)
		r.failed(t, 403, "forbidden")
		require.Contains(t, decode(t, r.body)["detail"], "subscription")
		c.do("POST", other, "not JSON").failed(t, 403, "forbidden") // refused before the body is read
	}
	again := c.do("POST", path, body, "Idempotency-Key", "paid")
	require.Equal(t, []any{200, before.body, "true"}, []any{again.status, again.body, again.header.Get("Idempotent-Replayed")})
	require.Eventually(t, func() bool { return c.do("GET", path+"/requests/"+queued, "").status == 200 }, patience, 20*time.Millisecond)
	require.Equal(t, 200, c.do("GET", "/v2/models", "").status)
	c.run(t, "accounts", "set", c.account, "--inactive=false", "--reason", "paid")
	require.Equal(t, 200, c.do("POST", path, body).status)
}

func TestResultIsServedAfterTheModelIsRevoked(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	const path = "/v2/models/sim/echo/requests"
	id := decode(t, c.do("POST", path, `{"prompt":"x"}`).body)["request_id"].(string)
	c.run(t, "accounts", "models", c.account, "--allow", "sim/open", "--reason", "test")
	require.Eventually(t, func() bool { return c.do("GET", path+"/"+id, "").status == 200 }, patience, 20*time.Millisecond)
	require.Equal(t, "COMPLETED", decode(t, c.do("GET", path+"/"+id+"/status", "").body)["status"])
	const unknown = "/ffffffff-0000-4000-8000-000000000009"
	c.do("GET", path+unknown, "").failed(t, 403, "forbidden")
	c.do("GET", "/v2/models/sim/open/requests"+unknown, "").failed(t, 404, "request_not_found")
	c.do("GET", "/v2/models/no/such/requests"+unknown, "").failed(t, 404, "model_not_found")
	c.do("GET", "/v2/models/sim/open/requests/"+strings.ToUpper(id), "").failed(t, 404, "request_not_found")
}

func TestVersionOneSetsRequestIDHeadersOnly(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ran := c.do("POST", "/v1/models/openai/gpt-image-2", picture)
	require.Equal(t, 200, ran.status, ran.body)
	id := ran.header.Get("X-Service-Request-Id")
	require.Equal(t, []string{id, id}, []string{ran.header.Get("X-Comfy-Request-Id"), ran.header.Get("X-Request-Id")})
	for name := range ran.header { // headers of HTTP itself, and the only header of the router in its spellings
		require.Contains(t, []string{
			"X-Service-Request-Id", "X-Comfy-Request-Id", "X-Request-Id", "X-Content-Type-Options", "Content-Security-Policy",
			"Cache-Control", "Content-Length", "Content-Type", "Date",
		}, name)
	}
}

func TestKeysOfBothVersions(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, version := range []string{"v1", "v2"} {
		path, key := "/"+version+"/models/sim/echo", "k-"+version
		for _, wrong := range []string{"", strings.Repeat("k", 256), strings.Repeat("\u00fc", 256)} {
			c.do("POST", path, `{"prompt":"x"}`, "Idempotency-Key", wrong).failed(t, 400, "invalid_input")
		}
		require.Equal(t, 200, c.do("POST", path, `{"prompt":"x"}`, "Idempotency-Key", version+strings.Repeat("\u00fc", 253)).status)
		require.Equal(t, 200, c.do("POST", path, `{"prompt":"x"}`, "Idempotency-Key", key).status)
		for _, other := range []string{`{"prompt":"y"}`, `{"prompt":"x"} `, "{\"prompt\":\"x\"}\n", `{"prompt": "x"}`} {
			r := c.do("POST", path, other, "Idempotency-Key", key)
			r.failed(t, 409, "invalid_input")
			require.Empty(t, r.header.Get("Retry-After"))
		}
		require.Equal(t, 409, c.do("POST", path+"?", `{"prompt":"x"}`, "Idempotency-Key", key).status, "the query is part of it")
	}
}

func TestTruncatedBodyIs400(t *testing.T) { // lying Content-Length
	t.Parallel()
	c := newClient(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.base, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /v2/models/sim/echo HTTP/1.1\r\nHost: router.example\r\nX-API-Key: %s\r\nContent-Length: "+
		"1000\r\n\r\n{\"prompt\":", c.key)
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	reply{res.StatusCode, res.Header, string(raw)}.failed(t, 400, "invalid_input")
}

func TestTokensNeedNoPrefix(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	bearer := func(claims jwt.MapClaims) reply {
		claims["sub"] = c.account
		token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(jwtSecret))
		require.NoError(t, err)
		return c.do("GET", "/v1/models", "", "Authorization", "Bearer "+token)
	}
	end := time.Now().Add(time.Hour).Unix()
	require.Equal(t, 200, bearer(jwt.MapClaims{"exp": end}).status)
	bearer(jwt.MapClaims{"exp": end, "nbf": time.Now().Add(10 * time.Minute).Unix()}).failed(t, 401, "unauthorized")
	bearer(jwt.MapClaims{}).failed(t, 401, "unauthorized")
}

func TestInconsistentAnswersAreRefused(t *testing.T) { // R-51; the provider is asked once for a key, whatever it answers
	t.Parallel()
	c := newClient(t)
	for _, model := range []string{"json", "bytes"} {
		for _, how := range []string{"promises", "truncated", "negative", "large", "endless"} {
			word := how + "-" + model
			ask := func() reply {
				r := c.do("POST", "/v2/models/probe/"+model, `{"how":"`+word+`"}`, "Idempotency-Key", word)
				require.NotContains(t, r.body, "xxxx", "nothing of the answer is passed on")
				return r
			}
			ask().failed(t, 502, "provider_error")
			again := ask()
			if again.status == 502 { // recorded
				again.failed(t, 502, "provider_error")
				require.Equal(t, "true", again.header.Get("Idempotent-Replayed"), word)
			} else { // the outcome is not known
				again.failed(t, 409, "invalid_input")
			}
			require.Equal(t, 1, c.probe.count(word), word)
		}
		r := c.do("POST", "/v2/models/probe/"+model, `{"how":"exceeds-`+model+`"}`)
		require.Equal(t, []any{200, "{}"}, []any{r.status, r.body}, "what stands behind the promised length is no part of the answer")
	}
}

func TestGenerationIsCollectedAfterItsConnectionBroke(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			word := "outlives-" + version
			ask := func() reply {
				return c.do("POST", "/"+version+"/models/probe/slow", `{"how":"`+word+`"}`, "Idempotency-Key", "k")
			}
			late := ask()
			late.failed(t, 504, "deadline_exceeded")
			require.Regexp(t, `^[1-9]\d*$`, late.header.Get("Retry-After"))
			require.Empty(t, late.header.Get("X-Comfy-Upstream-Status"), "the provider has not failed")
			close(c.probe.gate(word))
			var got reply
			require.Eventually(t, func() bool { got = ask(); return got.status == 200 }, patience, 20*time.Millisecond)
			require.JSONEq(t, `{"id":"`+word+`","done":true}`, got.body)
			require.Equal(t, version == "v2", got.header.Get("Idempotent-Replayed") == "true")
			require.Equal(t, 1, c.probe.count(word), "it was sent once")
		})
	}
	t.Run("without a key there is nothing to collect by", func(t *testing.T) {
		t.Parallel()
		r := newClient(t).do("POST", "/v2/models/probe/slow", `{"how":"unkeyed"}`)
		r.failed(t, 504, "deadline_exceeded")
		require.Empty(t, r.header.Get("Retry-After"))
	})
}

func TestOutputSchemaDoesNotRejectAnswers(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, model := range []string{"typed", "json"} {
		for _, how := range []string{"plain", "accepted"} {
			for _, version := range []string{"v1", "v2"} {
				r := c.do("POST", "/"+version+"/models/probe/"+model, `{"how":"`+how+`"}`)
				require.Equal(t, []any{200, oddAnswer}, []any{r.status, r.body}, "%s %s", model, how)
			}
		}
	}
}

func TestVersionsAnswerAlike(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	both := func(method, path, body string) (one, two reply) {
		one, two = c.do(method, "/v1"+path, body), c.do(method, "/v2"+path, body)
		for _, r := range []reply{one, two} {
			for _, name := range []string{"Deprecation", "Sunset", "Warning"} {
				require.NotContains(t, r.header, name)
			}
		}
		require.Equal(t, two.status, one.status, path)
		return one, two
	}
	one, two := both("GET", "/models?limit=3", "")
	require.Equal(t, decode(t, two.body)["data"], decode(t, one.body)["data"])
	next := "/models?limit=100&cursor=" + decode(t, two.body)["next_cursor"].(string) // a position in the order, independent of its version
	one, two = both("GET", next, "")
	require.Equal(t, two.body, one.body)
	one, two = both("GET", "/models/sim/open", "")
	require.Equal(t, two.body, one.body)
	for _, refused := range []struct{ method, path, body string }{
		{"GET", "/models/sim/ecko", ""},
		{"POST", "/models/sim/ecko", "{}"},
		{"POST", "/models/sim/echo", "[]"},
		{"POST", "/models/sim/echo", "{}"},
		{"POST", "/models/sim/echo", `{"prompt":"x [sim:policy]"}`},
		{"POST", "/models/sim/echo", `{"prompt":"x [sim:error]"}`},
		{"POST", "/models/sim/echo", `{"prompt":"x [sim:validation]"}`},
		{"GET", "/models?limit=x", ""},
		{"GET", "/models?cursor=x", ""},
	} {
		one, two := both(refused.method, refused.path, refused.body)
		require.GreaterOrEqual(t, one.status, 400)
		require.Equal(t, two.body, one.body)
		require.Equal(t, two.header.Get("X-Service-Error-Type"), one.header.Get("X-Service-Error-Type"))
	}
}
