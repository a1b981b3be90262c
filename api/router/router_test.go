package router_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	apirouter "github.com/millrace-dev/millrace/api/router"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/router"
)

// What a refusal says is in the headers of both families, by the rules of the version.
func TestHeadersOfARefusal(t *testing.T) {
	t.Parallel()
	const v1, v2, queue = "/v1/models/sim/echo", "/v2/models/sim/echo", "/v2/models/sim/echo/requests"
	spend := call.Refuse(fault.Exhausted, call.ConcurrencyLimit, "ceiling")
	spend.Spend = &call.Spend{Limit: 100, Current: 90, Remaining: 10}
	window := call.Refuse(fault.Exhausted, call.RateLimited, "the minute is used up")
	window.RetryAfter = 7
	provider := call.Refuse(fault.Invalid, call.InvalidInput, "no")
	provider.UpstreamStatus, provider.UpstreamDetail, provider.Replayed = 418, "line\nbreak: ü", true
	spent := map[string]string{
		"X-Committed-Spend-Limit": "100", "X-Committed-Spend-Current": "90", "X-Committed-Spend-Remaining": "10",
		"Retry-After": "",
	}
	for name, tc := range map[string]struct {
		path      string
		refusal   *call.Refusal
		status    int
		errorType string
		headers   map[string]string
	}{
		"spend, v1":    {v1, spend, 429, call.ConcurrencyLimit, spent},
		"spend, v2":    {v2, spend, 429, call.ConcurrencyLimit, spent},
		"window, v1":   {v1, window, 429, call.ConcurrencyLimit, map[string]string{"Retry-After": "7", "X-Committed-Spend-Limit": ""}},
		"window, v2":   {v2, window, 429, call.RateLimited, map[string]string{"Retry-After": "7", "X-Committed-Spend-Limit": ""}},
		"provider, v1": {v1, provider, 400, call.InvalidInput, map[string]string{"Idempotent-Replayed": ""}},
		"provider, v2": {
			v2, provider, 400, call.InvalidInput,
			map[string]string{"Idempotent-Replayed": "true", "X-Comfy-Upstream-Status": "418", "X-Comfy-Upstream-Detail": "line break: ?"},
		},
		"queue's, outside":  {v2, call.Refuse(fault.Exhausted, call.QueueBacklogFull, "full"), 500, call.InternalError, nil},
		"queue's, its own":  {queue, call.Refuse(fault.Exhausted, call.QueueBacklogFull, "full"), 429, call.QueueBacklogFull, nil},
		"no queue in v1":    {v1 + "/requests", spend, 404, call.ModelNotFound, nil},
		"no estimate in v1": {v1 + "/estimate", spend, 404, call.ModelNotFound, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := apitest.StartRouter(t, apitest.Options{}, apitest.Refusing{Refusal: tc.refusal})
			got := h.Do(t, http.MethodPost, tc.path, `{"prompt":"x"}`)
			require.Equal(t, tc.status, got.Status, got.Body)
			require.Equal(t, tc.errorType, got.JSON(t)["error_type"])
			for _, header := range []string{"X-Service-Error-Type", "X-Comfy-Error-Type"} {
				require.Equal(t, tc.errorType, got.Header.Get(header))
			}
			for header, want := range tc.headers {
				require.Equal(t, want, got.Header.Get(header), header)
			}
		})
	}
}

// A provider's 422 is recognised by its fields alone.
func TestFieldsThatAProviderRefuses(t *testing.T) {
	t.Parallel()
	fields := call.Refuse(fault.Invalid, call.InvalidInput, "no")
	fields.UpstreamStatus, fields.UpstreamDetail = 422, "words"
	fields.Validation = []byte(`[{"type":"missing","loc":["body","images",0],"msg":"m","extra":1.0}]`)
	got := apitest.StartRouter(t, apitest.Options{}, apitest.Refusing{Refusal: fields}).Do(t, http.MethodPost, "/v2/models/sim/echo",
		`{"prompt":"x"}`)
	require.Equal(t, 422, got.Status)
	require.Equal(t, `{"detail":`+string(fields.Validation)+"}\n", got.Body)
	require.Equal(t, call.InvalidInput, got.Header.Get("X-Service-Error-Type"))
	for _, name := range []string{"X-Comfy-Upstream-Status", "X-Comfy-Upstream-Detail", "Retry-After"} {
		require.NotContains(t, got.Header, name)
	}
}

