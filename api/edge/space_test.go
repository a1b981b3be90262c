package edge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
)

// An upload reads the quota of its account once, whichever route takes it, and what does not fit is refused.
func TestUploadReadsTheQuotaOfItsAccountOnce(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	h.Quota.Limit.Store(1 << 20)
	for path, parts := range map[string][]apitest.Part{
		"/api/v2/assets":    apitest.Upload("some bytes"),
		"/api/assets":       {apitest.File("file", "b.txt", "other bytes")},
		"/api/upload/image": {apitest.File("image", "a.png", apitest.Picture(t, 8, 8, 1))},
	} {
		h.Quota.Kept.Store(0)
		h.Quota.Asked.Store(0)
		got := h.Post(t, path, "key-a", parts...)
		require.Less(t, got.Status, 300, "%s: %s", path, got.Body)
		require.EqualValues(t, 1, h.Quota.Asked.Load(), path)
		h.Quota.Kept.Store(1 << 20)
		require.Equal(t, http.StatusForbidden, h.Post(t, path, "key-a", parts...).Status, path)
	}
	h.Quota.Kept.Store(1<<20 - 1) // a byte is left
	h.Quota.Asked.Store(0)
	require.Equal(t, http.StatusForbidden, h.Post(t, "/api/assets", "key-a", apitest.File("file", "c.txt", "more bytes")).Status)
	require.EqualValues(t, 2, h.Quota.Asked.Load(), "asked again before it is refused")
}

// While the disk is nearly full nothing new is taken, in the words of each surface, and /readyz says so by
// the same rule; what is there can be read and deleted.
func TestSubmissionWithoutDiskSpaceIsRefused(t *testing.T) {
	t.Parallel()
	disk := &apitest.Fillable{}
	disk.Full.Store(true)
	h := apitest.StartWith(t, apitest.Options{Mode: account.ModeKeys}, func(d *apitest.Deps) { d.Space = disk })
	for path, body := range map[string]string{"/api/prompt": `{"prompt":{}}`, "/prompt": `{"prompt":{}}`, "/api/v2/jobs": `{"workflow":{}}`} {
		got := h.Do(t, "POST", path, body, "X-API-Key", "key-a")
		require.Equal(t, http.StatusServiceUnavailable, got.Status, got.Body)
		require.Equal(t, "60", got.Header.Get("Retry-After"))
		require.Contains(t, got.Body, "there is no space left to store this")
		require.Equal(t, http.StatusUnauthorized, h.Do(t, "POST", path, body).Status, "the credential comes first")
	}
	require.Equal(t, http.StatusOK, h.Do(t, "GET", "/api/queue", "", "X-API-Key", "key-a").Status)
	require.Equal(t, http.StatusOK, h.Do(t, "POST", "/api/queue", `{"clear":true}`, "X-API-Key", "key-a").Status, "canceling frees space")
	disk.Full.Store(false)
	require.Less(t, h.Do(t, "POST", "/api/prompt", `{"prompt":{}}`, "X-API-Key", "key-a").Status, 500)
}

func TestUploadWithoutDiskSpaceIsRefused(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	kept := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("kept")...).JSON(t)
	h.Disk.Full.Store(true)
	for range 2 {
		res := h.PostKeyed(t, "k", "key-a", apitest.Upload("x")...)
		require.Equal(t, http.StatusInternalServerError, res.Status, "the contract of uploads knows no 503 (A-65)")
		require.Equal(t, "upstream_error", apitest.Code(t, res))
		require.Equal(t, "60", res.Header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusServiceUnavailable, h.Post(t, "/api/upload/image", "key-a", apitest.File("image", "a.png", "x")).Status)
	require.Equal(t, "kept", h.Get(t, kept["url"].(string), "").Body)
	target := "/api/v2/assets/" + kept["id"].(string)
	require.Equal(t, http.StatusNoContent, h.Do(t, h.Request(t, http.MethodDelete, target, "key-a", strings.NewReader(""))).Status)
	h.Disk.Full.Store(false)
	require.Equal(t, http.StatusCreated, h.PostKeyed(t, "k", "key-a", apitest.Upload("x")...).Status)
}
