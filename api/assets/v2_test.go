package api_test

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

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// upload is the usual request; change replaces, adds or (with "-name") removes parts.
func upload(data string, change ...part) []part {
	parts := []part{{"content_type", "", "image/png"}, {"file_path", "", "in/photo.png"}, {"file", "photo.png", data}}
	for _, c := range change {
		if name, ok := strings.CutPrefix(c.name, "-"); ok {
			kept := parts[:0:0]
			for _, p := range parts {
				if p.name != name {
					kept = append(kept, p)
				}
			}
			parts = kept
			continue
		}
		replaced := false
		for i := range parts {
			if parts[i].name == c.name && c.name != "tags" {
				parts[i], replaced = c, true
			}
		}
		if !replaced {
			parts = append([]part{c}, parts...)
		}
	}
	return parts
}

// bearer sends requests of the v2 API with key-a.
func (h *fileHarness) bearer(t *testing.T, method, target, body string) reply {
	t.Helper()
	req := h.request(t, method, target, "", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer key-a")
	return h.do(t, req)
}

func code(t *testing.T, a reply) string {
	t.Helper()
	body := a.json(t)
	e, ok := body["error"].(map[string]any)
	require.True(t, ok, a.body)
	require.NotEmpty(t, e["message"])
	c, _ := e["code"].(string)
	return c
}

func hashOf(data string) string { return blob.Sum([]byte(data)).String() }

func TestAnUploadBecomesAnAsset(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	data := strings.Repeat("some bytes ", 1000)
	res := h.post(t, "/api/v2/assets", "key-a", upload(data)...)
	require.Equal(t, http.StatusCreated, res.status, res.body)
	a := res.json(t)
	_, err := uuid.Parse(a["id"].(string))
	require.NoError(t, err)
	require.Equal(t, hashOf(data), a["hash"])
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
	got := h.get(t, a["url"].(string), "")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, data, got.body)

	again := h.get(t, "/api/v2/assets/"+a["id"].(string), "key-a")
	require.Equal(t, http.StatusOK, again.status)
	want := maps.Clone(a)
	delete(want, "created_new")
	require.Equal(t, want, again.json(t), "a read says the same, without created_new")
}

func TestEqualBytesAreStoredOnceAndScannedPerAccount(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	first := h.post(t, "/api/v2/assets", "key-a", upload("x")...)
	second := h.post(t, "/api/v2/assets", "key-a", upload("x")...)
	require.Equal(t, http.StatusOK, second.status)
	require.Equal(t, false, second.json(t)["created_new"])
	require.NotEqual(t, first.json(t)["id"], second.json(t)["id"])
	require.Equal(t, first.json(t)["hash"], second.json(t)["hash"])
	other := h.post(t, "/api/v2/assets", "key-b", upload("x")...)
	require.Equal(t, http.StatusCreated, other.status, "other accounts learn nothing of what an account has")
	require.Equal(t, true, other.json(t)["created_new"])
	stored, staged := h.blobs(t)
	require.Equal(t, 1, stored)
	require.Zero(t, staged)
	for _, target := range []string{"", "/content"} {
		res := h.get(t, "/api/v2/assets/"+other.json(t)["id"].(string)+target, "key-a")
		require.Equal(t, http.StatusNotFound, res.status)
		require.Equal(t, "not_found", code(t, res))
	}
}

// The test vectors that BLAKE3's authors publish: so many bytes, which count from 0 to 250 over and over.
func TestTheHashIsBLAKE3(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
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
		made := h.post(t, "/api/v2/assets", "key-a", upload(string(input), part{"expected_hash", "", "blake3:" + want})...)
		require.Equal(t, http.StatusCreated, made.status, made.body)
		require.Equal(t, "blake3:"+want, made.json(t)["hash"])
		require.EqualValues(t, size, made.json(t)["size_bytes"])
	}
}

