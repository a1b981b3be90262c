package router_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

const picture = `{"model":"gpt-image-2","prompt":"x","quality":"low"}`

var spendHeaders = []string{"X-Committed-Spend-Limit", "X-Committed-Spend-Current", "X-Committed-Spend-Remaining"}

func decode(t *testing.T, body string) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &v), body)
	return v
}

func (r reply) failed(t *testing.T, status int, errorType string) {
	t.Helper()
	require.Equal(t, status, r.status, r.body)
	require.Equal(t, errorType, r.header.Get("X-Service-Error-Type"))
	require.Equal(t, errorType, r.header.Get("X-Comfy-Error-Type"))
	require.Equal(t, errorType, decode(t, r.body)["error_type"])
}

func TestTheSchemasAddressIsGivenOnHTTPS(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, version := range []string{"v1", "v2"} {
		echo := decode(t, c.do("GET", "/"+version+"/models/sim/echo", "").body)
		require.Equal(t, "https://router.example/"+version+"/models/sim/echo/openapi.json", echo["input_schema_url"])
		require.NotContains(t, decode(t, c.do("GET", "/"+version+"/models/sim/open", "").body), "input_schema_url")
	}
	one, two := c.do("GET", "/v1/models/sim/echo/openapi.json", ""), c.do("GET", "/v2/models/sim/echo/openapi.json", "")
	require.NotContains(t, one.body, "The input as it was sent.") // part of the output's schema
	require.Contains(t, two.body, "The input as it was sent.")
	require.NotEqual(t, one.header.Get("ETag"), two.header.Get("ETag"))
	require.Equal(t, 200, c.do("GET", "/v2/models/sim/echo/openapi.json", "", "If-None-Match", one.header.Get("ETag")).status)
}

func TestVersionOne(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	req, err := http.NewRequestWithContext(t.Context(), "GET", c.base+"/v1/models", nil)
	require.NoError(t, err)
	req.Header.Set("X-API-Key", c.key)
	c.send(req).failed(t, 401, "unauthorized")
	require.Equal(t, 200, c.do("GET", "/v1/models?limit=0", "").status)
	c.do("GET", "/v1/models?cursor=%21", "").failed(t, 400, "invalid_input")
	require.Equal(t, 404, c.do("POST", "/v1/models/sim/echo/requests", `{"prompt":"x"}`).status)

	first := c.do("POST", "/v1/models/openai/gpt-image-2", picture, "Idempotency-Key", "one")
	require.Equal(t, 200, first.status, first.body)
	again := c.do("POST", "/v1/models/openai/gpt-image-2", picture, "Idempotency-Key", "one")
	require.Equal(t, first.body, again.body)
	require.NotEqual(t, first.header.Get("X-Service-Request-Id"), again.header.Get("X-Service-Request-Id"))
	for _, r := range []reply{first, again} {
		for _, name := range append([]string{"Idempotent-Replayed", "X-Comfy-Credits-Used", "X-Litellm-Response-Cost"}, spendHeaders...) {
			require.NotContains(t, r.header, name)
		}
	}
	other := c.do("POST", "/v2/models/openai/gpt-image-2", picture, "Idempotency-Key", "one")
	other.failed(t, 409, "invalid_input") // the key belongs to another path
	require.Empty(t, other.header.Get("Retry-After"))
}

func TestTheCeilingOnCommittedSpend(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	answered := c.do("POST", "/v2/models/openai/gpt-image-2", picture)
	require.Equal(t, 200, answered.status, answered.body)
	require.Equal(t, "100", answered.header.Get("X-Committed-Spend-Limit"))
	for _, name := range spendHeaders {
		require.Regexp(t, `^\d+$`, answered.header.Get(name))
	}
	require.Regexp(t, `^\d+\.\d\d$`, answered.header.Get("X-Comfy-Credits-Used"))
	for _, version := range []string{"v1", "v2"} {
		r := c.do("POST", "/"+version+"/models/openai/gpt-image-2", `{"model":"gpt-image-2","prompt":"x","quality":"high","n":10}`)
		r.failed(t, 429, "concurrency_limit_exceeded")
		require.Equal(t, []string{"100", "0", "100"}, []string{
			r.header.Get(spendHeaders[0]), r.header.Get(spendHeaders[1]),
			r.header.Get(spendHeaders[2]),
		})
	}
}

