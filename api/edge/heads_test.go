package edge_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
)

// RFC 9110, section 9.1: HEAD is offered wherever GET is. What is sent without end has no headers to ask for alone.
func TestHEADAnswersWithHeaders(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	made := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("x")...).JSON(t)
	for _, path := range []string{"/api/v2/assets/" + made["id"].(string), "/api/v2/assets", "/api/queue", "/features", "/healthz"} {
		get, head := h.Get(t, path, "key-a"), h.Do(t, h.Request(t, http.MethodHead, path, "key-a", nil))
		require.Equal(t, http.StatusOK, head.Status, path)
		require.Equal(t, get.Header.Get("Content-Type"), head.Header.Get("Content-Type"), path)
		require.Empty(t, head.Body, path)
	}
	for path, want := range map[string]int{
		"/api/v2/assets/nope": http.StatusNotFound, "/ws": http.StatusMethodNotAllowed, "/api/v2/jobs/x/events": http.StatusMethodNotAllowed,
	} {
		require.Equal(t, want, h.Do(t, h.Request(t, http.MethodHead, path, "key-a", nil)).Status, path)
	}
	require.Equal(t, http.StatusUnauthorized, h.Do(t, h.Request(t, http.MethodHead, "/api/queue", "wrong", nil)).Status)
}

// OPTIONS says which methods a path has, on every surface and without a credential.
func TestOPTIONSNamesTheMethods(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	for path, want := range map[string][]string{
		"/api/prompt": {"GET", "HEAD", "POST"}, "/prompt": {"GET", "HEAD", "POST"}, "/api/v2/jobs": {"GET", "HEAD", "POST"},
		"/upload/image":    {"POST"},
		"/api/v2/assets/x": {"DELETE", "GET", "HEAD"},
	} {
		got := h.Do(t, h.Request(t, http.MethodOptions, path, "", nil))
		require.Equal(t, http.StatusNoContent, got.Status, path)
		methods := strings.Split(got.Header.Get("Allow"), ", ")
		slices.Sort(methods)
		require.Equal(t, want, methods, path)
	}
	require.Equal(t, http.StatusNotFound, h.Do(t, h.Request(t, http.MethodOptions, "/api/nothing", "", nil)).Status)
}
