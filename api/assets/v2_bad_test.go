package assets_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
)

// formOf is a whole upload and its Content-Type.
func formOf(t *testing.T, data string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range apitest.Upload(data) {
		pw, err := w.CreateFormFile(p.Name, p.Filename)
		require.NoError(t, err)
		_, err = io.WriteString(pw, p.Value)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.String(), w.FormDataContentType()
}

// A length that is less or more than what comes: the form is cut off, and nothing stays behind.
func TestWrongContentLengthIsATruncatedBody(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{UploadIdle: 300 * time.Millisecond})
	body, contentType := formOf(t, strings.Repeat("x", 300_000))
	for name, length := range map[string]int{"too small": len(body) - 200_000, "too large": len(body) + 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
			require.NoError(t, err)
			defer conn.Close()
			require.NoError(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
			go fmt.Fprintf(conn, "POST /api/v2/assets HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: key-a\r\n"+ // the server may hang up first
				"Content-Type: %s\r\nContent-Length: %d\r\n\r\n%s", contentType, length, body)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			defer resp.Body.Close()
			raw, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, string(raw))
			require.Contains(t, string(raw), "invalid_body")
		})
	}
	t.Cleanup(func() {
		stored, staged := h.Blobs(t)
		require.Zero(t, stored)
		require.Zero(t, staged)
	})
}

// A body without a length is cut off where it passes the limit, far from its end.
func TestABodyOfUnknownLengthEndsAtTheLimit(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{MaxUpload: 1 << 20})
	sent := &counted{Reader: io.MultiReader(
		strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n"), io.LimitReader(xs{}, 5<<30))}
	req := h.Request(t, http.MethodPost, "/api/v2/assets", "key-a", sent)
	req.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	res, err := h.Client.Do(req)
	if err == nil { // else the connection went while the client still sent
		defer res.Body.Close()
		require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
	}
	require.Less(t, sent.n, int64(64<<20))
	apitest.Until(t, "nothing is staged", func() bool { _, staged := h.Blobs(t); return staged == 0 })
	stored, _ := h.Blobs(t)
	require.Zero(t, stored)
}

// xs never ends.
type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}
