package admin_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/admin"
	"github.com/millrace-dev/millrace/api/openapi/openapitest"
)

func TestEveryRouteIsDocumentedWithItsParameters(t *testing.T) {
	t.Parallel()
	doc, err := openapitest.Load()
	require.NoError(t, err)
	documented := map[string][]string{}
	for _, op := range doc.Operations() {
		if strings.HasPrefix(op.Path, admin.Prefix+"/") {
			documented[op.Method+" "+op.Path] = op.Query
		}
	}
	served := admin.Table()
	for route, query := range served {
		require.Contains(t, documented, route, "add it to api/openapi/admin*.yaml")
		require.Equal(t, documented[route], query, route)
	}
	for operation := range documented {
		require.Contains(t, served, operation, "it is in the document but not served")
	}
}

func TestUnknownQueryParameterIsRefused(t *testing.T) {
	t.Parallel()
	const token = "a-token"
	h, err := admin.New(admin.Deps{Metrics: http.NotFoundHandler(), Log: slog.New(slog.DiscardHandler)}, token)
	require.NoError(t, err)
	for target, says := range map[string]string{
		"/admin/jobs?state=failed": `the query parameter \"state\" is unknown; this path has: status, account, since, class,` +
			` limit`,
		"/admin/jobs?limit=5&Account=acme":               `the query parameter \"Account\" is unknown`,
		"/admin/jobs?limit=5&limit=6":                    "limit is given 2 times",
		"/admin/jobs?account=":                           "account is empty",
		"/admin/jobs?account=%zz":                        "not well-formed",
		"/admin/jobs?status=failed;account=acme":         "not well-formed",
		"/admin/accounts?tier=pro":                       `the query parameter \"tier\" is unknown; this path has no query parameters`,
		"/admin/events/types?whole=yes":                  "whole must be true or false",
		"/admin/metrics?x=1":                             `the query parameter \"x\" is unknown`,
		"/admin/openapi.json?" + strings.Repeat("a", 99): "no query parameter",
	} {
		r := ask(t, h, "GET", target, token)
		require.Equal(t, http.StatusBadRequest, r.Code, "%s: %s", target, r.Body)
		require.Contains(t, r.Body.String(), says, target)
		require.Contains(t, r.Body.String(), `"code":"invalid_request"`, target)
		require.Equal(t, http.StatusUnauthorized, ask(t, h, "GET", target, "another").Code, "the credential comes first")
	}
	require.Equal(t, http.StatusBadRequest, ask(t, h, "POST", "/admin/accounts?dry_run=true", token).Code, "also of a change")
	require.Equal(t, http.StatusOK, ask(t, h, "GET", "/admin/openapi.json", token).Code)
}

func TestAChangeWithABlankActorOrReasonIsRefused(t *testing.T) {
	t.Parallel()
	const token = "a-token"
	h, err := admin.New(admin.Deps{Log: slog.New(slog.DiscardHandler)}, token)
	require.NoError(t, err)
	for _, body := range []string{
		`{"actor":"","reason":"why","mode":"paused"}`, `{"actor":" \t","reason":"why","mode":"paused"}`,
		`{"actor":"ann","reason":"\u00a0 ","mode":"paused"}`,
	} {
		req := httptest.NewRequestWithContext(t.Context(), "PUT", "/admin/queues/acme", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		require.Equal(t, http.StatusBadRequest, w.Code, "%s: %s", body, w.Body)
		require.Contains(t, w.Body.String(), "a change names its actor and its reason", body)
	}
}

// ask sends a request whose answer is checked against the document.
func ask(t *testing.T, h http.Handler, method, target, token string) *httptest.ResponseRecorder {
	t.Helper()
	u, err := url.Parse(target)
	require.NoError(t, err)
	req := httptest.NewRequestWithContext(t.Context(), method, u.Path, http.NoBody)
	req.URL.RawQuery = u.RawQuery
	req.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	openapitest.Handler(t, "", h).ServeHTTP(w, req)
	return w
}

// A wrong value is refused by the name of its parameter. null is a value only where the document says so.
func TestAWrongValueInABodyIsRefusedByName(t *testing.T) {
	t.Parallel()
	const token = "a-token"
	h, err := admin.New(admin.Deps{Log: slog.New(slog.DiscardHandler)}, token)
	require.NoError(t, err)
	for _, c := range []struct{ route, body, want string }{
		{"PUT /queues/acme", `"mode":"closed"`, `mode must be open, paused, draining or stopped, not \"closed\"`},
		{"PUT /queues/acme", `"mode":null`, `mode must be open, paused, draining or stopped, not \"null\"`},
		{"PATCH /accounts/acme", `"tier":"gold"`, "tier must be free, standard, creator, pro or local"},
		{"PATCH /accounts/acme", `"tier":null`, "tier must be"},
		{"PATCH /accounts/acme", `"active":null`, `active must be true or false, not \"null\"`},
		{"PATCH /accounts/acme", `"suspended":null`, "suspended must be true or false"},
		{"PATCH /accounts/acme", `"suspended":"yes"`, "suspended must be true or false"},
		{"POST /accounts/acme/keys", `"scopes":["read","admin"]`, `scopes must be read or write, not \"admin\"`},
		{"POST /accounts/acme/keys", `"scopes":null`, "scopes must be read or write"},
		{"POST /accounts/acme/webhooks", `"url":"https://example.com","description":null`, "description must be a text"},
		{"PUT /accounts/acme/models", `"router":null,"allowed":null`, "router must be on or off, in JSON true or false"},
		{"PUT /accounts/acme/models", `"router":"on","allowed":null`, "router must be on or off, in JSON true or false"},
		{"PUT /accounts/acme/models", `"router":true,"allowed":null,"denied":null`, "denied must be a list of names"},
		{"POST /servers", `"url":"http://a:1","expires_in":null`, "expires_in must be a number of seconds"},
		{"POST /servers", `"url":"http://a:1","headers":{"Authorization":"Bearer s3cret","X":1}`, "headers must be an object of texts"},
		{"POST /servers", `"url":"http://a:1","headers":"Bearer s3cret"`, "headers must be an object of texts"},
		{"POST /jobs/a/retry", `"credential":["s3cret"]`, "credential must be a text"},
		{"POST /jobs/a/retry", `"credential":"s3cret\u0000"`, "credential must be a text without NUL"},
		{"POST /servers", `"url":"http://a:1","slots":null`, "slots must be a whole number"},
		{"POST /jobs/cancel", `"filter":null`, "filter must be an object"},
		{"POST /jobs/cancel", `"filter":{"state":["failed"]}`, "filter must be an object"},
		{"POST /jobs/cancel", `"filter":{"limit":0}`, "filter must be an object"},
	} {
		method, path, _ := strings.Cut(c.route, " ")
		body := `{"actor":"ann","reason":"why",` + c.body + `}`
		req := httptest.NewRequestWithContext(t.Context(), method, "/admin"+path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		require.Equal(t, http.StatusBadRequest, w.Code, "%s %s: %s", c.route, c.body, w.Body)
		require.Contains(t, w.Body.String(), c.want, "%s %s", c.route, c.body)
		require.NotContains(t, w.Body.String(), "s3cret")
	}
}
