package request_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/request"
)

// A request that has both Content-Length and Transfer-Encoding is refused, wherever in a connection it comes and
// however it is cut into packets; other requests pass.
func TestAmbiguousFramingIsRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err == nil {
			fmt.Fprintf(w, "%s", raw)
		}
	}))
	server.Listener = request.RefuseAmbiguous(server.Listener)
	server.Start()
	t.Cleanup(server.Close)
	const (
		sized   = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 30\r\n\r\nTransfer-Encoding: a\r\nb: c\r\n\r\n"
		chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n14;ext\r\nContent-Length: 123\n\r\n0\r\nT: v\r\n\r\n"
		none    = "GET /?Content-Length:Transfer-Encoding: HTTP/1.1\r\nHost: x\r\n\r\n"
		first   = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
		second  = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nX: y\r\ncontent-length: 5\r\n\r\n0\r\n\r\n"
	)
	for name, c := range map[string]struct {
		sent string
		want []int
	}{
		"alone":                 {first, []int{400}},
		"in the other order":    {second, []int{400}},
		"behind a body":         {sized + first, []int{200, 400}},
		"behind chunks":         {chunked + second, []int{200, 400}},
		"behind no body":        {none + first, []int{200, 400}},
		"not at all":            {sized + chunked + none + chunked + sized, []int{200, 200, 200, 200, 200}},
		"with more behind them": {first + none, []int{400}},
	} {
		for _, step := range []int{1, 7, 4096} {
			t.Run(fmt.Sprint(name, " in steps of ", step), func(t *testing.T) {
				t.Parallel()
				conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
				require.NoError(t, err)
				defer conn.Close()
				go func() {
					for sent := c.sent; sent != ""; {
						n := min(step, len(sent))
						if _, err := io.WriteString(conn, sent[:n]); err != nil {
							return
						}
						sent = sent[n:]
					}
				}()
				answers := bufio.NewReader(conn)
				for _, want := range c.want {
					res, err := http.ReadResponse(answers, nil)
					require.NoError(t, err)
					_, err = io.Copy(io.Discard, res.Body)
					require.NoError(t, err)
					require.Equal(t, want, res.StatusCode)
					if want == http.StatusBadRequest {
						require.True(t, res.Close)
					}
				}
			})
		}
	}
}
