package about_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
)

// Without an editor, the address of the service leads browsers to the console and tells programs that it is alive.
func TestTheRootWithoutAnEditor(t *testing.T) {
	t.Parallel()
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	h := apitest.Start(t, apitest.Options{Mode: account.ModeKeys})
	for _, accept := range []string{"", "*/*", "application/json"} {
		got := h.Do(t, "GET", "/", "", "Accept", accept)
		require.Equal(t, http.StatusOK, got.Status, accept)
		require.Equal(t, "alive", got.JSON(t)["status"], accept)
	}
	require.Equal(t, http.StatusOK, h.Do(t, "HEAD", "/", "").Status)
	got := h.Do(t, "GET", "/", "", "Accept", browser)
	require.Equal(t, http.StatusFound, got.Status)
	require.Equal(t, h.URL+"/console", got.Header.Get("Location"))
	require.Equal(t, http.StatusNotFound, h.Do(t, "GET", "/nowhere", "", "Accept", browser).Status)

	below := apitest.Start(t, apitest.Options{PublicURL: "https://example.org/mr"})
	for _, path := range []string{"/", "/mr", "/mr/"} {
		require.Equal(t, http.StatusOK, below.Do(t, "GET", path, "").Status, path)
		require.Equal(t, "https://example.org/mr/console", below.Do(t, "GET", path, "", "Accept", browser).Header.Get("Location"), path)
	}
}
