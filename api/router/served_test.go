package router_test

import (
	"maps"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
)

const servedAndNot = `provider: acme
base: https://api.acme.test
auth: {kind: header, header: x-key, env: [ACME_KEY]}
models:
  - {model: painter, submit: {url: /run}, price: {exact: "0", as_of: 2026-11-01}}
`

const closedShop = `provider: acme
base: https://api.acme.test
auth: {kind: header, header: x-key, env: [NOBODY_SET_IT]}
models:
  - {model: painter, submit: {url: /run}, price: {exact: "0", as_of: 2026-11-01}}
`

// ids returns the ids of a list of models, with what the entry says of its credential.
func ids(t *testing.T, r apitest.Reply) map[string]any {
	t.Helper()
	require.Equal(t, 200, r.Status, r.Body)
	entries := map[string]any{}
	for _, entry := range r.JSON(t)["data"].([]any) {
		entry := entry.(map[string]any)
		entries[entry["id"].(string)] = entry["enabled"]
	}
	return entries
}

// everyID returns the models of every page of a list.
func everyID(t *testing.T, h *apitest.Harness, path string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for next := path; next != ""; {
		page := h.Do(t, "GET", next, "")
		maps.Copy(all, ids(t, page))
		next = ""
		if cursor, more := page.JSON(t)["next_cursor"].(string); more {
			next = path + "&cursor=" + url.QueryEscape(cursor)
		}
	}
	return all
}

// A model that the operator has set no credential for is absent everywhere unless a caller asks for all.
func TestModelsWithoutACredentialAreAbsent(t *testing.T) {
	t.Parallel()
	h := startCatalog(t, apitest.Options{}, closedShop)
	for _, v := range []string{"/v1", "/v2"} {
		listed := ids(t, h.Do(t, "GET", v+"/models?limit=100", ""))
		require.NotContains(t, listed, "acme/painter")
		require.Contains(t, listed, "sim/echo")
		require.Nil(t, listed["sim/echo"], "said of all models only")
		all := everyID(t, h, v+"/models?limit=100&all=true")
		require.Equal(t, []any{false, true}, []any{all["acme/painter"], all["sim/echo"]})

		for _, req := range [][2]string{{"GET", ""}, {"GET", "/openapi.json"}, {"POST", ""}} {
			requireAbsent(t, h.Do(t, req[0], v+"/models/acme/painter"+req[1], `{}`))
		}
		detail := h.Do(t, "GET", v+"/models/acme/painter?all=true", "")
		require.Equal(t, []any{200, false}, []any{detail.Status, detail.JSON(t)["enabled"]}, detail.Body)
		typo := h.Do(t, "GET", v+"/models/acme/paintr", "")
		require.Equal(t, 404, typo.Status)
		require.NotContains(t, typo.Body, "acme/painter", "nor suggested")
	}
	for _, path := range []string{"/requests", "/estimate"} {
		requireAbsent(t, h.Do(t, "POST", "/v2/models/acme/painter"+path, `{}`))
	}
	require.Equal(t, 400, h.Do(t, "GET", "/v2/models?all=perhaps", "").Status)

	open := startCatalog(t, apitest.Options{}, servedAndNot, "ACME_KEY")
	require.Contains(t, ids(t, open.Do(t, "GET", "/v2/models?limit=100", "")), "acme/painter")
	require.Equal(t, 502, open.Do(t, "POST", "/v2/models/acme/painter", `{}`).Status, "accepted")
}

func requireAbsent(t *testing.T, r apitest.Reply) {
	t.Helper()
	require.Equal(t, []any{404, call.ModelNotFound}, []any{r.Status, r.JSON(t)["error_type"]}, r.Body)
	require.NotContains(t, r.Body, "did you mean")
}

const variants = `provider: acme
base: https://api.acme.test
auth: {kind: none}
models:
  - {model: painter, submit: {url: /run}, price: {exact: "0", as_of: 2026-11-01}}
  - {model: painter, variant: fast, submit: {url: /fast}, price: {exact: "0.5", as_of: 2026-11-01}, input: {type: object,` +
	` required: [prompt]}}
`

// A variant that the catalog declares has every route of a model, and is in no list and no suggestion. Others are unknown.
func TestAVariantIsAddressedByAThirdSegment(t *testing.T) {
	t.Parallel()
	h := startCatalog(t, apitest.Options{}, variants)
	for _, v := range []string{"/v1", "/v2"} {
		require.NotContains(t, h.Do(t, "GET", v+"/models?limit=100&all=true", "").Body, "acme/painter/fast")
		detail := h.Do(t, "GET", v+"/models/acme/painter/fast", "")
		require.JSONEq(t, `{"id":"acme/painter/fast","provider":"acme","model":"painter","billing":{"charges_on_policy_rejection":"unknown"}}`,
			detail.Body)
		schema := h.Do(t, "GET", v+"/models/acme/painter/fast/openapi.json", "")
		require.Equal(t, 200, schema.Status)
		require.Contains(t, schema.Body, v+"/models/acme/painter/fast")
		require.Equal(t, 422, h.Do(t, "POST", v+"/models/acme/painter/fast", `{}`).Status, "the variant's own schema")
		require.Equal(t, 502, h.Do(t, "POST", v+"/models/acme/painter", `{}`).Status, "accepted")
		for _, other := range []string{"/slow", "/FAST", "/fas"} {
			unknown := h.Do(t, "GET", v+"/models/acme/painter"+other, "")
			require.Equal(t, []any{404, call.ModelNotFound}, []any{unknown.Status, unknown.JSON(t)["error_type"]})
			require.NotContains(t, unknown.Body, "painter/fast")
		}
	}
	require.Equal(t, 0.5, h.Do(t, "POST", "/v2/models/acme/painter/fast/estimate", `{"prompt":"x"}`).JSON(t)["amount"])
	require.Equal(t, 429, h.Do(t, "POST", "/v2/models/acme/painter/fast/requests", `{"prompt":"x"}`).Status, "accepted")
	require.Equal(t, 422, h.Do(t, "POST", "/v2/models/acme/painter/fast/requests", `{}`).Status)
	unknown := h.Do(t, "GET", "/v2/models/acme/painter/fast/requests/x", "")
	require.Equal(t, call.RequestNotFound, unknown.JSON(t)["error_type"])
}

