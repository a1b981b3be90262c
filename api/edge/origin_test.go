package edge_test

import (
	"net/http"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
)

// Scripts of pages elsewhere may call where their origin is named, and read the answers. A browser asks
// first, without a credential.
func TestPagesOfConfiguredOriginsMayCall(t *testing.T) {
	t.Parallel()
	const named = "https://app.example"
	keyed := apitest.Options{Mode: account.ModeToken, AllowedOrigins: []string{named}}
	everybody := apitest.Options{Mode: account.ModeToken, AllowedOrigins: []string{"*"}}
	for name, c := range map[string]struct {
		opts   apitest.Options
		origin string
		want   string
	}{
		"named":         {keyed, named, named},
		"another":       {keyed, "https://evil.example", ""},
		"everybody":     {everybody, "https://any.example", "*"},
		"nobody":        {apitest.Options{Mode: account.ModeToken}, named, ""},
		"without a key": {apitest.Options{AllowedOrigins: []string{named}}, named, named},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := apitest.Start(t, c.opts)
			asked := h.Do(t, http.MethodOptions, "/api/prompt", "", "Origin", c.origin,
				"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,x-api-key")
			answered := h.Do(t, http.MethodGet, "/api/queue", "", "Origin", c.origin, "X-API-Key", "s3cret")
			for _, r := range []apitest.Reply{asked, answered} {
				require.Equal(t, c.want, r.Header.Get("Access-Control-Allow-Origin"))
				require.Empty(t, r.Header.Get("Access-Control-Allow-Credentials"))
			}
			require.Equal(t, http.StatusOK, answered.Status)
			if c.want == "" {
				return
			}
			require.Equal(t, http.StatusNoContent, asked.Status)
			require.Equal(t, "content-type,x-api-key", asked.Header.Get("Access-Control-Allow-Headers"))
			require.Equal(t, "*", answered.Header.Get("Access-Control-Expose-Headers"))
		})
	}
}

// A socket of a page elsewhere is opened with a token, as everywhere; without one in its URL nobody is let in.
func TestSocketsOfOtherOriginsNeedAToken(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{Mode: account.ModeToken, AllowedOrigins: []string{"https://app.example"}})
	from := http.Header{"Origin": {"https://app.example"}}
	conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+h.URL[len("http"):]+"/ws?token=s3cret", from)
	require.NoError(t, err)
	defer res.Body.Close()
	require.NoError(t, conn.Close())
	_, res, err = websocket.DefaultDialer.DialContext(t.Context(), "ws"+h.URL[len("http"):]+"/ws", from)
	require.Error(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
}
