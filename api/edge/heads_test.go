package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
)

// RFC 9110, section 9.1: HEAD is offered wherever GET is. What is sent without end has no headers to ask for alone.
func TestHEADAnswersWithHeaders(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	made := h.post(t, "/api/v2/assets", "key-a", upload("x")...).json(t)
	for _, path := range []string{"/api/v2/assets/" + made["id"].(string), "/api/v2/assets", "/api/queue", "/features", "/healthz"} {
		get, head := h.get(t, path, "key-a"), h.do(t, h.request(t, http.MethodHead, path, "key-a", nil))
		require.Equal(t, http.StatusOK, head.status, path)
		require.Equal(t, get.header.Get("Content-Type"), head.header.Get("Content-Type"), path)
		require.Empty(t, head.body, path)
	}
	for path, want := range map[string]int{
		"/api/v2/assets/nope": http.StatusNotFound, "/ws": http.StatusMethodNotAllowed, "/api/v2/jobs/x/events": http.StatusMethodNotAllowed,
	} {
		require.Equal(t, want, h.do(t, h.request(t, http.MethodHead, path, "key-a", nil)).status, path)
	}
	require.Equal(t, http.StatusUnauthorized, h.do(t, h.request(t, http.MethodHead, "/api/queue", "wrong", nil)).status)
}

// OPTIONS says which methods a path has, on every surface and without a credential.
func TestOPTIONSNamesTheMethods(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	for path, want := range map[string][]string{
		"/api/prompt": {"GET", "HEAD", "POST"}, "/prompt": {"GET", "HEAD", "POST"}, "/api/v2/jobs": {"GET", "HEAD", "POST"}, "/upload/image": {"POST"},
		"/api/v2/assets/x": {"DELETE", "GET", "HEAD"},
	} {
		got := h.do(t, h.request(t, http.MethodOptions, path, "", nil))
		require.Equal(t, http.StatusNoContent, got.status, path)
		methods := strings.Split(got.header.Get("Allow"), ", ")
		slices.Sort(methods)
		require.Equal(t, want, methods, path)
	}
	require.Equal(t, http.StatusNotFound, h.do(t, h.request(t, http.MethodOptions, "/api/nothing", "", nil)).status)
}