func TestPartsComeInAnyOrder(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	fields := []part{
		{"file", "f", "data"},
		{"content_type", "", "text/plain"},
		{"file_path", "", "f.txt"},
		{"expected_hash", "", hashOf("data")},
		{"tags", "", "b"},
		{"unknown", "", strings.Repeat("u", 100_000)},
		{"tags", "", "a"},
		{"unknown", "file.bin", "u"},
	}
	for shift := range fields {
		rotated := append(append([]part{}, fields[shift:]...), fields[:shift]...)
		res := h.post(t, "/api/v2/assets", "key-a", rotated...)
		require.Contains(t, []int{200, 201}, res.status, res.body)
	}
}

func TestUploadValidation(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{MaxUpload: 1 << 20})
	cases := map[string]struct {
		parts  []part
		status int
		code   string
	}{
		"no file":                      {upload("x", part{name: "-file"}), 422, "invalid_body"},
		"no content type":              {upload("x", part{name: "-content_type"}), 422, "invalid_body"},
		"no path":                      {upload("x", part{name: "-file_path"}), 422, "invalid_body"},
		"two files":                    {append(upload("x"), part{"file", "b", "y"}), 422, "invalid_body"},
		"two paths":                    {append(upload("x"), part{"file_path", "", "y"}), 422, "invalid_body"},
		"two content types":            {append(upload("x"), part{"content_type", "", "a/b"}), 422, "invalid_body"},
		"a type without subtype":       {upload("x", part{"content_type", "", "image"}), 422, "invalid_request"},
		"an empty type":                {upload("x", part{"content_type", "", ""}), 422, "invalid_request"},
		"a type with a line feed":      {upload("x", part{"content_type", "", "a/b\nc"}), 422, "invalid_request"},
		"an absolute path":             {upload("x", part{"file_path", "", "/etc/x"}), 422, "invalid_request"},
		"a path with ..":               {upload("x", part{"file_path", "", "a/../../x"}), 422, "invalid_request"},
		"a backslash":                  {upload("x", part{"file_path", "", `a\x`}), 422, "invalid_request"},
		"a drive letter":               {upload("x", part{"file_path", "", "C:x"}), 422, "invalid_request"},
		"a NUL":                        {upload("x", part{"file_path", "", "a\x00b"}), 422, "invalid_request"},
		"an empty path":                {upload("x", part{"file_path", "", ""}), 422, "invalid_request"},
		"an endless path":              {upload("x", part{"file_path", "", strings.Repeat("a/", 2000) + "x"}), 422, "invalid_request"},
		"a short hash":                 {upload("x", part{"expected_hash", "", "blake3:12"}), 409, "hash_mismatch"},
		"a hash of no digits":          {upload("x", part{"expected_hash", "", "blake3:"}), 422, "invalid_request"},
		"a hash that is no number":     {upload("x", part{"expected_hash", "", "blake3:" + strings.Repeat("x", 64)}), 422, "invalid_request"},
		"a hash without its function":  {upload("x", part{"expected_hash", "", strings.Repeat("a", 64)}), 422, "invalid_request"},
		"a hash of another function":   {upload("x", part{"expected_hash", "", "sha256:" + strings.Repeat("a", 64)}), 422, "invalid_request"},
		"a malformed hash, afterwards": {append(upload("x"), part{"expected_hash", "", "no"}), 422, "invalid_request"},
		"expires too soon":             {upload("x", part{"expires_in", "", "59"}), 422, "invalid_request"},
		"expires too late":             {upload("x", part{"expires_in", "", "604801"}), 422, "invalid_request"},
		"expires before":               {upload("x", part{"expires_in", "", "-60"}), 422, "invalid_request"},
		"expires at a fraction":        {upload("x", part{"expires_in", "", "60.5"}), 422, "invalid_request"},
		"expires at a word":            {upload("x", part{"expires_in", "", "never"}), 422, "invalid_request"},
		"an empty tag":                 {upload("x", part{"tags", "", ""}), 422, "invalid_request"},
		"a tag with NUL":               {upload("x", part{"tags", "", "a\x00"}), 422, "invalid_request"},
		"a file over the limit":        {upload(strings.Repeat("x", 1<<20+1)), 413, "invalid_body"},
		"an endless field":             {upload("x", part{"file_path", "", strings.Repeat("x", 1<<17)}), 422, "invalid_body"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := h.post(t, "/api/v2/assets", "key-a", c.parts...)
			require.Equal(t, c.status, res.status, res.body)
			require.Equal(t, c.code, code(t, res))
		})
	}
	t.Cleanup(func() {
		stored, staged := h.blobs(t)
		require.Zero(t, stored, "nothing is stored")
		require.Zero(t, staged, "nothing stays behind")
	})
}

