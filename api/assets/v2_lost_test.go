package assets_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// made counts the events, the streams, the records and the intents of assets.
func made(t *testing.T, h *apitest.FileHarness) (n [4]int) {
	t.Helper()
	err := h.Pool.QueryRow(t.Context(), `select (select count(*) from events where type = 'asset.created.v1'),
		(select count(*) from streams where id like 'asset-%'), (select count(*) from files), (select count(*) from outbox)`).
		Scan(&n[0], &n[1], &n[2], &n[3])
	require.NoError(t, err)
	return n
}

func all(n int) [4]int { return [4]int{n, n, n, n} }

// losses are the moments at which an upload commits: with the answer lost, and before it arrives.
var losses = map[string]func(*pgtest.Proxy) <-chan struct{}{
	"the record is not answered": func(p *pgtest.Proxy) <-chan struct{} { return p.LoseAnswer("COMMIT") },
	"the record does not arrive": func(p *pgtest.Proxy) <-chan struct{} { return p.LoseStatement("commit") },
}

// An upload that is committed and whose answer is lost is answered with its asset: a client that received a failure would
// send it again, and its key would be refused as used.
func TestAmbiguousCommitOfAnUploadIsResolved(t *testing.T) {
	t.Parallel()
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, proxy := apitest.StartFilesWithProxy(t)
			lost := lose(proxy)
			res := h.PostKeyed(t, "k", "key-a", apitest.Upload("1")...)
			<-lost
			require.Equal(t, http.StatusCreated, res.Status, res.Body)
			first := res.JSON(t)
			require.Equal(t, true, first["created_new"])
			require.Equal(t, all(1), made(t, h))

			again := h.PostKeyed(t, "k", "key-a", apitest.Upload("1")...)
			require.Equal(t, http.StatusUnprocessableEntity, again.Status)
			require.Equal(t, "idempotency_key_reuse", apitest.Code(t, again))
			require.Equal(t, all(1), made(t, h))
			shown := h.Get(t, "/api/v2/assets/"+first["id"].(string), "key-a").JSON(t)
			for _, field := range []string{"id", "hash", "size_bytes", "content_type", "file_path", "created_at"} {
				require.Equal(t, first[field], shown[field], field)
			}

			lost = lose(proxy)
			res = h.PostKeyed(t, "another", "key-a", apitest.Upload("1")...)
			<-lost
			require.Equal(t, http.StatusOK, res.Status, "the bytes were held before")
			require.Equal(t, false, res.JSON(t)["created_new"])
			require.Equal(t, all(2), made(t, h))
		})
	}
}

// A failure before anything is committed uses no key up, and is not put down to the client.
func TestUploadFailedBeforeItsCommitReleasesItsKey(t *testing.T) {
	t.Parallel()
	h, proxy := apitest.StartFilesWithProxy(t)
	lost := proxy.LoseStatement("begin")
	res := h.PostKeyed(t, "k", "key-a", apitest.Upload("1")...)
	<-lost
	require.Equal(t, http.StatusInternalServerError, res.Status, res.Body)
	require.Equal(t, "upstream_error", apitest.Code(t, res))
	require.Equal(t, all(0), made(t, h))
	require.Equal(t, http.StatusCreated, h.PostKeyed(t, "k", "key-a", apitest.Upload("1")...).Status)
	require.Equal(t, all(1), made(t, h))
}