// The address of a model's document is given where it is on https, in the version that was asked.
func TestAddressOfASchema(t *testing.T) {
	t.Parallel()
	h := apitest.StartRouter(t, apitest.Options{PublicURL: "https://models.example/below"}, apitest.Refusing{})
	for _, version := range []string{"v1", "v2"} {
		got := h.Do(t, "GET", "/below/"+version+"/models/sim/echo", "", "Host", "models.example")
		require.Equal(t, "https://models.example/below/"+version+"/models/sim/echo/openapi.json", got.JSON(t)["input_schema_url"])
		require.NotContains(t, h.Do(t, "GET", "/below/"+version+"/models/sim/open", "", "Host", "models.example").JSON(t), "input_schema_url")
	}
	one := h.Do(t, "GET", "/below/v1/models/sim/echo/openapi.json", "", "Host", "models.example")
	two := h.Do(t, "GET", "/below/v2/models/sim/echo/openapi.json", "", "Host", "models.example")
	require.NotEqual(t, one.Header.Get("ETag"), two.Header.Get("ETag"))
	require.NotContains(t, one.Body, "The input as it was sent", "v1 has the input only")
	require.Contains(t, two.Body, "The input as it was sent")
}

// panicking fails as no call should.
type panicking struct{ apirouter.Calls }

func (panicking) Run(context.Context, call.Invocation) (*call.Result, error) { panic("a bug") }

func (panicking) Status(context.Context, call.Handle) (call.Progress, error) { panic("a bug") }

// A panic is an answer like any other, and the service goes on.
func TestPanicIs500WithRequestID(t *testing.T) {
	t.Parallel()
	h := apitest.StartRouter(t, apitest.Options{}, panicking{})
	seen := map[string]bool{}
	for _, req := range [][2]string{
		{"POST", "/v2/models/sim/echo"},
		{"POST", "/v1/models/sim/echo"},
		{"GET", "/v2/models/sim/echo/requests/ffffffff-0000-4000-8000-000000000009/status"},
	} {
		got := h.Do(t, req[0], req[1], `{"prompt":"x"}`)
		require.Equal(t, 500, got.Status, got.Body)
		require.Equal(t, map[string]any{"detail": "the router failed; the operator's log has the details", "error_type": call.InternalError},
			got.JSON(t))
		id := got.Header.Get("X-Service-Request-Id")
		require.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, id)
		require.Equal(t, id, got.Header.Get("X-Comfy-Request-Id"))
		require.Equal(t, []string{call.InternalError, call.InternalError},
			[]string{got.Header.Get("X-Service-Error-Type"), got.Header.Get("X-Comfy-Error-Type")})
		require.Contains(t, h.Logs.String(), id, "the operator finds it")
		require.False(t, seen[id])
		seen[id] = true
	}
	require.Equal(t, 200, h.Do(t, "GET", "/v2/models", "").Status)
}

// The set of error types is closed at fifteen, and four more below …/requests; whatever else a part may say,
// a client never reads it.
func TestErrorTypesAreAClosedSet(t *testing.T) {
	t.Parallel()
	fifteen := []string{
		"invalid_input", "content_policy_violation", "provider_error", "provider_timeout", "insufficient_credits", "model_not_found",
		"unauthorized", "forbidden", "concurrency_limit_exceeded", "client_disconnected", "internal_error", "deadline_exceeded",
		"not_enabled", "service_unavailable", "rate_limited",
	}
	queues := []string{"cancelled", "queue_timeout", "request_not_found", "queue_backlog_full"}
	for _, errorType := range slices.Concat(fifteen, queues, []string{"made_up", ""}) {
		h := apitest.StartRouter(t, apitest.Options{}, apitest.Refusing{Refusal: call.Refuse(fault.Conflict, errorType, "a detail")})
		for path, set := range map[string][]string{
			"/v2/models/sim/echo": fifteen, "/v1/models/sim/echo": fifteen, "/v2/models/sim/echo/requests": append(slices.Clone(fifteen), queues...),
		} {
			got := h.Do(t, http.MethodPost, path, `{"prompt":"x"}`)
			answer := got.JSON(t)["error_type"]
			require.Equal(t, answer, got.Header.Get("X-Service-Error-Type"))
			switch {
			case !slices.Contains(set, errorType):
				require.Equal(t, []any{500, "internal_error"}, []any{got.Status, answer}, "%s at %s", errorType, path)
				require.NotContains(t, got.Body, "a detail")
			case errorType == "rate_limited" && path[:3] == "/v1":
				require.Equal(t, "concurrency_limit_exceeded", answer)
			default:
				require.Equal(t, []any{409, errorType}, []any{got.Status, answer}, path)
			}
		}
	}
}