// An alias is another id of a model on every route; lists have the model's own.
func TestAnAliasIsAnotherIDOfAModel(t *testing.T) {
	t.Parallel()
	h := startCatalog(t, apitest.Options{}, `provider: acme
base: https://api.acme.test
auth: {kind: none}
models:
  - {model: painter, aliases: [artists/painter-1], submit: {url: /run}, price: {exact: "0.5", as_of: 2026-11-01}, input: `+
		`{type: object, required: [prompt]}}
`)
	require.NotContains(t, h.Do(t, "GET", "/v2/models?limit=100&all=true", "").Body, "artists/")
	require.Equal(t, "acme/painter", h.Do(t, "GET", "/v2/models/artists/painter-1", "").JSON(t)["id"])
	require.Equal(t, 502, h.Do(t, "POST", "/v2/models/artists/painter-1", `{"prompt":"x"}`).Status, "accepted")
	require.Equal(t, 422, h.Do(t, "POST", "/v1/models/artists/painter-1", `{}`).Status)
	require.Equal(t, 0.5, h.Do(t, "POST", "/v2/models/artists/painter-1/estimate", `{"prompt":"x"}`).JSON(t)["amount"])
	require.Equal(t, 200, h.Do(t, "GET", "/v2/models/artists/painter-1/openapi.json", "").Status)
	require.Equal(t, "vertexai/veo-3.1-generate-001", h.Do(t, "GET", "/v2/models/veo/veo-3.1-generate-001?all=true", "").JSON(t)["id"])
}

// A model's detail names the other servers that may be asked for.
func TestDetailNamesTheOtherServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  []string
		want any
	}{
		"with a credential":    {[]string{"FAL_KEY"}, []any{"fal"}},
		"without a credential": {nil, nil},
	} {
		h := startCatalog(t, apitest.Options{}, `provider: acme
base: https://api.acme.test
auth: {kind: none}
models:
  - {model: painter, submit: {url: /run}, price: {exact: "0", as_of: 2026-11-01}, alternates: [{server: fal, model: fal/flux-schnell}]}
`, c.set...)
		require.Equal(t, c.want, h.Do(t, "GET", "/v2/models/acme/painter", "").JSON(t)["alternates"], name)
	}
}

// The static token is a credential of every route of the router, in both versions.
func TestTheStaticTokenIsACredentialOfTheRouter(t *testing.T) { // D-07, R-09 to
	t.Parallel()
	h := startCatalog(t, apitest.Options{Mode: account.ModeToken}, servedAndNot, "ACME_KEY")
	bearer, wrong := []string{"Authorization", "Bearer s3cret"}, []string{"Authorization", "Bearer wrong"}
	for _, c := range []struct {
		version string
		headers []string
		refused bool
	}{
		{"v1", bearer, false},
		{"v1", append([]string{"X-API-Key", "wrong"}, bearer...), false},
		{"v1", []string{"X-API-Key", "s3cret"}, true}, // v1 takes bearers only
		{"v1", wrong, true},
		{"v1", nil, true},
		{"v2", bearer, false},
		{"v2", []string{"X-API-Key", "s3cret"}, false},
		{"v2", append([]string{"X-API-Key", "wrong"}, bearer...), true},
		{"v2", wrong, true},
		{"v2", nil, true},
	} {
		for path, method := range map[string]string{
			"/models": http.MethodGet, "/models/acme/painter": http.MethodGet, "/models/acme/painter/openapi.json": http.MethodGet,
		} {
			got := h.Do(t, method, "/"+c.version+path, "", c.headers...)
			require.Equal(t, c.refused, got.Status == 401, "%s %s %v: %s", c.version, path, c.headers, got.Body)
			require.Equal(t, !c.refused, got.Status == 200, got.Body)
		}
		ran := h.Do(t, "POST", "/"+c.version+"/models/acme/painter", `{}`, c.headers...)
		require.Equal(t, map[bool]int{true: 401, false: 502}[c.refused], ran.Status, ran.Body)
	}
	require.Equal(t, 401, startCatalog(t, apitest.Options{Mode: account.ModeKeys}, servedAndNot).Do(t, "GET", "/v1/models", "",
		"Authorization", "Bearer key-a").Status)
}