// The other ways in have no key. What a client repeats must not be made twice by them either.
func TestAmbiguousCommitOfFilesIsResolved(t *testing.T) {
	t.Parallel()
	fromHash := func(h *apitest.FileHarness, t *testing.T) apitest.Reply {
		body := fmt.Sprintf(`{"hash": %q, "file_path": "other.png", "tags": ["x"]}`, apitest.HashOf("1"))
		req := h.Request(t, http.MethodPost, "/api/v2/assets/from-hash", "key-a", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		return h.Do(t, req)
	}
	shelved := uuid.NewString()
	for name, c := range map[string]struct {
		post        func(*apitest.FileHarness, *testing.T) apitest.Reply
		first, then int // statuses
		id          []string
	}{
		"a reference": {fromHash, 201, 200, []string{"id"}},
		"an image": {func(h *apitest.FileHarness, t *testing.T) apitest.Reply {
			return h.Post(t, "/api/upload/image", "key-a", apitest.File("image", "a.png", apitest.Picture(t, 3, 2, 1)))
		}, 200, 200, []string{"asset", "id"}},
		"an image over another": {func(h *apitest.FileHarness, t *testing.T) apitest.Reply {
			return h.Post(t, "/api/upload/image", "key-a", apitest.File("image", "photo.png", apitest.Picture(t, 3, 2, 1)),
				apitest.Field("overwrite", "true"))
		}, 200, 200, []string{"asset", "id"}},
		"a file of the library": {func(h *apitest.FileHarness, t *testing.T) apitest.Reply {
			return h.Post(t, "/api/assets", "key-a", apitest.Field("tags", "input"), apitest.File("file", "b.png", "2"))
		}, 201, 200, []string{"id"}},
		"one with an id": {func(h *apitest.FileHarness, t *testing.T) apitest.Reply {
			return h.Post(t, "/api/assets", "key-a", apitest.Field("tags", "input"), apitest.Field("id", shelved),
				apitest.File("file", "b.png", "2"))
		}, 201, 200, []string{"id"}},
	} {
		for when, lose := range losses {
			t.Run(name+", "+when, func(t *testing.T) {
				t.Parallel()
				h, proxy := apitest.StartFilesWithProxy(t)
				require.Equal(t, http.StatusCreated, h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("1")...).Status)
				lost := lose(proxy)
				res := c.post(h, t)
				<-lost
				require.Equal(t, c.first, res.Status, res.Body)
				require.Equal(t, all(2), made(t, h))
				again := c.post(h, t)
				require.Equal(t, c.then, again.Status, again.Body)
				require.Equal(t, dig(t, res, c.id), dig(t, again, c.id), "the same one")
				require.Equal(t, all(2), made(t, h))
			})
		}
	}
}

// dig returns what an answer says at a path.
func dig(t *testing.T, a apitest.Reply, path []string) string {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal([]byte(a.Body), &v))
	for _, name := range path {
		v = v.(map[string]any)[name]
	}
	return v.(string)
}

// A client that leaves when its last byte is sent gets its asset when it sends the upload again with its key, once.
func TestDisconnectedUploadKeepsItsKey(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	blocking, err := h.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = blocking.Exec(t.Context(), `lock table files in access exclusive mode`)
	require.NoError(t, err)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		body, kind := formOf(t, "x")
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+"/api/v2/assets", strings.NewReader(body))
		if err != nil {
			return
		}
		req.Header.Set("Content-Type", kind)
		req.Header.Set("Authorization", "Bearer key-a")
		req.Header["Idempotency-Key"] = []string{"k"}
		if res, err := h.Client.Do(req); err == nil {
			res.Body.Close()
		}
	}()
	apitest.Until(t, "the asset is being recorded", func() bool {
		var waiting int
		require.NoError(t, blocking.QueryRow(t.Context(),
			`select count(*) from pg_locks where not granted and relation = 'files'::regclass
				and database = (select oid from pg_database where datname = current_database())`).Scan(&waiting))
		return waiting > 0
	})
	leave()
	<-left
	apitest.Until(t, "the server has noticed, or goes on", func() bool {
		var working int
		require.NoError(t, blocking.QueryRow(t.Context(), `select count(*) from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid() and state = 'active'`).Scan(&working))
		return working <= 1
	})
	require.NoError(t, blocking.Rollback(t.Context()))
	apitest.Until(t, "the asset is there", func() bool { return len(list(t, h, "")) == 1 })
	require.Equal(t, http.StatusUnprocessableEntity, h.PostKeyed(t, "k", "key-a", apitest.Upload("y")...).Status, "other bytes")
	again := h.PostKeyed(t, "k", "key-a", apitest.Upload("x")...)
	require.Equal(t, http.StatusCreated, again.Status, "it had no answer: %s", again.Body)
	require.Len(t, list(t, h, ""), 1)
	require.Equal(t, http.StatusUnprocessableEntity, h.PostKeyed(t, "k", "key-a", apitest.Upload("x")...).Status)
}
