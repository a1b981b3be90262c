package page_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/web/console"
)

const token = "the-token-of-clients-the-token-of-clients"

// reversed keeps a secret in the other direction.
type reversed struct{}

func (reversed) Seal(_, secret string) []byte {
	sealed := []byte(secret)
	for i, j := 0, len(sealed)-1; i < j; i, j = i+1, j-1 {
		sealed[i], sealed[j] = sealed[j], sealed[i]
	}
	return sealed
}

func (r reversed) Open(_ string, sealed []byte) (string, error) {
	return string(r.Seal("", string(sealed))), nil
}

// TestTheCookieOfTheConsole signs in and out with and without TLS, at the root and below a path.
func TestTheCookieOfTheConsole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, public, cookie, path string
		secure                     bool
	}{
		{"plain", "http://jobs.example", "millrace_console", "/console", false},
		{"TLS", "https://jobs.example", "__Secure-millrace_console", "/console", true},
		{"TLS below a path", "https://jobs.example/mr", "__Secure-millrace_console", "/mr/console", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			auth, err := account.NewStatic(token)
			require.NoError(t, err)
			e, err := edge.New(edge.Deps{Auth: auth, Logger: slog.New(slog.DiscardHandler)},
				edge.Options{Mode: account.ModeToken, PublicURL: c.public})
			require.NoError(t, err)
			p := page.New(page.Deps{Edge: e, Sealer: reversed{}}, page.Base)
			seen := p.Page("", page.Read, func(*gin.Context, page.Visitor) (console.Page, error) {
				return &page.ProblemPage{Frame: console.Frame{Title: "Seen"}}, nil
			})
			handler, err := e.Handler(append(p.Routes(), seen), func(*gin.Context) error { return nil })
			require.NoError(t, err)
			send := func(method, path string, cookies ...*http.Cookie) *http.Response {
				r := httptest.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(c.path, "/console")+"/console"+path,
					strings.NewReader(url.Values{"key": {token}}.Encode()))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				for _, one := range cookies {
					r.AddCookie(one)
				}
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				return w.Result()
			}
			check := func(set *http.Cookie) {
				t.Helper()
				require.Equal(t, c.cookie, set.Name)
				require.Equal(t, c.path, set.Path)
				require.Equal(t, c.secure, set.Secure)
				require.True(t, set.HttpOnly)
				require.Equal(t, http.SameSiteStrictMode, set.SameSite)
				require.Empty(t, set.Domain, "no other host gets it")
				require.Zero(t, set.Expires, "it ends with the browser")
				require.NotContains(t, set.Value, token)
			}
			in := send(http.MethodPost, "/signin")
			require.Equal(t, http.StatusSeeOther, in.StatusCode)
			require.Len(t, in.Cookies(), 1)
			set := in.Cookies()[0]
			check(set)
			require.Zero(t, set.MaxAge)
			require.Equal(t, http.StatusOK, send(http.MethodGet, "", set).StatusCode)
			require.Equal(t, http.StatusUnauthorized, send(http.MethodGet, "").StatusCode)
			if c.secure {
				planted := *set
				planted.Name = "millrace_console"
				require.Equal(t, http.StatusUnauthorized, send(http.MethodGet, "", &planted).StatusCode, "a page without TLS could have set it")
			}
			out := send(http.MethodPost, "/signout", set)
			require.Equal(t, http.StatusSeeOther, out.StatusCode)
			require.Len(t, out.Cookies(), 1)
			check(out.Cookies()[0])
			require.Negative(t, out.Cookies()[0].MaxAge)
		})
	}
}
