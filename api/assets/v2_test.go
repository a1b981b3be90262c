package assets_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

func TestAnUploadBecomesAnAsset(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	data := strings.Repeat("some bytes ", 1000)
	res := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload(data)...)
	require.Equal(t, http.StatusCreated, res.Status, res.Body)
	a := res.JSON(t)
	_, err := uuid.Parse(a["id"].(string))
	require.NoError(t, err)
	require.Equal(t, apitest.HashOf(data), a["hash"])
	require.EqualValues(t, len(data), a["size_bytes"])
	require.Equal(t, "image/png", a["content_type"])
	require.Equal(t, "in/photo.png", a["file_path"])
	require.Equal(t, true, a["created_new"])
	require.Nil(t, a["expires_at"])
	require.NotContains(t, a, "job_id")
	require.NotContains(t, a, "tags")
	for _, name := range []string{"created_at", "url_expires_at"} {
		at, err := time.Parse("2006-01-02T15:04:05.000Z", a[name].(string))
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), at, 30*time.Minute)
	}
	u, err := url.Parse(a["url"].(string))
	require.NoError(t, err)
	require.True(t, u.IsAbs())
	got := h.Get(t, a["url"].(string), "")
	require.Equal(t, http.StatusOK, got.Status)
	require.Equal(t, data, got.Body)

	again := h.Get(t, "/api/v2/assets/"+a["id"].(string), "key-a")
	require.Equal(t, http.StatusOK, again.Status)
	want := maps.Clone(a)
	delete(want, "created_new")
	require.Equal(t, want, again.JSON(t), "a read says the same, without created_new")
}

func TestEqualBytesAreStoredOnceAndScannedPerAccount(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	first := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("x")...)
	second := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("x")...)
	require.Equal(t, http.StatusOK, second.Status)
	require.Equal(t, false, second.JSON(t)["created_new"])
	require.NotEqual(t, first.JSON(t)["id"], second.JSON(t)["id"])
	require.Equal(t, first.JSON(t)["hash"], second.JSON(t)["hash"])
	other := h.Post(t, "/api/v2/assets", "key-b", apitest.Upload("x")...)
	require.Equal(t, http.StatusCreated, other.Status, "other accounts learn nothing of what an account has")
	require.Equal(t, true, other.JSON(t)["created_new"])
	stored, staged := h.Blobs(t)
	require.Equal(t, 1, stored)
	require.Zero(t, staged)
	for _, target := range []string{"", "/content"} {
		res := h.Get(t, "/api/v2/assets/"+other.JSON(t)["id"].(string)+target, "key-a")
		require.Equal(t, http.StatusNotFound, res.Status)
		require.Equal(t, "not_found", apitest.Code(t, res))
	}
}

// The test vectors that BLAKE3's authors publish: so many bytes, which count from 0 to 250 over and over.
func TestTheHashIsBLAKE3(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	for size, want := range map[int]string{
		0:      "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
		1:      "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
		1024:   "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
		1025:   "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
		31744:  "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47",
		102400: "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085",
	} {
		input := make([]byte, size)
		for i := range input {
			input[i] = byte(i % 251)
		}
		made := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload(string(input), apitest.Field("expected_hash", "blake3:"+want))...)
		require.Equal(t, http.StatusCreated, made.Status, made.Body)
		require.Equal(t, "blake3:"+want, made.JSON(t)["hash"])
		require.EqualValues(t, size, made.JSON(t)["size_bytes"])
	}
}

func TestPartsComeInAnyOrder(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	fields := []apitest.Part{
		apitest.File("file", "f", "data"),
		apitest.Field("content_type", "text/plain"),
		apitest.Field("file_path", "f.txt"),
		apitest.Field("expected_hash", apitest.HashOf("data")),
		apitest.Field("tags", "b"),
		apitest.Field("unknown", strings.Repeat("u", 100_000)),
		apitest.Field("tags", "a"),
		apitest.File("unknown", "file.bin", "u"),
	}
	for shift := range fields {
		rotated := append(append([]apitest.Part{}, fields[shift:]...), fields[:shift]...)
		res := h.Post(t, "/api/v2/assets", "key-a", rotated...)
		require.Contains(t, []int{200, 201}, res.Status, res.Body)
	}
}

