package assets_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// presigning is a store whose backend serves clients directly, like a bucket.
type presigning struct{ blob.Store }

var _ blob.Presigner = presigning{}

func (p presigning) Presign(_ context.Context, ref blob.Ref, h blob.Headers, ttl time.Duration) (string, error) {
	q := url.Values{"type": {h.ContentType}, "disposition": {h.ContentDisposition}, "ttl": {ttl.String()}}
	return "https://bucket.example/" + ref.Hex() + "?" + q.Encode(), nil
}

func (presigning) Origin(context.Context) (string, error) { return "https://bucket.example", nil }

// On bucket storage, content is a redirect to a short-lived link of the bucket, with headers that keep browsers from
// rendering stored files. A request without access is refused before a link is made.
func TestContentOnBucketStorageIsARedirect(t *testing.T) {
	t.Parallel()
	h := apitest.StartFilesOver(t, t.TempDir(), apitest.Options{}, func(s blob.Store) blob.Store { return presigning{s} })
	page := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("<script>", apitest.Field("content_type", "text/html"),
		apitest.Field("file_path", "p.html"))...).JSON(t)
	target := "/api/v2/assets/" + page["id"].(string)
	for _, link := range []string{target + "/content", page["url"].(string)} {
		res := h.Get(t, link, "key-a")
		require.Equal(t, http.StatusFound, res.Status, res.Body)
		require.Equal(t, "private, no-store", res.Header.Get("Cache-Control"))
		to, err := url.Parse(res.Header.Get("Location"))
		require.NoError(t, err)
		require.Equal(t, "/"+apitest.HashOf("<script>")[len("blake3:"):], to.Path)
		require.Equal(t, "application/octet-stream", to.Query().Get("type"))
		require.Equal(t, "attachment; filename=p.html", to.Query().Get("disposition"))
		require.Equal(t, "15m0s", to.Query().Get("ttl"))
	}
	require.Equal(t, http.StatusNotFound, h.Get(t, target+"/content", "key-b").Status)
	require.Equal(t, http.StatusNoContent, h.Do(t, h.Request(t, http.MethodDelete, target, "key-a", nil)).Status)
	require.Equal(t, http.StatusNotFound, h.Get(t, page["url"].(string), "").Status)
}