func TestDeadlineWithoutGenerationHasNoRetryAfter(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	unsent := c.do("POST", "/v2/models/sim/image", `{"prompt":"x [sim:hang]"}`, "Idempotency-Key", "unsent")
	unsent.failed(t, 504, "deadline_exceeded")
	require.Empty(t, unsent.header.Get("Retry-After"), "the provider has not taken it")
}

func TestLinksOfCopiedAssetsUseThePublicURL(t *testing.T) {
	t.Parallel()
	r := newClient(t).do("POST", "/v2/models/sim/image", `{"prompt":"x"}`)
	require.Equal(t, 200, r.status, r.body)
	require.Contains(t, r.body, `"https://router.example/files/`)
}

// endless is a body whose sender waits for the answer before it continues.
type endless struct{ ctx context.Context } //nolint:containedctx // lives for one call

func (e endless) Read([]byte) (int, error) {
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

func TestALargeBodyIsRefusedEarly(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, path := range []string{
		"/v2/models/sim/echo", "/v2/models/sim/echo/requests", "/v2/models/sim/echo/estimate",
		"/v1/models/sim/echo",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "POST", c.base+path, endless{ctx})
		require.NoError(t, err)
		req.ContentLength = 1 << 30
		req.Header.Set("X-API-Key", c.key)
		if strings.HasPrefix(path, "/v1/") {
			req.Header.Del("X-API-Key")
			req.Header.Set("Authorization", c.bearer())
		}
		res, err := http.DefaultClient.Do(req) // nothing of the body is sent
		require.NoError(t, err)
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		res.Body.Close()
		cancel()
		reply{res.StatusCode, res.Header, string(raw)}.failed(t, 413, "invalid_input")
	}
	long := `{"prompt":"` + strings.Repeat("x", maxBody) + `"}`
	// chunked
	req, err := http.NewRequestWithContext(t.Context(), "POST", c.base+"/v2/models/sim/echo", struct{ io.Reader }{strings.NewReader(long)})
	require.NoError(t, err)
	req.Header.Set("X-API-Key", c.key)
	c.send(req).failed(t, 413, "invalid_input")
	exact := `{"prompt":"` + strings.Repeat("x", maxBody-len(`{"prompt":""}`)) + `"}`
	require.Equal(t, 200, c.do("POST", "/v2/models/sim/echo", exact).status)
}

func TestASecretOfAProviderAppearsNowhere(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	var got strings.Builder
	var call string
	for model, body := range map[string]string{
		"openai/gpt-image-2": `{"model":"gpt-image-2","quality":"low","prompt":"x%s"}`,
		"bfl/flux-2-pro":     `{"prompt":"x%s"}`,
	} {
		for _, mark := range []string{"", " [sim:policy]", " [sim:invalid]", " [sim:error]", " [sim:drop]", " [sim:html]"} {
			r := c.do("POST", "/v2/models/"+model, fmt.Sprintf(body, mark))
			fmt.Fprintln(&got, r.header, r.body)
			if r.status == 200 {
				call = r.header.Get("X-Service-Request-Id")
			}
		}
	}
	require.NotEmpty(t, call)
	require.NotContains(t, got.String(), credential)
	require.NotContains(t, c.log.String(), credential)
	require.NotContains(t, c.log.String(), jwtSecret)
	require.NotContains(t, c.log.String(), c.key)
	require.Contains(t, c.log.String(), call) // the search covers the log of these calls
	for database, query := range map[string]string{
		"millrace": `select count(*) from events where position($1 in stream || data::text || meta::text) > 0`,
		"temporal": `select count(*) from history_node where position(convert_to($1, 'UTF8') in data) > 0`,
	} {
		require.Zero(t, c.count(t, database, query, credential), database)
		require.NotZero(t, c.count(t, database, query, call), database) // the search finds existing texts
	}
}

// count runs a query that counts on a database of the service.
func (s *service) count(t *testing.T, database, query, text string) (n int) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s port=5432 user=millrace dbname=%s", filepath.Join(s.data, "postgres", "run"),
		database))
	require.NoError(t, err)
	defer db.Close(context.WithoutCancel(t.Context()))
	require.NoError(t, db.QueryRow(t.Context(), query, text).Scan(&n))
	return n
}