func TestUploadValidation(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{MaxUpload: 1 << 20})
	cases := map[string]struct {
		parts  []apitest.Part
		status int
		code   string
	}{
		"no file":                 {apitest.Upload("x", apitest.Part{Name: "-file"}), 422, "invalid_body"},
		"no content type":         {apitest.Upload("x", apitest.Part{Name: "-content_type"}), 422, "invalid_body"},
		"no path":                 {apitest.Upload("x", apitest.Part{Name: "-file_path"}), 422, "invalid_body"},
		"two files":               {append(apitest.Upload("x"), apitest.File("file", "b", "y")), 422, "invalid_body"},
		"two paths":               {append(apitest.Upload("x"), apitest.Field("file_path", "y")), 422, "invalid_body"},
		"two content types":       {append(apitest.Upload("x"), apitest.Field("content_type", "a/b")), 422, "invalid_body"},
		"a type without subtype":  {apitest.Upload("x", apitest.Field("content_type", "image")), 422, "invalid_request"},
		"an empty type":           {apitest.Upload("x", apitest.Field("content_type", "")), 422, "invalid_request"},
		"a type with a line feed": {apitest.Upload("x", apitest.Field("content_type", "a/b\nc")), 422, "invalid_request"},
		"an absolute path":        {apitest.Upload("x", apitest.Field("file_path", "/etc/x")), 422, "invalid_request"},
		"a path with ..":          {apitest.Upload("x", apitest.Field("file_path", "a/../../x")), 422, "invalid_request"},
		"a backslash":             {apitest.Upload("x", apitest.Field("file_path", `a\x`)), 422, "invalid_request"},
		"a drive letter":          {apitest.Upload("x", apitest.Field("file_path", "C:x")), 422, "invalid_request"},
		"a NUL":                   {apitest.Upload("x", apitest.Field("file_path", "a\x00b")), 422, "invalid_request"},
		"an empty path":           {apitest.Upload("x", apitest.Field("file_path", "")), 422, "invalid_request"},
		"an endless path":         {apitest.Upload("x", apitest.Field("file_path", strings.Repeat("a/", 2000)+"x")), 422, "invalid_request"},
		"a short hash":            {apitest.Upload("x", apitest.Field("expected_hash", "blake3:12")), 409, "hash_mismatch"},
		"a hash of no digits":     {apitest.Upload("x", apitest.Field("expected_hash", "blake3:")), 422, "invalid_request"},
		"a hash that is no number": {
			apitest.Upload("x", apitest.Field("expected_hash", "blake3:"+strings.Repeat("x", 64))), 422,
			"invalid_request",
		},
		"a hash without its function": {apitest.Upload("x", apitest.Field("expected_hash", strings.Repeat("a", 64))), 422, "invalid_request"},
		"a hash of another function": {
			apitest.Upload("x", apitest.Field("expected_hash", "sha256:"+strings.Repeat("a", 64))), 422,
			"invalid_request",
		},
		"a malformed hash, afterwards": {append(apitest.Upload("x"), apitest.Field("expected_hash", "no")), 422, "invalid_request"},
		"expires too soon":             {apitest.Upload("x", apitest.Field("expires_in", "59")), 422, "invalid_request"},
		"expires too late":             {apitest.Upload("x", apitest.Field("expires_in", "604801")), 422, "invalid_request"},
		"expires before":               {apitest.Upload("x", apitest.Field("expires_in", "-60")), 422, "invalid_request"},
		"expires at a fraction":        {apitest.Upload("x", apitest.Field("expires_in", "60.5")), 422, "invalid_request"},
		"expires at a word":            {apitest.Upload("x", apitest.Field("expires_in", "never")), 422, "invalid_request"},
		"an empty tag":                 {apitest.Upload("x", apitest.Field("tags", "")), 422, "invalid_request"},
		"a tag with NUL":               {apitest.Upload("x", apitest.Field("tags", "a\x00")), 422, "invalid_request"},
		"a file over the limit":        {apitest.Upload(strings.Repeat("x", 1<<20+1)), 413, "invalid_body"},
		"an endless field":             {apitest.Upload("x", apitest.Field("file_path", strings.Repeat("x", 1<<17))), 422, "invalid_body"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := h.Post(t, "/api/v2/assets", "key-a", c.parts...)
			require.Equal(t, c.status, res.Status, res.Body)
			require.Equal(t, c.code, apitest.Code(t, res))
		})
	}
	t.Cleanup(func() {
		stored, staged := h.Blobs(t)
		require.Zero(t, stored, "nothing is stored")
		require.Zero(t, staged, "nothing stays behind")
	})
}

