package router_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
)

// A body whose framing is broken is the client's mistake, on every surface in its own shape.
func TestMalformedFramingIs400(t *testing.T) {
	t.Parallel()
	h := apitest.StartRouter(t, apitest.Options{Mode: account.ModeKeys}, newBlockingCalls(false))
	for path, want := range map[string]string{
		"/api/prompt":         `400 {"error":{"type":"invalid_body"`,
		"/api/queue":          `400 {"code":"invalid_body"`,
		"/api/v2/jobs":        `422 {"error":{"code":"invalid_body"`,
		"/v2/models/sim/echo": `400 {"detail":"the request body does not match its headers`,
	} {
		require.Contains(t, broken(t, h, path), want, path)
	}
}

// broken posts a chunk whose length is no number.
func broken(t *testing.T, h *apitest.Harness, path string) string {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(h.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: a\r\nX-API-Key: key-a\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n")
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return fmt.Sprint(res.StatusCode, " ", string(raw))
}