// ailing is away until it is well.
type ailing struct {
	apirouter.Calls
	well *atomic.Bool
}

func (a ailing) Run(context.Context, call.Invocation) (*call.Result, error) {
	if !a.well.Load() {
		return nil, fault.New(fault.Unavailable, "", "the connection to 10.0.0.7 is refused")
	}
	return nil, call.Refuse(fault.Unavailable, call.ProviderError, "well")
}

func (a ailing) IdentityByKey(context.Context, account.KeyHash) (account.Identity, error) {
	if !a.well.Load() {
		return account.Identity{}, fault.New(fault.Unavailable, "", "the connection to 10.0.0.7 is refused")
	}
	return account.Identity{Account: "a", Active: true, Scopes: []account.Scope{account.ScopeRead, account.ScopeWrite}}, nil
}

// A part that is away is 503 on every route, says nothing of the inside, and clears by itself.
func TestAnOutageClearsByItself(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]apitest.Options{"the accounts": {Mode: account.ModeKeys}, "the calls": {}} {
		part := ailing{well: &atomic.Bool{}}
		models, err := catalog.Load(catalog.Options{Simulator: "http://127.0.0.1:1"})
		require.NoError(t, err)
		h := apitest.StartWith(t, opts, func(d *apitest.Deps) {
			if opts.Mode == account.ModeKeys {
				d.Auth = account.NewKeys(part)
			}
			d.Router = &apitest.ModelRouter{
				Models: &router.Offers{Catalog: models, Lookup: func(string) (string, bool) { return "", false }}, Calls: part,
				Cursors: catalog.NewCursors(make([]byte, 32), time.Now),
			}
		})
		routes := map[string]int{"POST /v2/models/sim/echo": 502}
		if opts.Mode == account.ModeKeys {
			for _, path := range []string{"/v2/models", "/v2/models/sim/echo", "/v2/models/sim/echo/openapi.json"} {
				routes["GET "+path] = 200
			}
		}
		ask := func(route string) apitest.Reply {
			method, path, _ := strings.Cut(route, " ")
			return h.Do(t, method, path, `{"prompt":"x"}`, "X-API-Key", "k")
		}
		for route := range routes {
			got := ask(route)
			require.Equal(t, 503, got.Status, "%s: %s: %s", name, route, got.Body)
			require.Equal(t, []any{"service_unavailable", "service_unavailable"},
				[]any{got.JSON(t)["error_type"], got.Header.Get("X-Service-Error-Type")})
			require.Regexp(t, `^[1-9]\d*$`, got.Header.Get("Retry-After"))
			require.NotContains(t, got.Body, "10.0.0.7")
		}
		part.well.Store(true)
		for route, status := range routes {
			require.Equal(t, status, ask(route).Status, "%s: %s", name, route)
		}
	}
}

// Allow names the methods of a route of a model, not those of the model's variants.
func TestAllowOfTheRoutesOfAModel(t *testing.T) {
	t.Parallel()
	h := apitest.StartRouter(t, apitest.Options{}, apitest.Refusing{})
	for _, target := range []string{"PUT /v2/models/sim/echo/estimate", "DELETE /v2/models/sim/echo/requests"} {
		method, path, _ := strings.Cut(target, " ")
		got := h.Do(t, method, path, "")
		require.Equal(t, []any{http.StatusMethodNotAllowed, "POST"}, []any{got.Status, got.Header.Get("Allow")}, target)
	}
}