func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{MaxUpload: 1 << 20})
	var whole bytes.Buffer
	w := multipart.NewWriter(&whole)
	for _, p := range apitest.Upload(strings.Repeat("x", 300_000)) {
		pw, err := w.CreateFormFile(p.Name, p.Filename)
		require.NoError(t, err)
		_, err = io.WriteString(pw, p.Value)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	right := w.FormDataContentType()
	for name, c := range map[string]struct{ contentType, body string }{
		"JSON":            {"application/json", "{}"},
		"no boundary":     {"multipart/form-data", whole.String()},
		"wrong boundary":  {"multipart/form-data; boundary=no", whole.String()},
		"no type":         {"", whole.String()},
		"empty":           {right, ""},
		"cut in the file": {right, whole.String()[:100_000]},
		"cut at the end":  {right, whole.String()[:whole.Len()-3]},
		"garbage":         {right, "garbage"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := h.Request(t, http.MethodPost, "/api/v2/assets", "key-a", strings.NewReader(c.body))
			req.Header.Set("Content-Type", c.contentType)
			req.Header.Set("Idempotency-Key", name)
			res := h.Do(t, req)
			require.Equal(t, 422, res.Status, res.Body)
			require.Equal(t, "invalid_body", apitest.Code(t, res))
			retry := h.PostKeyed(t, name, "key-a", apitest.Upload(name)...)
			require.Equal(t, http.StatusCreated, retry.Status, "the key was released")
		})
	}
	t.Cleanup(func() {
		_, staged := h.Blobs(t)
		require.Zero(t, staged)
	})
}

func TestOversizedBodyIsRefusedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{MaxUpload: 1 << 20, MaxImage: 1 << 20})
	for name, c := range map[string]struct {
		route, key, kind string
		status           int
	}{
		"too large":          {"/api/v2/assets", "key-a", "multipart/form-data; boundary=b", http.StatusRequestEntityTooLarge},
		"too large an image": {"/api/upload/image", "key-a", "multipart/form-data; boundary=b", http.StatusBadRequest},
		"too large a graph":  {"/api/prompt", "key-a", "application/json", http.StatusRequestEntityTooLarge},
		"nobody's":           {"/api/v2/assets", "wrong", "multipart/form-data; boundary=b", http.StatusUnauthorized},
		"nobody's graph":     {"/api/prompt", "wrong", "application/json", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
			require.NoError(t, err)
			defer conn.Close()
			require.NoError(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
				c.route, c.key, c.kind, int64(5)<<30)
			require.NoError(t, err)
			got := make([]byte, 12)
			_, err = io.ReadFull(conn, got)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint("HTTP/1.1 ", c.status), string(got))
		})
	}
}

func TestInterruptedUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	body := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n" + strings.Repeat("x", 600_000)
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "POST /api/v2/assets HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: key-a\r\nIdempotency-Key: k\r\n"+
		"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 99999999\r\n\r\n%s", body)
	require.NoError(t, err)
	apitest.Until(t, "the server has begun to store it", func() bool { _, staged := h.Blobs(t); return staged > 0 })
	require.NoError(t, conn.Close())
	apitest.Until(t, "nothing is staged", func() bool { _, staged := h.Blobs(t); return staged == 0 })
	stored, _ := h.Blobs(t)
	require.Zero(t, stored)
	apitest.Until(t, "the key is released", func() bool {
		return h.PostKeyed(t, "k", "key-a", apitest.Upload("x")...).Status == http.StatusCreated
	})
}

func TestExpectedHash(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	data := strings.Repeat("y", 500_000)
	right, wrong := apitest.Field("expected_hash", apitest.HashOf(data)), apitest.Field("expected_hash", apitest.HashOf("z"))
	mismatch := func(parts []apitest.Part, stored int) {
		res := h.Post(t, "/api/v2/assets", "key-a", parts...)
		require.Equal(t, http.StatusConflict, res.Status)
		require.Equal(t, "hash_mismatch", apitest.Code(t, res))
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		require.NoError(t, err)
		require.Positive(t, seconds)
		blobs, staged := h.Blobs(t)
		require.Equal(t, stored, blobs)
		require.Zero(t, staged)
	}
	mismatch(apitest.Upload(data, wrong), 0)
	mismatch(append(apitest.Upload(data), wrong), 0)
	zero := apitest.Field("expected_hash", blob.Ref{}.String())
	mismatch(apitest.Upload(data, zero), 0) // a hash like any other
	mismatch(append(apitest.Upload(data), zero), 0)
	for _, short := range []string{"blake3:1", right.Value[:len(right.Value)-1], right.Value + "0"} { // no bytes have a hash of another length
		mismatch(apitest.Upload(data, apitest.Field("expected_hash", short)), 0)
	}
	require.Equal(t, http.StatusCreated, h.Post(t, "/api/v2/assets", "key-a",
		apitest.Upload(data, apitest.Field("expected_hash",
			strings.ToUpper(right.Value[:0])+"blake3:"+strings.ToUpper(right.Value[7:])))...).Status)
	held := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload(data, right)...)
	require.Equal(t, http.StatusOK, held.Status, "verified without a write")
	mismatch(apitest.Upload(data+"!", right), 1)
	mismatch(apitest.Upload("other bytes of a hash that is held", right), 1)
	require.Len(t, list(t, h, ""), 2)
}

// list returns the assets of a listing.
func list(t *testing.T, h *apitest.FileHarness, query string) []map[string]any {
	t.Helper()
	res := h.Get(t, "/api/v2/assets"+query, "key-a")
	require.Equal(t, http.StatusOK, res.Status, res.Body)
	var body struct{ Assets []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(res.Body), &body))
	return body.Assets
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	require.Equal(t, 201, h.PostKeyed(t, "k1", "key-a", apitest.Upload("1")...).Status)
	reuse := h.PostKeyed(t, "k1", "key-a", apitest.Upload("2")...)
	require.Equal(t, 422, reuse.Status)
	require.Equal(t, "idempotency_key_reuse", apitest.Code(t, reuse))
	require.Equal(t, 201, h.PostKeyed(t, "k1", "key-b", apitest.Upload("1")...).Status, "another account's keys are its own")
	require.Equal(t, 422, h.PostKeyed(t, "k2", "key-a", apitest.Upload("1", apitest.Part{Name: "-file"})...).Status)
	require.Equal(t, 200, h.PostKeyed(t, "k2", "key-a", apitest.Upload("1")...).Status, "released by a refusal")
	require.Equal(t, 409, h.PostKeyed(t, "k3", "key-a", apitest.Upload("1", apitest.Field("expected_hash", apitest.HashOf("2")))...).Status)
	require.Equal(t, 422, h.PostKeyed(t, "k3", "key-a", apitest.Upload("1")...).Status, "held after hash_mismatch")
	for _, bad := range []string{"", strings.Repeat("k", 256)} {
		res := h.PostKeyed(t, bad, "key-a", apitest.Upload("1")...)
		require.Equal(t, 422, res.Status)
		require.Equal(t, "invalid_request", apitest.Code(t, res))
	}
	require.Equal(t, 200, h.PostKeyed(t, strings.Repeat("k", 255), "key-a", apitest.Upload("1")...).Status)
	require.Equal(t, 401, h.PostKeyed(t, "k4", "wrong", apitest.Upload("1")...).Status)
	require.Equal(t, 403, h.PostKeyed(t, "k4", "read", apitest.Upload("1")...).Status)
	require.Equal(t, 200, h.PostKeyed(t, "k4", "key-a", apitest.Upload("1")...).Status, "not claimed without a right to")
}

