package app_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/app"
)

// A request with two different lengths is refused, and its connection is closed: the rest is not read as another
// request.
func TestAmbiguousFramingIsRefusedByEveryServer(t *testing.T) {
	t.Parallel()
	l, err := app.Listen("127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var served atomic.Int32
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) })
	go func() { ended <- app.ServeHTTP(ctx, l, handler, time.Second) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	answers, err := io.ReadAll(conn) // to the end of the connection
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(answers, []byte("HTTP/1.1 400 ")), "%s", answers)
	require.Equal(t, 1, bytes.Count(answers, []byte("HTTP/1.1 ")), "%s", answers)
	require.Zero(t, served.Load())
	stop()
	require.NoError(t, <-ended)
}

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