func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{MaxUpload: 1 << 20})
	var whole bytes.Buffer
	w := multipart.NewWriter(&whole)
	for _, p := range upload(strings.Repeat("x", 300_000)) {
		pw, err := w.CreateFormFile(p.name, p.filename)
		require.NoError(t, err)
		_, err = io.WriteString(pw, p.value)
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
			req := h.request(t, http.MethodPost, "/api/v2/assets", "key-a", strings.NewReader(c.body))
			req.Header.Set("Content-Type", c.contentType)
			req.Header.Set("Idempotency-Key", name)
			res := h.do(t, req)
			require.Equal(t, 422, res.status, res.body)
			require.Equal(t, "invalid_body", code(t, res))
			retry := h.postKeyed(t, name, "key-a", upload(name)...)
			require.Equal(t, http.StatusCreated, retry.status, "the key was released")
		})
	}
	t.Cleanup(func() {
		_, staged := h.blobs(t)
		require.Zero(t, staged)
	})
}

// postKeyed uploads with an Idempotency-Key.
func (h *fileHarness) postKeyed(t *testing.T, key, credential string, parts ...part) reply {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		pw, err := w.CreateFormField(p.name)
		require.NoError(t, err)
		_, err = io.WriteString(pw, p.value)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	req := h.request(t, http.MethodPost, "/api/v2/assets", credential, &b)
	req.Header.Set("Content-Type", w.FormDataContentType())
	req.Header["Idempotency-Key"] = []string{key}
	return h.do(t, req)
}

func TestOversizedBodyIsRefusedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{MaxUpload: 1 << 20, MaxImage: 1 << 20})
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
			conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
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
	h := startFiles(t, api.Options{})
	body := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n" + strings.Repeat("x", 600_000)
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "POST /api/v2/assets HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: key-a\r\nIdempotency-Key: k\r\n"+
		"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 99999999\r\n\r\n%s", body)
	require.NoError(t, err)
	until(t, "the server has begun to store it", func() bool { _, staged := h.blobs(t); return staged > 0 })
	require.NoError(t, conn.Close())
	until(t, "nothing is staged", func() bool { _, staged := h.blobs(t); return staged == 0 })
	stored, _ := h.blobs(t)
	require.Zero(t, stored)
	until(t, "the key is released", func() bool {
		return h.postKeyed(t, "k", "key-a", upload("x")...).status == http.StatusCreated
	})
}

// until looks again and again, as there is no signal to wait for, and gives up after two minutes.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); <-tick.C {
		require.True(t, time.Now().Before(deadline), what)
	}
}

func TestExpectedHash(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	data := strings.Repeat("y", 500_000)
	right, wrong := part{"expected_hash", "", hashOf(data)}, part{"expected_hash", "", hashOf("z")}
	mismatch := func(parts []part, stored int) {
		res := h.post(t, "/api/v2/assets", "key-a", parts...)
		require.Equal(t, http.StatusConflict, res.status)
		require.Equal(t, "hash_mismatch", code(t, res))
		seconds, err := strconv.Atoi(res.header.Get("Retry-After"))
		require.NoError(t, err)
		require.Positive(t, seconds)
		blobs, staged := h.blobs(t)
		require.Equal(t, stored, blobs)
		require.Zero(t, staged)
	}
	mismatch(upload(data, wrong), 0)
	mismatch(append(upload(data), wrong), 0)
	zero := part{"expected_hash", "", blob.Ref{}.String()}
	mismatch(upload(data, zero), 0) // a hash like any other
	mismatch(append(upload(data), zero), 0)
	for _, short := range []string{"blake3:1", right.value[:len(right.value)-1], right.value + "0"} { // no bytes have a hash of another length
		mismatch(upload(data, part{"expected_hash", "", short}), 0)
	}
	require.Equal(t, http.StatusCreated, h.post(t, "/api/v2/assets", "key-a", upload(data, part{"expected_hash", "", strings.ToUpper(right.value[:0]) + "blake3:" + strings.ToUpper(right.value[7:])})...).status)
	held := h.post(t, "/api/v2/assets", "key-a", upload(data, right)...)
	require.Equal(t, http.StatusOK, held.status, "verified without a write")
	mismatch(upload(data+"!", right), 1)
	mismatch(upload("other bytes of a hash that is held", right), 1)
	require.Len(t, h.list(t, ""), 2)
}

