package assets_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// tus sends a request of the protocol; headers come in pairs.
func tus(t *testing.T, h *apitest.FileHarness, key, method, target string, body io.Reader, headers ...string) apitest.Reply {
	t.Helper()
	req := h.Request(t, method, target, key, body)
	req.Header.Set("Tus-Resumable", "1.0.0")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/offset+octet-stream")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return h.Do(t, req)
}

// begun begins an upload of size bytes and returns its address. Fields come in pairs.
func begun(t *testing.T, h *apitest.FileHarness, size int, fields ...string) apitest.Reply {
	t.Helper()
	said := []string{}
	for i := 0; i < len(fields); i += 2 {
		said = append(said, fields[i]+" "+base64.StdEncoding.EncodeToString([]byte(fields[i+1])))
	}
	return tus(t, h, "key-a", http.MethodPost, "/uploads", nil, "Upload-Length", strconv.Itoa(size),
		"Upload-Metadata", strings.Join(said, ","))
}

// offset returns how many bytes of an upload the service has.
func offset(t *testing.T, h *apitest.FileHarness, at string) string {
	t.Helper()
	res := tus(t, h, "key-a", http.MethodHead, at, nil)
	require.Equal(t, http.StatusOK, res.Status)
	return res.Header.Get("Upload-Offset")
}

const uploadedText = "a model of thirty-seven bytes, exactly"

// A file that arrives in parts becomes an asset with the id of its upload, in the place that its tags name.
func TestAnUploadIsResumed(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	ref := blob.Sum([]byte(uploadedText))
	res := begun(t, h, len(uploadedText), "filename", "ink.safetensors", "tags", "models,loras,drawn", "hash", ref.String(),
		"user_metadata", `{"by":"me"}`)
	require.Equal(t, http.StatusCreated, res.Status, "%s", res.Body)
	at := res.Header.Get("Location")
	require.True(t, strings.HasPrefix(at, h.URL+"/uploads/"), at)
	require.Equal(t, "0", offset(t, h, at))

	res = tus(t, h, "key-a", http.MethodPatch, at, strings.NewReader(uploadedText[:20]), "Upload-Offset", "0")
	require.Equal(t, http.StatusNoContent, res.Status, "%s", res.Body)
	require.Equal(t, "20", res.Header.Get("Upload-Offset"))
	id := at[strings.LastIndex(at, "/")+1:]
	require.Equal(t, http.StatusNotFound, h.Get(t, "/api/assets/"+id, "key-a").Status, "it is no asset yet")
	res = tus(t, h, "key-a", http.MethodPatch, at, strings.NewReader(uploadedText[10:]), "Upload-Offset", "10")
	require.Equal(t, http.StatusConflict, res.Status, "bytes that do not follow are refused")

	res = tus(t, h, "key-a", http.MethodPatch, at, strings.NewReader(uploadedText[20:]), "Upload-Offset", "20")
	require.Equal(t, http.StatusNoContent, res.Status, "%s", res.Body)
	require.Equal(t, strconv.Itoa(len(uploadedText)), offset(t, h, at))
	made := library(t, h, http.StatusOK, "GET", "/api/assets/"+id, "")
	require.Equal(t, "ink.safetensors", made["name"])
	require.Equal(t, []any{"models", "loras", "drawn"}, made["tags"])
	require.Equal(t, map[string]any{"by": "me"}, made["user_metadata"])
	require.Equal(t, ref.String(), made["hash"])
	require.Equal(t, uploadedText, h.Get(t, "/api/assets/"+id+"/content", "key-a").Body)
}

// What came before a connection broke is kept, and nothing of it is collected.
func TestABrokenUploadKeepsItsBytes(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	at := begun(t, h, len(uploadedText), "filename", "a.bin").Header.Get("Location")
	host := strings.TrimPrefix(h.URL, "http://")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", host)
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "PATCH %s HTTP/1.1\r\nHost: %s\r\nX-API-Key: key-a\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"+
		"Content-Type: application/offset+octet-stream\r\nContent-Length: %d\r\n\r\n%s", strings.TrimPrefix(at, h.URL), host,
		len(uploadedText), uploadedText[:20])
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	_, err = io.Copy(io.Discard, conn) // until the service has given the request up
	require.NoError(t, err)
	kept, err := strconv.Atoi(offset(t, h, at))
	require.NoError(t, err)
	require.GreaterOrEqual(t, kept, 16, "the whole pieces")
	refs := []blob.Ref{blob.Sum([]byte(uploadedText[:8])), blob.Sum([]byte(uploadedText[8:16])), blob.Sum([]byte("nothing"))}
	needed, err := assetstore.New(h.Pool, nil).Referenced(t.Context(), refs)
	require.NoError(t, err)
	require.Equal(t, map[blob.Ref]bool{refs[0]: true, refs[1]: true}, needed)
	res := tus(t, h, "key-a", http.MethodPatch, at, strings.NewReader(uploadedText[kept:]), "Upload-Offset", strconv.Itoa(kept))
	require.Equal(t, http.StatusNoContent, res.Status, "%s", res.Body)
	require.Equal(t, uploadedText, h.Get(t, "/api/assets/"+at[strings.LastIndex(at, "/")+1:]+"/content", "key-a").Body)
}

