package app_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/app"
)

func TestInternalAddressServesProfiles(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	app.Profiles(mux)
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine?debug=1", "/debug/pprof/cmdline"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		require.Equal(t, http.StatusOK, w.Code, path)
		require.NotEmpty(t, w.Body.Bytes(), path)
	}
}