// list returns the assets of a listing.
func (h *fileHarness) list(t *testing.T, query string) []map[string]any {
	t.Helper()
	res := h.get(t, "/api/v2/assets"+query, "key-a")
	require.Equal(t, http.StatusOK, res.status, res.body)
	var body struct{ Assets []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(res.body), &body))
	return body.Assets
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	require.Equal(t, 201, h.postKeyed(t, "k1", "key-a", upload("1")...).status)
	reuse := h.postKeyed(t, "k1", "key-a", upload("2")...)
	require.Equal(t, 422, reuse.status)
	require.Equal(t, "idempotency_key_reuse", code(t, reuse))
	require.Equal(t, 201, h.postKeyed(t, "k1", "key-b", upload("1")...).status, "another account's keys are its own")
	require.Equal(t, 422, h.postKeyed(t, "k2", "key-a", upload("1", part{name: "-file"})...).status)
	require.Equal(t, 200, h.postKeyed(t, "k2", "key-a", upload("1")...).status, "released by a refusal")
	require.Equal(t, 409, h.postKeyed(t, "k3", "key-a", upload("1", part{"expected_hash", "", hashOf("2")})...).status)
	require.Equal(t, 422, h.postKeyed(t, "k3", "key-a", upload("1")...).status, "held after hash_mismatch")
	for _, bad := range []string{"", strings.Repeat("k", 256)} {
		res := h.postKeyed(t, bad, "key-a", upload("1")...)
		require.Equal(t, 422, res.status)
		require.Equal(t, "invalid_request", code(t, res))
	}
	require.Equal(t, 200, h.postKeyed(t, strings.Repeat("k", 255), "key-a", upload("1")...).status)
	require.Equal(t, 401, h.postKeyed(t, "k4", "wrong", upload("1")...).status)
	require.Equal(t, 403, h.postKeyed(t, "k4", "read", upload("1")...).status)
	require.Equal(t, 200, h.postKeyed(t, "k4", "key-a", upload("1")...).status, "not claimed without a right to")
}

// The clock is the database's: the rows are moved instead.
func TestIdempotencyKeyExpiresAfterADay(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	age := func(by string) {
		_, err := h.pool.Exec(t.Context(), `update idempotency_keys set expires_at = expires_at - $1::interval`, by)
		require.NoError(t, err)
	}
	require.Equal(t, 201, h.postKeyed(t, "k", "key-a", upload("1")...).status)
	age("23 hours 59 minutes")
	require.Equal(t, 422, h.postKeyed(t, "k", "key-a", upload("1")...).status)
	age("2 minutes")
	require.Equal(t, 200, h.postKeyed(t, "k", "key-a", upload("1")...).status, "processed again")
	require.Equal(t, 422, h.postKeyed(t, "k", "key-a", upload("1")...).status, "for another day")
	age("23 hours 59 minutes")
	require.Equal(t, 422, h.postKeyed(t, "k", "key-a", upload("1")...).status)
}

