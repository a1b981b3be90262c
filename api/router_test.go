package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/internal/call"
	"github.com/millrace-dev/millrace/internal/catalog"
	"github.com/millrace-dev/millrace/internal/router"
)

// refusing answers every call with one refusal.
type refusing struct {
	api.Calls
	refusal *call.Refusal
}

func (r refusing) Run(context.Context, call.Invocation) (*call.Result, error) { return nil, r.refusal }

func (r refusing) Enqueue(context.Context, call.Invocation) (call.Enqueued, error) {
	return call.Enqueued{}, r.refusal
}

func startRouter(t *testing.T, opts api.Options, calls api.Calls) *harness {
	models, err := catalog.Load(catalog.Options{Simulator: "http://127.0.0.1:1"})
	require.NoError(t, err)
	return startWith(t, opts, func(d *api.Deps) {
		d.Router = &api.ModelRouter{
			Models:  router.Offers{Catalog: models, Lookup: func(string) (string, bool) { return "", false }},
			Calls:   calls,
			Cursors: catalog.NewCursors(make([]byte, 32), time.Now),
		}
	})
}

// What a refusal says is in the headers of both families, by the rules of the version.
func TestHeadersOfARefusal(t *testing.T) {
	t.Parallel()
	const v1, v2, queue = "/v1/models/sim/echo", "/v2/models/sim/echo", "/v2/models/sim/echo/requests"
	spend := call.Refuse(429, call.ConcurrencyLimit, "ceiling")
	spend.Spend = &call.Spend{Limit: 100, Current: 90, Remaining: 10}
	window := call.Refuse(429, call.RateLimited, "the minute is used up")
	window.RetryAfter = 7
	provider := call.Refuse(400, call.InvalidInput, "no")
	provider.UpstreamStatus, provider.UpstreamDetail, provider.Replayed = 418, "line\nbreak: ü", true
	spent := map[string]string{"X-Committed-Spend-Limit": "100", "X-Committed-Spend-Current": "90", "X-Committed-Spend-Remaining": "10", "Retry-After": ""}
	for name, tc := range map[string]struct {
		path      string
		refusal   *call.Refusal
		status    int
		errorType string
		headers   map[string]string
	}{
		"spend, v1":         {v1, spend, 429, call.ConcurrencyLimit, spent},
		"spend, v2":         {v2, spend, 429, call.ConcurrencyLimit, spent},
		"window, v1":        {v1, window, 429, call.ConcurrencyLimit, map[string]string{"Retry-After": "7", "X-Committed-Spend-Limit": ""}},
		"window, v2":        {v2, window, 429, call.RateLimited, map[string]string{"Retry-After": "7", "X-Committed-Spend-Limit": ""}},
		"provider, v1":      {v1, provider, 400, call.InvalidInput, map[string]string{"Idempotent-Replayed": ""}},
		"provider, v2":      {v2, provider, 400, call.InvalidInput, map[string]string{"Idempotent-Replayed": "true", "X-Comfy-Upstream-Status": "418", "X-Comfy-Upstream-Detail": "line break: ?"}},
		"queue's, outside":  {v2, call.Refuse(429, call.QueueBacklogFull, "full"), 500, call.InternalError, nil},
		"queue's, its own":  {queue, call.Refuse(429, call.QueueBacklogFull, "full"), 429, call.QueueBacklogFull, nil},
		"no queue in v1":    {v1 + "/requests", spend, 404, call.ModelNotFound, nil},
		"no estimate in v1": {v1 + "/estimate", spend, 404, call.ModelNotFound, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startRouter(t, api.Options{}, refusing{refusal: tc.refusal})
			got := h.do(t, http.MethodPost, tc.path, `{"prompt":"x"}`)
			require.Equal(t, tc.status, got.status, got.body)
			require.Equal(t, tc.errorType, got.json(t)["error_type"])
			for _, header := range []string{"X-Service-Error-Type", "X-Comfy-Error-Type"} {
				require.Equal(t, tc.errorType, got.header.Get(header))
			}
			for header, want := range tc.headers {
				require.Equal(t, want, got.header.Get(header), header)
			}
		})
	}
}

// The address of a model's document is given where it is on https, in the version that was asked.
func TestAddressOfASchema(t *testing.T) {
	t.Parallel()
	h := startRouter(t, api.Options{PublicURL: "https://models.example/below"}, refusing{})
	for _, version := range []string{"v1", "v2"} {
		got := h.do(t, "GET", "/below/"+version+"/models/sim/echo", "", "Host", "models.example")
		require.Equal(t, "https://models.example/below/"+version+"/models/sim/echo/openapi.json", got.json(t)["input_schema_url"])
		require.NotContains(t, h.do(t, "GET", "/below/"+version+"/models/sim/open", "", "Host", "models.example").json(t), "input_schema_url")
	}
	one := h.do(t, "GET", "/below/v1/models/sim/echo/openapi.json", "", "Host", "models.example")
	two := h.do(t, "GET", "/below/v2/models/sim/echo/openapi.json", "", "Host", "models.example")
	require.NotEqual(t, one.header.Get("ETag"), two.header.Get("ETag"))
	require.NotContains(t, one.body, "The input as it was sent", "v1 has the input only")
	require.Contains(t, two.body, "The input as it was sent")
}

// panicking fails as no call should.
type panicking struct{ api.Calls }

func (panicking) Run(context.Context, call.Invocation) (*call.Result, error) { panic("a bug") }

func (panicking) Status(context.Context, call.Handle) (call.Progress, error) { panic("a bug") }

// A panic is an answer like any other, and the service goes on.
func TestAPanicIsAnIdentifiedAnswer(t *testing.T) {
	t.Parallel()
	h := startRouter(t, api.Options{}, panicking{})
	seen := map[string]bool{}
	for _, req := range [][2]string{
		{"POST", "/v2/models/sim/echo"},
		{"POST", "/v1/models/sim/echo"},
		{"GET", "/v2/models/sim/echo/requests/ffffffff-0000-4000-8000-000000000009/status"},
	} {
		got := h.do(t, req[0], req[1], `{"prompt":"x"}`)
		require.Equal(t, 500, got.status, got.body)
		require.Equal(t, map[string]any{"detail": "the router failed; the operator's log has the details", "error_type": call.InternalError}, got.json(t))
		id := got.header.Get("X-Service-Request-Id")
		require.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, id)
		require.Equal(t, id, got.header.Get("X-Comfy-Request-Id"))
		require.Equal(t, []string{call.InternalError, call.InternalError}, []string{got.header.Get("X-Service-Error-Type"), got.header.Get("X-Comfy-Error-Type")})
		require.Contains(t, h.logs.String(), id, "the operator finds it")
		require.False(t, seen[id])
		seen[id] = true
	}
	require.Equal(t, 200, h.do(t, "GET", "/v2/models", "").status)
}
