package operators_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/console/operators"
	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/web/console"
)

const (
	clients = "the-token-of-clients-the-token-of-clients"
	theirs  = "operators-only-operators-only"
)

// plain keeps what it is given as it is.
type plain struct{}

func (plain) Seal(_, secret string) []byte                 { return []byte(secret) }
func (plain) Open(_ string, sealed []byte) (string, error) { return string(sealed), nil }

// TestClientTokenOpensNoPageOfOperators sends every route of the pages with it: none reaches a service, of which
// there is none here.
func TestClientTokenOpensNoPageOfOperators(t *testing.T) {
	t.Parallel()
	auth, err := account.NewStatic(clients)
	require.NoError(t, err)
	e, err := edge.New(edge.Deps{Auth: auth, Logger: slog.New(slog.DiscardHandler)}, edge.Options{Mode: account.ModeToken})
	require.NoError(t, err)
	p := page.New(page.Deps{Edge: e, Sealer: plain{}, Operator: func(secret string) bool { return secret == theirs }}, page.Base)
	section := operators.New(p, operators.Services{})
	p.AddLinks(console.NavLink{Path: "/servers", Title: "Servers", Operator: true})
	seen := p.Page("/servers", page.Operator, func(*gin.Context, page.Visitor) (console.Page, error) {
		return &page.ProblemPage{Frame: console.Frame{Title: "Servers"}}, nil
	})
	routes := append(p.Routes(), append(section.Routes(), seen)...)
	handler, err := e.Handler(routes, func(*gin.Context) error { return nil })
	require.NoError(t, err)
	send := func(method, path, secret string) *httptest.ResponseRecorder {
		form := url.Values{"key": {secret}, "reason": {"to see"}}.Encode()
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if path != "/console/signin" {
			in := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/console/signin", strings.NewReader(form))
			in.Header = r.Header.Clone()
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, in)
			require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
			r.AddCookie(w.Result().Cookies()[0])
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	for _, route := range section.Routes() {
		path := strings.NewReplacer(":view", "usage_v1", ":id", "x", ":change", "drain").Replace(route.Path)
		require.Equal(t, http.StatusForbidden, send(route.Method, path, clients).Code, "%s %s", route.Method, path)
	}
	nav := []string{"/console/accounts", "/console/queues", "/console/views", "/console/deliveries", "/console/doctor"}
	shown := send(http.MethodGet, "/console/servers", clients)
	require.Equal(t, http.StatusOK, shown.Code, "what the servers do is anybody's to see who has the token")
	whole := send(http.MethodGet, "/console/servers", theirs).Body.String()
	for _, path := range nav {
		require.NotContains(t, shown.Body.String(), `href="`+path+`"`, "the navigation hides what may not be opened")
		require.Contains(t, whole, `href="`+path+`"`)
	}
}
