package assets_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
)

// A client that sends nothing more and stays must not keep a connection and a staged file for ever.
func TestAnUploadThatStallsIsGivenUp(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{UploadIdle: 50 * time.Millisecond})
	begun := "--b\r\nContent-Disposition: form-data; name=%q; filename=\"f\"\r\n\r\nbegun"
	for _, c := range []struct{ path, part, body string }{
		{"/api/v2/assets", "file", begun}, {"/api/upload/image", "image", begun}, {"/api/upload/image", "image", begun + "\r\n--b--\r\nmore"},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: key-a\r\nContent-Type: multipart/form-data; boundary=b\r\n"+
			"Content-Length: 99999\r\n\r\n"+c.body, c.path, c.part)
		require.NoError(t, err)
		answer, err := io.ReadAll(conn)
		require.NoError(t, err, "the server ends the connection")
		require.Contains(t, string(answer), "HTTP/1.1 4")
		apitest.Until(t, "nothing is staged", func() bool { _, staged := h.Blobs(t); return staged == 0 })
	}
}
