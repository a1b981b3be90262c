package request_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/request"
)

// A body that is announced and never sent holds nothing for long, whoever asks for whatever.
func TestBodyThatNeverArrivesTimesOut(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(request.BoundWaiting(http.NotFoundHandler(), 100*time.Millisecond))
	t.Cleanup(server.Close)
	for name, head := range map[string]string{
		"nobody reads it":         "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
		"there is nothing":        "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
		"chunks that end nowhere": "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"a route that takes none": "POST /free HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nxxx",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, head)
			require.NoError(t, err)
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(2*time.Minute)))
			_, err = io.Copy(io.Discard, conn) // to the end of the connection
			require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "the server keeps the connection")
		})
	}
}

// What comes in time is not cut off by it, and the connection goes on.
func TestSlowBodyIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	const within = 2 * time.Second // also of a client that is kept waiting for its turn on a busy machine
	server := httptest.NewServer(request.BoundWaiting(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = w.Write(raw)
	}), within))
	t.Cleanup(server.Close)
	for range 2 {
		resp, err := server.Client().Post(server.URL, "text/plain", io.LimitReader(zeros{}, 1<<20))
		require.NoError(t, err)
		n, err := io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.EqualValues(t, 1<<20, n)
		require.NoError(t, resp.Body.Close())
		<-time.After(within) // an idle connection is no waiting body
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