// The clock is the database's: the rows are moved instead.
func TestIdempotencyKeyExpiresAfterADay(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	age := func(by string) {
		_, err := h.Pool.Exec(t.Context(), `update idempotency_keys set expires_at = expires_at - $1::interval`, by)
		require.NoError(t, err)
	}
	require.Equal(t, 201, h.PostKeyed(t, "k", "key-a", apitest.Upload("1")...).Status)
	age("23 hours 59 minutes")
	require.Equal(t, 422, h.PostKeyed(t, "k", "key-a", apitest.Upload("1")...).Status)
	age("2 minutes")
	require.Equal(t, 200, h.PostKeyed(t, "k", "key-a", apitest.Upload("1")...).Status, "processed again")
	require.Equal(t, 422, h.PostKeyed(t, "k", "key-a", apitest.Upload("1")...).Status, "for another day")
	age("23 hours 59 minutes")
	require.Equal(t, 422, h.PostKeyed(t, "k", "key-a", apitest.Upload("1")...).Status)
}

func TestTwoRequestsWithOneKeyAtOnce(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	for round := range 10 {
		var wg sync.WaitGroup
		statuses := make([]int, 4)
		for i := range statuses {
			wg.Go(func() {
				statuses[i] = h.PostKeyed(t, fmt.Sprint("k", round), "key-a", apitest.Upload(fmt.Sprint(round))...).Status
			})
		}
		wg.Wait()
		n := map[int]int{}
		for _, s := range statuses {
			n[s]++
		}
		require.Equal(t, map[int]int{201: 1, 422: 3}, n)
	}
}

func TestSimultaneousUploadsOfNewBytesStoreThemOnce(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	var wg sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		wg.Go(func() { statuses[i] = h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("same")...).Status })
	}
	wg.Wait()
	n := map[int]int{}
	for _, s := range statuses {
		n[s]++
	}
	require.Equal(t, map[int]int{201: 1, 200: 7}, n)
}

