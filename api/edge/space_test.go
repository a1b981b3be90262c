package api_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

// fillable is a disk that a test says is full.
type fillable struct{ full atomic.Bool }

func (f *fillable) CheckSpace() error {
	if f.full.Load() {
		return fault.New(fault.Unavailable, "", "there is no space left to store this").WithRetryAfter(time.Minute)
	}
	return nil
}

// quota is the room of every account, and counts how often it is asked for.
type quota struct {
	kept, limit, asked atomic.Int64
}

func (q *quota) Room(context.Context, string) (account.Storage, error) {
	q.asked.Add(1)
	return account.Storage{Bytes: q.kept.Load(), Limit: q.limit.Load()}, nil
}

func (q *quota) Usage(ctx context.Context, id string) (account.Storage, error) {
	return q.Room(ctx, id)
}

// An upload asks once for the room of its account, whichever route takes it, and what does not fit is refused.
func TestUploadAsksOnceForTheRoomOfItsAccount(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	h.quota.limit.Store(1 << 20)
	for path, parts := range map[string][]part{
		"/api/v2/assets":    upload("some bytes"),
		"/api/assets":       {{"file", "b.txt", "other bytes"}},
		"/api/upload/image": {{"image", "a.png", picture(t, 8, 8, 1)}},
	} {
		h.quota.kept.Store(0)
		h.quota.asked.Store(0)
		got := h.post(t, path, "key-a", parts...)
		require.Less(t, got.status, 300, "%s: %s", path, got.body)
		require.EqualValues(t, 1, h.quota.asked.Load(), path)
		h.quota.kept.Store(1 << 20)
		require.Equal(t, http.StatusForbidden, h.post(t, path, "key-a", parts...).status, path)
	}
	h.quota.kept.Store(1<<20 - 1) // room for a byte
	h.quota.asked.Store(0)
	require.Equal(t, http.StatusForbidden, h.post(t, "/api/assets", "key-a", part{"file", "c.txt", "more bytes"}).status)
	require.EqualValues(t, 2, h.quota.asked.Load(), "asked again before it is refused")
}

// While the disk is nearly full nothing new is taken, in the words of each surface, and /readyz says so by
// the same rule; what is there can be read and deleted.
func TestSubmissionWithoutDiskSpaceIsRefused(t *testing.T) {
	t.Parallel()
	room := &fillable{}
	room.full.Store(true)
	h := startWith(t, api.Options{Mode: account.ModeKeys}, func(d *api.Deps) { d.Space = room })
	for path, body := range map[string]string{"/api/prompt": `{"prompt":{}}`, "/prompt": `{"prompt":{}}`, "/api/v2/jobs": `{"workflow":{}}`} {
		got := h.do(t, "POST", path, body, "X-API-Key", "key-a")
		require.Equal(t, http.StatusServiceUnavailable, got.status, got.body)
		require.Equal(t, "60", got.header.Get("Retry-After"))
		require.Contains(t, got.body, "there is no space left to store this")
		require.Equal(t, http.StatusUnauthorized, h.do(t, "POST", path, body).status, "the credential comes first")
	}
	require.Equal(t, http.StatusOK, h.do(t, "GET", "/api/queue", "", "X-API-Key", "key-a").status)
	require.Equal(t, http.StatusOK, h.do(t, "POST", "/api/queue", `{"clear":true}`, "X-API-Key", "key-a").status, "canceling makes room")
	room.full.Store(false)
	require.Less(t, h.do(t, "POST", "/api/prompt", `{"prompt":{}}`, "X-API-Key", "key-a").status, 500)
}

func TestUploadWithoutDiskSpaceIsRefused(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	kept := h.post(t, "/api/v2/assets", "key-a", upload("kept")...).json(t)
	h.room.full.Store(true)
	for range 2 {
		res := h.postKeyed(t, "k", "key-a", upload("x")...)
		require.Equal(t, http.StatusInternalServerError, res.status, "the contract of uploads knows no 503 (A-65)")
		require.Equal(t, "upstream_error", code(t, res))
		require.Equal(t, "60", res.header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusServiceUnavailable, h.post(t, "/api/upload/image", "key-a", part{"image", "a.png", "x"}).status)
	require.Equal(t, "kept", h.get(t, kept["url"].(string), "").body)
	target := "/api/v2/assets/" + kept["id"].(string)
	require.Equal(t, http.StatusNoContent, h.do(t, h.request(t, http.MethodDelete, target, "key-a", strings.NewReader(""))).status)
	h.room.full.Store(false)
	require.Equal(t, http.StatusCreated, h.postKeyed(t, "k", "key-a", upload("x")...).status)
}