func TestTwoRequestsWithOneKeyAtOnce(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	for round := range 10 {
		var wg sync.WaitGroup
		statuses := make([]int, 4)
		for i := range statuses {
			wg.Go(func() {
				statuses[i] = h.postKeyed(t, fmt.Sprint("k", round), "key-a", upload(fmt.Sprint(round))...).status
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
	h := startFiles(t, api.Options{})
	var wg sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		wg.Go(func() { statuses[i] = h.post(t, "/api/v2/assets", "key-a", upload("same")...).status })
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
	h := startFiles(t, api.Options{})
	until := func(a map[string]any) time.Duration {
		if a["expires_at"] == nil {
			return 0
		}
		at, err := time.Parse(time.RFC3339, a["expires_at"].(string))
		require.NoError(t, err)
		return time.Until(at).Round(time.Minute)
	}
	post := func(data, seconds string) map[string]any {
		res := h.post(t, "/api/v2/assets", "key-a", upload(data, part{"expires_in", "", seconds})...)
		require.Contains(t, []int{200, 201}, res.status, res.body)
		return res.json(t)
	}
	for _, seconds := range []int{60, 61, 604800} { // to the millisecond
		a := post(fmt.Sprint("exactly ", seconds), strconv.Itoa(seconds))
		created, err := time.Parse(time.RFC3339Nano, a["created_at"].(string))
		require.NoError(t, err)
		require.Equal(t, created.Add(time.Duration(seconds)*time.Second).Format("2006-01-02T15:04:05.000Z"), a["expires_at"])
		require.Equal(t, a["created_at"], h.get(t, "/api/v2/assets/"+a["id"].(string), "key-a").json(t)["created_at"])
	}
	require.Equal(t, time.Minute, until(post("1", "60")))
	require.Equal(t, 7*24*time.Hour, until(post("2", "604800")))
	long := post("3", "86400")
	require.Equal(t, 24*time.Hour, until(post("3", "60")), "never nearer than what is in force")
	require.Equal(t, 48*time.Hour, until(post("3", "172800")))
	require.Equal(t, 24*time.Hour, until(h.get(t, "/api/v2/assets/"+long["id"].(string), "key-a").json(t)), "existing assets stay as they are")
	h.post(t, "/api/v2/assets", "key-a", upload("4")...)
	require.Zero(t, until(post("4", "60")), "never wins")

	again := h.fromHash(t, fmt.Sprintf(`{"hash":%q,"file_path":"in/photo.png","expires_in":604800}`, hashOf("1")))
	require.Equal(t, http.StatusOK, again.status)
	require.Equal(t, 7*24*time.Hour, until(again.json(t)), "the same asset again is extended")
	again = h.fromHash(t, fmt.Sprintf(`{"hash":%q,"file_path":"in/photo.png","expires_in":60}`, hashOf("1")))
	require.Equal(t, 7*24*time.Hour, until(again.json(t)), "and never shortened")
}

func (h *fileHarness) fromHash(t *testing.T, body string) reply {
	t.Helper()
	return h.bearer(t, http.MethodPost, "/api/v2/assets/from-hash", body)
}

func TestFromHash(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	first := h.post(t, "/api/v2/assets", "key-a", upload("x", part{"tags", "", "b"}, part{"tags", "", "a"})...).json(t)
	h.post(t, "/api/v2/assets", "key-b", upload("theirs")...)

	same := h.fromHash(t, fmt.Sprintf(`{"hash":%q,"file_path":"in/photo.png","tags":["a","b"]}`, hashOf("x")))
	require.Equal(t, http.StatusOK, same.status, same.body)
	require.Equal(t, first["id"], same.json(t)["id"], "an identical reference is returned as it is")
	require.Equal(t, false, same.json(t)["created_new"])
	for _, other := range []string{`"file_path":"b.png","tags":["a","b"]`, `"file_path":"in/photo.png","tags":["a"]`, `"tags":["a","b"]`} {
		res := h.fromHash(t, fmt.Sprintf(`{"hash":%q,%s}`, hashOf("x"), other))
		require.Equal(t, http.StatusCreated, res.status, res.body)
		require.NotEqual(t, first["id"], res.json(t)["id"])
		require.Equal(t, "image/png", res.json(t)["content_type"])
		require.EqualValues(t, 1, res.json(t)["size_bytes"])
		again := h.fromHash(t, fmt.Sprintf(`{"hash":%q,%s}`, hashOf("x"), other))
		require.Equal(t, []any{http.StatusOK, res.json(t)["id"]}, []any{again.status, again.json(t)["id"]}, "the same once more, with a name and without")
	}
	for body, want := range map[string]string{
		fmt.Sprintf(`{"hash":%q}`, hashOf("theirs")):   "404 blob_not_found",
		fmt.Sprintf(`{"hash":%q}`, hashOf("nobody's")): "404 blob_not_found",
		fmt.Sprintf(`{"hash":%q}`, blob.Ref{}):         "404 blob_not_found",
		`{"hash":"blake3:1"}`:                          "404 blob_not_found",
		fmt.Sprintf(`{"hash":"%s0"}`, hashOf("x")):     "404 blob_not_found",
		`{"hash":"blake3:"}`:                           "422 invalid_request",
		`{"hash":"blake3:xyz"}`:                        "422 invalid_request",
		`{"hash":"sha256:1"}`:                          "422 invalid_request",
		`{}`:                                           "422 invalid_request",
		`{`:                                            "422 invalid_request",
		fmt.Sprintf(`{"hash":%q,"file_path":"../x"}`, hashOf("x")): "422 invalid_request",
		fmt.Sprintf(`{"hash":%q,"expires_in":59}`, hashOf("x")):    "422 invalid_request",
		fmt.Sprintf(`{"hash":%q,"expires_in":"60"}`, hashOf("x")):  "422 invalid_request",
		fmt.Sprintf(`{"hash":%q,"tags":"a"}`, hashOf("x")):         "422 invalid_request",
	} {
		res := h.fromHash(t, body)
		require.Equal(t, want, fmt.Sprint(res.status, " ", code(t, res)), body)
	}
}

func TestHeadByHash(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	h.post(t, "/api/v2/assets", "key-a", upload("x")...)
	h.post(t, "/api/v2/assets", "key-b", upload("theirs")...)
	for hash, want := range map[string]int{
		hashOf("x"): 200, strings.Replace(hashOf("x"), ":", "%3A", 1): 200,
		hashOf("theirs"): 404, hashOf("nobody's"): 404, "nonsense": 404,
	} {
		res := h.bearer(t, http.MethodHead, "/api/v2/assets/by-hash/"+hash, "")
		require.Equal(t, want, res.status, hash)
		require.Empty(t, res.body)
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	a := h.post(t, "/api/v2/assets", "key-a", upload("0123456789", part{"content_type", "", "text/plain"})...).json(t)
	target := "/api/v2/assets/" + a["id"].(string) + "/content"
	redirected := h.get(t, target, "key-a")
	require.Equal(t, http.StatusFound, redirected.status)
	link := redirected.header.Get("Location")
	require.True(t, strings.HasPrefix(link, h.url+"/"), link)
	full := h.get(t, strings.TrimPrefix(link, h.url), "") // without a credential
	require.Equal(t, "0123456789", full.body)
	require.Equal(t, "text/plain", full.header.Get("Content-Type"))
	require.Equal(t, `"`+hashOf("0123456789")+`"`, full.header.Get("ETag"))
	require.Equal(t, "inline; filename=photo.png", full.header.Get("Content-Disposition"))
	link = strings.TrimPrefix(link, h.url)
	require.Equal(t, "234", h.get(t, link, "", "Range", "bytes=2-4").body)
	require.Equal(t, 304, h.get(t, link, "", "If-None-Match", full.header.Get("ETag")).status)
	bad := h.get(t, link, "", "Range", "bytes=10-")
	require.Equal(t, 416, bad.status)
	require.Contains(t, bad.body, `"range_not_satisfiable"`)
	require.Equal(t, "10", h.bearer(t, http.MethodHead, target, "").header.Get("Content-Length"))
	for _, id := range []string{"nonsense", uuid.NewString(), strings.ToUpper(a["id"].(string))} {
		require.Equal(t, 404, h.get(t, "/api/v2/assets/"+id+"/content", "key-a").status)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	a := h.post(t, "/api/v2/assets", "key-a", upload("x")...).json(t)
	b := h.post(t, "/api/v2/assets", "key-a", upload("x", part{"file_path", "", "b.png"})...).json(t)
	target := "/api/v2/assets/" + a["id"].(string)
	require.Equal(t, 404, h.do(t, h.request(t, http.MethodDelete, target, "key-b", nil)).status)
	require.Equal(t, 403, h.do(t, h.request(t, http.MethodDelete, target, "read", nil)).status)
	gone := h.do(t, h.request(t, http.MethodDelete, target, "key-a", nil))
	require.Equal(t, 204, gone.status)
	require.Empty(t, gone.body)
	for _, res := range []reply{h.do(t, h.request(t, http.MethodDelete, target, "key-a", nil)), h.get(t, target, "key-a"), h.get(t, target+"/content", "key-a")} {
		require.Equal(t, 404, res.status)
		require.Equal(t, "not_found", code(t, res))
	}
	require.Equal(t, 404, h.get(t, a["url"].(string), "").status, "its link is dead at once")
	require.Equal(t, "x", h.get(t, b["url"].(string), "").body, "the bytes stay for the other asset")
	require.Len(t, h.list(t, ""), 1)
	require.Equal(t, 404, h.do(t, h.request(t, http.MethodDelete, "/api/v2/assets/nonsense", "key-a", nil)).status)
}

func TestListing(t *testing.T) { // our addition
	t.Parallel()
	h := startFiles(t, api.Options{})
	for i := range 5 {
		h.post(t, "/api/v2/assets", "key-a", upload(fmt.Sprint(i), part{"file_path", "", fmt.Sprintf("dir/%d.png", i)}, part{"tags", "", fmt.Sprint("t", i%2)})...)
	}
	h.post(t, "/api/v2/assets", "key-b", upload("theirs")...)
	names := func(list []map[string]any) (out []string) {
		for _, a := range list {
			out = append(out, path.Base(a["file_path"].(string)))
		}
		return out
	}
	require.Equal(t, []string{"4.png", "3.png", "2.png", "1.png", "0.png"}, names(h.list(t, "")))
	require.Equal(t, []string{"3.png", "1.png"}, names(h.list(t, "?tag=t1")))
	require.Equal(t, []string{"2.png"}, names(h.list(t, "?name=DIR/2")))
	require.Equal(t, []any{"t1"}, h.list(t, "?tag=t1")[0]["tags"])
	var walked []string
	for cursor := ""; ; {
		res := h.get(t, "/api/v2/assets?limit=2"+cursor, "key-a").json(t)
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
		"?limit=501": "422 invalid_request", "?limit=x": "422 invalid_request", "?tag=": "422 invalid_request", "?name=%00": "422 invalid_request",
	} {
		res := h.get(t, "/api/v2/assets"+query, "key-a")
		require.Equal(t, want, fmt.Sprint(res.status, " ", code(t, res)), query)
	}
}

func TestAZeroByteFile(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	a := h.post(t, "/api/v2/assets", "key-a", upload("")...)
	require.Equal(t, http.StatusCreated, a.status)
	require.EqualValues(t, 0, a.json(t)["size_bytes"])
	got := h.get(t, a.json(t)["url"].(string), "")
	require.Equal(t, http.StatusOK, got.status)
	require.Empty(t, got.body)
}

func TestAnUploadedPathIsANameForGraphs(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	first := h.post(t, "/api/v2/assets", "key-a", upload("one")...).json(t)
	second := h.post(t, "/api/v2/assets", "key-a", upload("two")...).json(t)
	own := h.files.ForAccount("a")
	info, err := own.Stat(t.Context(), "in/photo.png")
	require.NoError(t, err)
	require.Equal(t, second["hash"], info.Hash, "the newest asset has the name")
	info, err = own.Stat(t.Context(), "asset:"+first["id"].(string))
	require.NoError(t, err)
	require.Equal(t, first["hash"], info.Hash)
	_, err = h.files.ForAccount("b").Stat(t.Context(), "in/photo.png")
	require.Error(t, err)
}