func TestRetention(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	until := func(a map[string]any) time.Duration {
		if a["expires_at"] == nil {
			return 0
		}
		at, err := time.Parse(time.RFC3339, a["expires_at"].(string))
		require.NoError(t, err)
		return time.Until(at).Round(time.Minute)
	}
	post := func(data, seconds string) map[string]any {
		res := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload(data, apitest.Field("expires_in", seconds))...)
		require.Contains(t, []int{200, 201}, res.Status, res.Body)
		return res.JSON(t)
	}
	for _, seconds := range []int{60, 61, 604800} { // to the millisecond
		a := post(fmt.Sprint("exactly ", seconds), strconv.Itoa(seconds))
		created, err := time.Parse(time.RFC3339Nano, a["created_at"].(string))
		require.NoError(t, err)
		require.Equal(t, created.Add(time.Duration(seconds)*time.Second).Format("2006-01-02T15:04:05.000Z"), a["expires_at"])
		require.Equal(t, a["created_at"], h.Get(t, "/api/v2/assets/"+a["id"].(string), "key-a").JSON(t)["created_at"])
	}
	require.Equal(t, time.Minute, until(post("1", "60")))
	require.Equal(t, 7*24*time.Hour, until(post("2", "604800")))
	long := post("3", "86400")
	require.Equal(t, 24*time.Hour, until(post("3", "60")), "never nearer than what is in force")
	require.Equal(t, 48*time.Hour, until(post("3", "172800")))
	require.Equal(t, 24*time.Hour, until(h.Get(t, "/api/v2/assets/"+long["id"].(string), "key-a").JSON(t)), "existing assets stay as they are")
	h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("4")...)
	require.Zero(t, until(post("4", "60")), "never wins")

	again := fromHash(t, h, fmt.Sprintf(`{"hash":%q,"file_path":"in/photo.png","expires_in":604800}`, apitest.HashOf("1")))
	require.Equal(t, http.StatusOK, again.Status)
	require.Equal(t, 7*24*time.Hour, until(again.JSON(t)), "the same asset again is extended")
	again = fromHash(t, h, fmt.Sprintf(`{"hash":%q,"file_path":"in/photo.png","expires_in":60}`, apitest.HashOf("1")))
	require.Equal(t, 7*24*time.Hour, until(again.JSON(t)), "and never shortened")
}

func fromHash(t *testing.T, h *apitest.FileHarness, body string) apitest.Reply {
	t.Helper()
	return h.Bearer(t, http.MethodPost, "/api/v2/assets/from-hash", body)
}

func TestFromHash(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	first := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("x", apitest.Field("tags", "b"), apitest.Field("tags", "a"))...).JSON(t)
	h.Post(t, "/api/v2/assets", "key-b", apitest.Upload("theirs")...)

	same := fromHash(t, h, fmt.Sprintf(`{"hash":%q,"file_path":"in/photo.png","tags":["a","b"]}`, apitest.HashOf("x")))
	require.Equal(t, http.StatusOK, same.Status, same.Body)
	require.Equal(t, first["id"], same.JSON(t)["id"], "an identical reference is returned as it is")
	require.Equal(t, false, same.JSON(t)["created_new"])
	for _, other := range []string{`"file_path":"b.png","tags":["a","b"]`, `"file_path":"in/photo.png","tags":["a"]`, `"tags":["a","b"]`} {
		res := fromHash(t, h, fmt.Sprintf(`{"hash":%q,%s}`, apitest.HashOf("x"), other))
		require.Equal(t, http.StatusCreated, res.Status, res.Body)
		require.NotEqual(t, first["id"], res.JSON(t)["id"])
		require.Equal(t, "image/png", res.JSON(t)["content_type"])
		require.EqualValues(t, 1, res.JSON(t)["size_bytes"])
		again := fromHash(t, h, fmt.Sprintf(`{"hash":%q,%s}`, apitest.HashOf("x"), other))
		require.Equal(t, []any{http.StatusOK, res.JSON(t)["id"]}, []any{again.Status, again.JSON(t)["id"]},
			"the same once more, with a name and without")
	}
	for body, want := range map[string]string{
		fmt.Sprintf(`{"hash":%q}`, apitest.HashOf("theirs")):   "404 blob_not_found",
		fmt.Sprintf(`{"hash":%q}`, apitest.HashOf("nobody's")): "404 blob_not_found",
		fmt.Sprintf(`{"hash":%q}`, blob.Ref{}):                 "404 blob_not_found",
		`{"hash":"blake3:1"}`:                                  "404 blob_not_found",
		fmt.Sprintf(`{"hash":"%s0"}`, apitest.HashOf("x")):     "404 blob_not_found",
		`{"hash":"blake3:"}`:                                   "422 invalid_request",
		`{"hash":"blake3:xyz"}`:                                "422 invalid_request",
		`{"hash":"sha256:1"}`:                                  "422 invalid_request",
		`{}`:                                                   "422 invalid_request",
		`{`:                                                    "422 invalid_request",
		fmt.Sprintf(`{"hash":%q,"file_path":"../x"}`, apitest.HashOf("x")): "422 invalid_request",
		fmt.Sprintf(`{"hash":%q,"expires_in":59}`, apitest.HashOf("x")):    "422 invalid_request",
		fmt.Sprintf(`{"hash":%q,"expires_in":"60"}`, apitest.HashOf("x")):  "422 invalid_request",
		fmt.Sprintf(`{"hash":%q,"tags":"a"}`, apitest.HashOf("x")):         "422 invalid_request",
	} {
		res := fromHash(t, h, body)
		require.Equal(t, want, fmt.Sprint(res.Status, " ", apitest.Code(t, res)), body)
	}
}

