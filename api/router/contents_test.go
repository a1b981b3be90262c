package router_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	apirouter "github.com/millrace-dev/millrace/api/router"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/router"
)

// checking checks calls as the service does, and runs none.
type checking struct {
	apirouter.Calls
	offers router.Offers
}

func (c checking) Run(ctx context.Context, inv call.Invocation) (*call.Result, error) {
	if _, err := c.offers.Offer(ctx, inv); err != nil {
		return nil, err
	}
	return nil, call.Refuse(fault.Unavailable, call.ProviderError, "accepted")
}

func (c checking) Enqueue(ctx context.Context, inv call.Invocation) (call.Enqueued, error) {
	if _, err := c.offers.Offer(ctx, inv); err != nil {
		return call.Enqueued{}, err
	}
	return call.Enqueued{}, call.Refuse(fault.Exhausted, call.QueueBacklogFull, "accepted")
}

// startCatalog serves the models of one more catalog file; environment holds the credentials that are set.
func startCatalog(t *testing.T, opts apitest.Options, entries string, environment ...string) *apitest.Harness {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(entries), 0o600))
	models, err := catalog.Load(catalog.Options{Dirs: []string{dir}, Simulator: "http://127.0.0.1:1"})
	require.NoError(t, err)
	set := map[string]bool{}
	for _, name := range environment {
		set[name] = true
	}
	offers := router.Offers{Catalog: models, Lookup: func(name string) (string, bool) { return "x", set[name] }}
	return startOffers(t, opts, offers)
}

func startOffers(t *testing.T, opts apitest.Options, offers router.Offers) *apitest.Harness {
	t.Helper()
	return apitest.StartWith(t, opts, func(d *apitest.Deps) {
		d.Router = &apitest.ModelRouter{Models: &offers, Calls: checking{offers: offers}, Cursors: catalog.NewCursors(make([]byte, 32), time.Now)}
	})
}

// Every way to a 422: a field that the schema refuses, a rule of the entry, a field that nobody declares, a body without a
// price, here and at another server, and a body that names another task.
const waysTo422 = `provider: acme
base: https://api.acme.test
auth: {kind: none}
models:
  - model: priced
    submit: {url: /run}
    price: {exact: input.count * 0.01, as_of: 2026-11-01}
    input:
      type: object
      properties: {prompt: {type: string}, mode: {type: string}}
    rules:
      - {refuse: 'input.mode == "odd"', loc: [mode], msg: no such mode}
      - {refuse: input.tier != nil, loc: [tier], unpriced: true}
    alternates:
      - {server: fal, model: acme/other, request: {width: 'input.width'}}
      - {server: runware, model: acme/tasks}
  - model: other
    submit: {url: /other}
    price: {exact: input.width * 0.01, as_of: 2026-11-01}
  - model: tasks
    submit: {url: /tasks}
    encoding: tasks
    task: {id: uuid, members: {kind: image}}
    price: {exact: "0.01", as_of: 2026-11-01}
`

func TestEvery422ListsWhatIsWrong(t *testing.T) {
	t.Parallel()
	h := startCatalog(t, apitest.Options{}, waysTo422)
	for name, c := range map[string]struct{ query, body, loc, kind string }{
		"schema":                 {"", `{"prompt":1,"count":1}`, `["body","prompt"]`, "string_type"},
		"rule of the entry":      {"", `{"mode":"odd","count":1}`, `["body","mode"]`, "value_error"},
		"undeclared field":       {"?reject_unknown_fields=true", `{"count":1}`, `["body","count"]`, "extra_forbidden"},
		"no price":               {"", `{"prompt":"x"}`, `["body"]`, "price_not_covered"},
		"no price of a field":    {"", `{"prompt":"x","count":1,"tier":"flex"}`, `["body","tier"]`, "price_not_covered"},
		"no price elsewhere":     {"?model_provider=fal&strict_mode=true", `{"width":"wide"}`, `["body"]`, "price_not_covered"},
		"no price, translated":   {"?model_provider=fal", `{"prompt":"x"}`, `["body"]`, "price_not_covered"},
		"another task":           {"?model_provider=runware&strict_mode=true", `{"kind":"video"}`, `["body","kind"]`, "extra_forbidden"},
		"another call's task id": {"?model_provider=runware&strict_mode=true", `{"uuid":"x"}`, `["body","uuid"]`, "extra_forbidden"},
	} {
		for _, path := range []string{
			"/v2/models/acme/priced", "/v2/models/acme/priced/requests", "/v2/models/acme/priced/estimate",
			"/v1/models/acme/priced",
		} {
			got := h.Do(t, http.MethodPost, path+c.query, c.body)
			require.Equal(t, 422, got.Status, "%s at %s: %s", name, path, got.Body)
			require.Equal(t, []string{call.InvalidInput, call.InvalidInput},
				[]string{got.Header.Get("X-Service-Error-Type"), got.Header.Get("X-Comfy-Error-Type")})
			requireDetail(t, got.Body, c.loc, c.kind)
		}
	}
}

// requireDetail fails unless the body is a detail array of one entry, and nothing else.
func requireDetail(t *testing.T, body, loc, kind string) {
	t.Helper()
	var whole map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(body), &whole), body)
	require.Len(t, whole, 1, body)
	var detail []struct {
		Loc       json.RawMessage
		Msg, Type string
	}
	require.NoError(t, json.Unmarshal(whole["detail"], &detail), body)
	require.Len(t, detail, 1, body)
	require.JSONEq(t, loc, string(detail[0].Loc), body)
	require.Equal(t, kind, detail[0].Type, body)
	require.NotEmpty(t, detail[0].Msg, body)
}

// Another server takes over unless its caller or the operator says no.
func TestFallbackIsOnByDefault(t *testing.T) {
	t.Parallel()
	for _, off := range []bool{false, true} {
		seen := make(chan bool, 1)
		h := apitest.StartWith(t, apitest.Options{}, func(d *apitest.Deps) {
			d.Router = &apitest.ModelRouter{
				Models: &router.Offers{}, Calls: watching{seen: seen},
				Cursors: catalog.NewCursors(make([]byte, 32), time.Now), NoFallback: off,
			}
		})
		for query, want := range map[string]bool{
			"": true, "?fallback_provider=": true, "?fallback_provider=true": true, "?fallback_provider=fal": true,
			"?fallback_provider=false": false, "?strict_mode=true": false, "?strict_mode=true&fallback_provider=true": false,
		} {
			h.Do(t, http.MethodPost, "/v2/models/sim/echo"+query, `{}`)
			require.Equal(t, want && !off, <-seen, "%q, off: %t", query, off)
		}
	}
}

// watching says of each call whether another server may take it over.
type watching struct {
	apirouter.Calls
	seen chan bool
}

func (w watching) Run(_ context.Context, inv call.Invocation) (*call.Result, error) {
	w.seen <- inv.Options.Fallback
	return nil, call.Refuse(fault.Unavailable, call.ProviderError, "seen")
}