// The process ends after the last bytes arrived and before the asset is recorded: the client asks for the offset, and has its asset.
func TestAnUploadThatWasCompleteBeforeACrashBecomesAnAsset(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	at := begun(t, h, len(uploadedText), "filename", "a.bin").Header.Get("Location")
	id := asset.PublicID(at[strings.LastIndex(at, "/")+1:])
	u, err := h.Resumable.Upload(t.Context(), "a", id)
	require.NoError(t, err)
	n, err := h.Resumable.Write(t.Context(), u, 0, strings.NewReader(uploadedText))
	require.NoError(t, err)
	require.EqualValues(t, len(uploadedText), n)
	require.Equal(t, strconv.Itoa(len(uploadedText)), tus(t, h, "read", http.MethodHead, at, nil).Header.Get("Upload-Offset"))
	require.Equal(t, http.StatusNotFound, h.Get(t, "/api/assets/"+string(id), "key-a").Status, "a key that only reads changes nothing")
	require.Equal(t, strconv.Itoa(len(uploadedText)), offset(t, h, at))
	require.Equal(t, uploadedText, h.Get(t, "/api/assets/"+string(id)+"/content", "key-a").Body)
	require.NoError(t, h.Resumable.Finish(t.Context(), u, nil, asset.Spec{Account: "a", Chosen: id}), "once more changes nothing")
}

// Refused uploads store nothing, and say why in the form of the other answers.
func TestUploadsThatAreRefused(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	for name, c := range map[string]struct {
		size   int
		fields []string
		status int
		says   string
	}{
		"too large":        {apitest.MaxResumable + 1, nil, http.StatusRequestEntityTooLarge, "maximum size exceeded"},
		"no such category": {3, []string{"filename", "a", "tags", "models"}, http.StatusBadRequest, "a model needs its category"},
		"another hash":     {3, []string{"hash", "sha256:" + strings.Repeat("0", 64)}, http.StatusBadRequest, "must be a blake3 hash"},
		"a bad type":       {3, []string{"filename", "a", "filetype", "image"}, http.StatusBadRequest, "mime_type must be"},
		"bad metadata":     {3, []string{"filename", "a", "user_metadata", "[]"}, http.StatusBadRequest, "metadata"},
		"a NUL":            {3, []string{"said", "a\x00b"}, http.StatusBadRequest, "without NUL characters"},
		"no text":          {3, []string{"said", "\xff"}, http.StatusBadRequest, "texts in UTF-8"},
		"much to say":      {3, []string{"filename", "a", "said", strings.Repeat("x", 17<<10)}, http.StatusBadRequest, "at most 16384 bytes"},
	} {
		res := begun(t, h, c.size, c.fields...)
		require.Equal(t, c.status, res.Status, "%s: %s", name, res.Body)
		require.Contains(t, res.Body, c.says, name)
	}
	deferred := tus(t, h, "key-a", http.MethodPost, "/uploads", nil, "Upload-Defer-Length", "1")
	require.Equal(t, http.StatusNotImplemented, deferred.Status)
	require.Equal(t, http.StatusForbidden, tus(t, h, "read", http.MethodPost, "/uploads", nil, "Upload-Length", "1").Status)

	// Bytes without the announced hash end the upload.
	at := begun(t, h, 3, "filename", "a", "hash", blob.Sum([]byte("abc")).String()).Header.Get("Location")
	res := tus(t, h, "key-a", http.MethodPatch, at, strings.NewReader("xyz"), "Upload-Offset", "0")
	require.Equal(t, http.StatusConflict, res.Status)
	require.Contains(t, res.Body, "hash_mismatch")
	require.Equal(t, http.StatusNotFound, tus(t, h, "key-a", http.MethodHead, at, nil).Status)

	// Another account finds nothing, and the owner may end an upload.
	at = begun(t, h, 3, "filename", "a").Header.Get("Location")
	for _, method := range []string{http.MethodHead, http.MethodPatch, http.MethodDelete} {
		require.Equal(t, http.StatusNotFound, tus(t, h, "key-b", method, at, strings.NewReader("x"), "Upload-Offset", "0").Status, method)
	}
	require.Equal(t, http.StatusNoContent, tus(t, h, "key-a", http.MethodDelete, at, nil).Status)
	require.Equal(t, http.StatusNotFound, tus(t, h, "key-a", http.MethodHead, at, nil).Status)

	// The bytes of unfinished uploads count.
	h.Quota.Limit.Store(10)
	require.Equal(t, http.StatusCreated, begun(t, h, 6, "filename", "a").Status)
	require.Equal(t, http.StatusForbidden, begun(t, h, 6, "filename", "a").Status)
	h.Quota.Limit.Store(0)
	status := http.StatusCreated
	for range 64 {
		status = begun(t, h, 6, "filename", "a").Status
	}
	require.Equal(t, http.StatusTooManyRequests, status, "an account has a bounded number of unfinished uploads")
}

// slowly is a store whose reads of blobs take longer than a client may pause.
type slowly struct {
	blob.Store
	by time.Duration
}

// Open implements blob.Store.
func (s slowly) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	<-time.After(s.by)
	return s.Store.Open(ctx, ref)
}

// The client gets its answer even if a large file takes long to become an asset.
func TestAnUploadThatTakesLongToFinishIsAnswered(t *testing.T) {
	t.Parallel()
	const idle = 2 * time.Second
	slow := func(s blob.Store) blob.Store { return slowly{s, 3 * idle} }
	h := apitest.StartFilesOver(t, t.TempDir(), apitest.Options{UploadIdle: idle}, slow)
	at := begun(t, h, 3, "filename", "a.bin").Header.Get("Location")
	res := tus(t, h, "key-a", http.MethodPatch, at, strings.NewReader("abc"), "Upload-Offset", "0")
	require.Equal(t, http.StatusNoContent, res.Status, "%s", res.Body)
}