func TestHeadByHash(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("x")...)
	h.Post(t, "/api/v2/assets", "key-b", apitest.Upload("theirs")...)
	for hash, want := range map[string]int{
		apitest.HashOf("x"): 200, strings.Replace(apitest.HashOf("x"), ":", "%3A", 1): 200,
		apitest.HashOf("theirs"): 404, apitest.HashOf("nobody's"): 404, "nonsense": 404,
	} {
		res := h.Bearer(t, http.MethodHead, "/api/v2/assets/by-hash/"+hash, "")
		require.Equal(t, want, res.Status, hash)
		require.Empty(t, res.Body)
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	a := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("0123456789", apitest.Field("content_type", "text/plain"))...).JSON(t)
	target := "/api/v2/assets/" + a["id"].(string) + "/content"
	redirected := h.Get(t, target, "key-a")
	require.Equal(t, http.StatusFound, redirected.Status)
	link := redirected.Header.Get("Location")
	require.True(t, strings.HasPrefix(link, h.URL+"/"), link)
	full := h.Get(t, strings.TrimPrefix(link, h.URL), "") // without a credential
	require.Equal(t, "0123456789", full.Body)
	require.Equal(t, "text/plain", full.Header.Get("Content-Type"))
	require.Equal(t, `"`+apitest.HashOf("0123456789")+`"`, full.Header.Get("ETag"))
	require.Equal(t, "inline; filename=photo.png", full.Header.Get("Content-Disposition"))
	link = strings.TrimPrefix(link, h.URL)
	require.Equal(t, "234", h.Get(t, link, "", "Range", "bytes=2-4").Body)
	require.Equal(t, 304, h.Get(t, link, "", "If-None-Match", full.Header.Get("ETag")).Status)
	bad := h.Get(t, link, "", "Range", "bytes=10-")
	require.Equal(t, 416, bad.Status)
	require.Contains(t, bad.Body, `"range_not_satisfiable"`)
	require.Equal(t, "10", h.Bearer(t, http.MethodHead, target, "").Header.Get("Content-Length"))
	for _, id := range []string{"nonsense", uuid.NewString(), strings.ToUpper(a["id"].(string))} {
		require.Equal(t, 404, h.Get(t, "/api/v2/assets/"+id+"/content", "key-a").Status)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	a := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("x")...).JSON(t)
	b := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("x", apitest.Field("file_path", "b.png"))...).JSON(t)
	target := "/api/v2/assets/" + a["id"].(string)
	require.Equal(t, 404, h.Do(t, h.Request(t, http.MethodDelete, target, "key-b", nil)).Status)
	require.Equal(t, 403, h.Do(t, h.Request(t, http.MethodDelete, target, "read", nil)).Status)
	gone := h.Do(t, h.Request(t, http.MethodDelete, target, "key-a", nil))
	require.Equal(t, 204, gone.Status)
	require.Empty(t, gone.Body)
	for _, res := range []apitest.Reply{
		h.Do(t, h.Request(t, http.MethodDelete, target, "key-a", nil)), h.Get(t, target, "key-a"),
		h.Get(t, target+"/content", "key-a"),
	} {
		require.Equal(t, 404, res.Status)
		require.Equal(t, "not_found", apitest.Code(t, res))
	}
	require.Equal(t, 404, h.Get(t, a["url"].(string), "").Status, "its link is dead at once")
	require.Equal(t, "x", h.Get(t, b["url"].(string), "").Body, "the bytes stay for the other asset")
	require.Len(t, list(t, h, ""), 1)
	require.Equal(t, 404, h.Do(t, h.Request(t, http.MethodDelete, "/api/v2/assets/nonsense", "key-a", nil)).Status)
}

