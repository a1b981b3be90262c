package webui_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/webui"
)

// socket serves a UI that reports the requests that reach it.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ui")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Seen-Authorization", r.Header.Get("Authorization"))
		w.Write([]byte("ui " + r.Method + " " + r.URL.Path))
	})}
	go server.Serve(l)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return path
}

func ask(t *testing.T, h http.Handler, method, host, path string, headers map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	r.Host = host
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A page of another site whose host name resolves to this machine sends its own Host; other pages send their Origin.
func TestPagesOfOtherSitesReachNothing(t *testing.T) {
	t.Parallel()
	h := webui.New(webui.Options{Socket: socket(t), Writes: true})
	const list, end = "/api/v1/namespaces/default/workflows", "/api/v1/namespaces/default/workflows/job-1/terminate"
	for _, host := range []string{"127.0.0.1:8233", "localhost:8233", "[::1]:8233", "localhost"} {
		w := ask(t, h, "GET", host, list, nil)
		require.Equal(t, http.StatusOK, w.Code, host)
		require.Equal(t, "ui GET "+list, w.Body.String())
		require.Equal(t, "DENY", w.Header().Get("X-Frame-Options"))
	}
	for _, host := range []string{"rebound.example:8233", "127.0.0.1.nip.io:8233", "10.0.0.7:8233", "localhost.evil.example", ""} {
		require.Equal(t, http.StatusMisdirectedRequest, ask(t, h, "GET", host, list, nil).Code, host)
	}
	const host = "127.0.0.1:8233"
	require.Equal(t, http.StatusOK, ask(t, h, "POST", host, end,
		map[string]string{"Origin": "http://" + host, "Sec-Fetch-Site": "same-origin"}).Code)
	for _, headers := range []map[string]string{
		{"Origin": "https://evil.example"},
		{"Origin": "null"},
		{"Origin": "http://127.0.0.1:9999"},
		{"Sec-Fetch-Site": "cross-site"},
		{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
		{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
	} {
		require.Equal(t, http.StatusForbidden, ask(t, h, "POST", host, end, headers).Code, headers)
		require.Equal(t, http.StatusForbidden, ask(t, h, "GET", host, list, headers).Code, headers)
	}
	require.Equal(t, http.StatusOK, ask(t, h, "GET", host, "/",
		map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}).Code, "a link")
}

func TestPasswordIsRequiredAndNotForwarded(t *testing.T) {
	t.Parallel()
	h := webui.New(webui.Options{Socket: socket(t), Password: "right"})
	const host = "127.0.0.1:8233"
	basic := func(password string) map[string]string {
		r := httptest.NewRequest("GET", "/", http.NoBody)
		r.SetBasicAuth("operator", password)
		return map[string]string{"Authorization": r.Header.Get("Authorization")}
	}
	for _, headers := range []map[string]string{nil, basic(""), basic("wrong"), {"Authorization": "Bearer right"}} {
		w := ask(t, h, "GET", host, "/", headers)
		require.Equal(t, http.StatusUnauthorized, w.Code)
		require.Contains(t, w.Header().Get("WWW-Authenticate"), "Basic")
	}
	w := ask(t, h, "GET", host, "/", basic("right"))
	require.Equal(t, http.StatusOK, w.Code)
	require.Empty(t, w.Header().Get("X-Seen-Authorization"))
}

func TestTemporalUIIsReadOnlyByDefault(t *testing.T) {
	t.Parallel()
	path := socket(t)
	const host, below = "127.0.0.1:8233", "/api/v1/namespaces/default/workflows/job-1"
	readOnly, writing := webui.New(webui.Options{Socket: path}), webui.New(webui.Options{Socket: path, Writes: true})
	for _, change := range []struct{ method, path string }{
		{"POST", below + "/terminate"},
		{"POST", below + "/cancel"},
		{"PUT", below},
		{"DELETE", below},
		{"POST", "/api/v1/namespaces"},
	} {
		require.Equal(t, http.StatusMethodNotAllowed, ask(t, readOnly, change.method, host, change.path, nil).Code, change)
		require.Equal(t, http.StatusOK, ask(t, writing, change.method, host, change.path, nil).Code, change)
	}
	require.Equal(t, http.StatusOK, ask(t, readOnly, "POST", host, below+"/query/__stack_trace", nil).Code, "a query changes nothing")
	require.Equal(t, http.StatusOK, ask(t, readOnly, "GET", host, below, nil).Code)
}

func TestUnavailableUIIsReported(t *testing.T) {
	t.Parallel()
	h := webui.New(webui.Options{Socket: filepath.Join(t.TempDir(), "none")})
	require.Equal(t, http.StatusBadGateway, ask(t, h, "GET", "localhost:8233", "/", nil).Code)
}
