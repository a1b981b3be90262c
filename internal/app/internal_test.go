package app_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/app"
)

// What a proxy in front may have read differently is one body here, or it is refused and the connection ends: nothing that
// a client hides in a body is served as another request.
func TestBodyEndsWhereRFC9112Says(t *testing.T) {
	t.Parallel()
	l, err := app.Listen("127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %q of %d, header %q: %v", r.URL, body, r.ContentLength, r.Header["Content-Length"], err)
	})
	go func() { ended <- app.ServeHTTP(ctx, l, handler, time.Second) }()
	const (
		sized  = `/ "abcd" of 4, header ["4"]: <nil>`
		chunks = "2\r\nab\r\n0\r\n\r\n"
		hidden = "GET /hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	)
	for name, c := range map[string]struct {
		version, headers string
		body             string // "" = chunks
		status           int
		want             string // the first answer; "" = it is refused, and the connection ends
	}{
		"chunks alone":                 {headers: "Transfer-Encoding: chunked", want: `/ "ab" of -1, header []: <nil>`},
		"chunks after a length":        {headers: "Content-Length: 99\r\nTransfer-Encoding: chunked", want: `/ "ab" of -1, header []: <nil>`},
		"chunks before a length":       {headers: "transfer-encoding: Chunked\r\ncontent-length: 0", want: `/ "ab" of -1, header []: <nil>`},
		"a length twice":               {headers: "Content-Length: 4\r\nContent-Length: 4", body: "abcd", want: sized},
		"HTTP/1.0 has no chunks":       {"1.0", "Connection: keep-alive\r\nContent-Length: 4\r\nTransfer-Encoding: chunked", "abcd", 0, sized},
		"two lengths":                  {headers: "Content-Length: 4\r\nContent-Length: 99", status: 400},
		"two lengths in one":           {headers: "Content-Length: 4, 99", status: 400},
		"a signed length":              {headers: "Content-Length: +4", status: 400},
		"two lengths and chunks":       {headers: "Content-Length: 4\r\nContent-Length: 9\r\nTransfer-Encoding: chunked", status: 400},
		"a malformed length, chunks":   {headers: "Content-Length: 4x\r\nTransfer-Encoding: chunked", status: 400},
		"an unknown encoding":          {headers: "Transfer-Encoding: xchunked", status: 501},
		"an encoding before chunks":    {headers: "Transfer-Encoding: gzip, chunked", status: 501},
		"chunks twice":                 {headers: "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", status: 501},
		"identity beside chunks":       {headers: "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", status: 501},
		"a blank before the colon":     {headers: "Transfer-Encoding : chunked\r\nContent-Length: 4", status: 400},
		"a control character in it":    {headers: "Transfer-Encoding: \vchunked\r\nContent-Length: 4", status: 400},
		"a header of another protocol": {headers: "Content-Length: 4\r\nTransfer\x00-Encoding: chunked", status: 400},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", l.Addr().String())
			require.NoError(t, err)
			defer conn.Close()
			head := fmt.Sprintf("POST / HTTP/%s\r\nHost: x\r\n%s\r\n\r\n", cmp.Or(c.version, "1.1"), c.headers)
			_, err = io.WriteString(conn, head+cmp.Or(c.body, chunks)+hidden)
			require.NoError(t, err)
			answers := bufio.NewReader(conn)
			first, err := http.ReadResponse(answers, nil)
			require.NoError(t, err)
			body, err := io.ReadAll(first.Body)
			require.NoError(t, err)
			if c.want == "" {
				require.Equal(t, c.status, first.StatusCode)
				rest, err := io.ReadAll(answers) // to the end of the connection
				require.NoError(t, err)
				require.Empty(t, rest, "what is behind it is not read as another request")
				return
			}
			require.Equal(t, c.want, string(body))
			next, err := http.ReadResponse(answers, nil)
			require.NoError(t, err)
			body, err = io.ReadAll(next.Body)
			require.NoError(t, err)
			require.Equal(t, `/hidden "" of 0, header []: <nil>`, string(body), "the next request begins behind the body")
		})
	}
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