func TestListing(t *testing.T) { // our addition
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	for i := range 5 {
		h.Post(t, "/api/v2/assets", "key-a", apitest.Upload(fmt.Sprint(i), apitest.Field("file_path", fmt.Sprintf("dir/%d.png", i)),
			apitest.Field("tags", fmt.Sprint("t", i%2)))...)
	}
	h.Post(t, "/api/v2/assets", "key-b", apitest.Upload("theirs")...)
	names := func(list []map[string]any) (out []string) {
		for _, a := range list {
			out = append(out, path.Base(a["file_path"].(string)))
		}
		return out
	}
	require.Equal(t, []string{"4.png", "3.png", "2.png", "1.png", "0.png"}, names(list(t, h, "")))
	require.Equal(t, []string{"3.png", "1.png"}, names(list(t, h, "?tag=t1")))
	require.Equal(t, []string{"2.png"}, names(list(t, h, "?name=DIR/2")))
	require.Equal(t, []any{"t1"}, list(t, h, "?tag=t1")[0]["tags"])
	var walked []string
	for cursor := ""; ; {
		res := h.Get(t, "/api/v2/assets?limit=2"+cursor, "key-a").JSON(t)
		for _, a := range res["assets"].([]any) {
			walked = append(walked, path.Base(a.(map[string]any)["file_path"].(string)))
		}
		next, more := res["next_cursor"].(string)
		if !more {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
	require.Equal(t, []string{"4.png", "3.png", "2.png", "1.png", "0.png"}, walked)
	for query, want := range map[string]string{
		"?cursor=nonsense": "400 invalid_cursor", "?cursor=": "400 invalid_cursor", "?limit=0": "422 invalid_request",
		"?limit=501": "422 invalid_request", "?limit=x": "422 invalid_request", "?tag=": "422 invalid_request",
		"?name=%00": "422 invalid_request",
	} {
		res := h.Get(t, "/api/v2/assets"+query, "key-a")
		require.Equal(t, want, fmt.Sprint(res.Status, " ", apitest.Code(t, res)), query)
	}
}

func TestAZeroByteFile(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	a := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("")...)
	require.Equal(t, http.StatusCreated, a.Status)
	require.EqualValues(t, 0, a.JSON(t)["size_bytes"])
	got := h.Get(t, a.JSON(t)["url"].(string), "")
	require.Equal(t, http.StatusOK, got.Status)
	require.Empty(t, got.Body)
}

func TestAnUploadedPathIsANameForGraphs(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	first := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("one")...).JSON(t)
	second := h.Post(t, "/api/v2/assets", "key-a", apitest.Upload("two")...).JSON(t)
	own := h.Files.ForAccount("a")
	info, err := own.Stat(t.Context(), "in/photo.png")
	require.NoError(t, err)
	require.Equal(t, second["hash"], info.Hash, "the newest asset has the name")
	info, err = own.Stat(t.Context(), "asset:"+first["id"].(string))
	require.NoError(t, err)
	require.Equal(t, first["hash"], info.Hash)
	_, err = h.Files.ForAccount("b").Stat(t.Context(), "in/photo.png")
	require.Error(t, err)
}
