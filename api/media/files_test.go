package api_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/webp"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
	"github.com/millrace-dev/millrace/internal/storage/secret"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
	"github.com/millrace-dev/millrace/internal/storage/userdata"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/projections/assets"
)

// fileHarness is the API over files that are really stored: PostgreSQL and a disk.
type fileHarness struct {
	url    string
	root   string
	files  *files.Service
	pool   *pgxpool.Pool
	ahead  atomic.Int64 // nanoseconds that the clock of links runs ahead
	client *http.Client
	room   fillable
	quota  quota

	sources sources // servers that files are fetched from

	assets    *asset.Service
	downloads *assetstore.Downloads
	find      func(ctx context.Context, account string, id asset.PublicID) (asset.Asset, error)
}

func startFiles(t *testing.T, opts api.Options) *fileHarness {
	t.Helper()
	return startFilesIn(t, t.TempDir(), opts)
}

// startFilesIn keeps the files below root.
func startFilesIn(t *testing.T, root string, opts api.Options) *fileHarness {
	t.Helper()
	return startFilesOver(t, root, opts, func(s blob.Store) blob.Store { return s })
}

// startFilesOver keeps the files in what wrap makes of a store below root.
func startFilesOver(t *testing.T, root string, opts api.Options, wrap func(blob.Store) blob.Store) *fileHarness {
	t.Helper()
	return startFilesOn(t, root, opts, wrap, pgtest.Migrated(t, postgres.Migrate))
}

// startFilesBehind has a network between the service and its database that loses the messages it is set to lose.
func startFilesBehind(t *testing.T) (*fileHarness, *pgtest.Proxy) {
	t.Helper()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	proxy := pgtest.NewProxy(t, dsn)
	h := startFilesOn(t, t.TempDir(), api.Options{}, func(s blob.Store) blob.Store { return s }, proxy.URL())
	direct, err := postgres.Open(t.Context(), dsn, postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(direct.Close)
	h.pool = direct
	return h, proxy
}

func startFilesOn(t *testing.T, root string, opts api.Options, wrap func(blob.Store) blob.Store, dsn string) *fileHarness {
	t.Helper()
	h := &fileHarness{root: root, sources: sources{Client: outbound.New(outbound.Options{})}}
	t.Cleanup(h.sources.Close)
	pool, err := postgres.Open(t.Context(), dsn, postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	h.pool = pool
	registry := eventlog.NewRegistry()
	require.NoError(t, asset.Register(registry))
	require.NoError(t, download.Register(registry))
	stored, err := disk.Open(t.Context(), h.root, disk.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stored.Close()) })
	blobs := wrap(stored)
	events := eventstore.New(pool, registry, nil)
	h.files = files.New(assetstore.NewFiles(pool, events), blobs, files.Options{})
	links, err := signedurl.New([]signedurl.Key{{ID: "1", Secret: bytes.Repeat([]byte{7}, 32)}},
		signedurl.Options{Now: func() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }})
	require.NoError(t, err)
	jobs := &memoryJobs{jobs: map[job.ID]job.Job{}}
	hub := stream.NewHub(stream.HubOptions{})
	t.Cleanup(hub.Stop)
	opts.Mode = account.ModeKeys
	key, err := secret.Parse(strings.Repeat("07", secret.Size))
	require.NoError(t, err)
	sealers, err := secret.NewSealers([]*secret.Key{key})
	require.NoError(t, err)
	h.assets, h.downloads = asset.NewService(assetstore.New(pool, events), blobs, asset.Options{}), assetstore.NewDownloads(pool, events, sealers)
	view := assets.NewReader(pool, registry, nil)
	h.find = view.ByPublicID
	handler, err := api.New(api.Deps{
		Auth: account.NewKeys(twoKeys{}), Jobs: jobs, Reader: jobs, Sources: jobs, Links: links, Live: &hubLive{hub: hub},
		Files: h.files, Grants: links, Assets: h.assets,
		Downloads: download.Service{Store: h.downloads, Notify: func([]outbox.Intent) {}},
		AssetView: view, Keys: jobstore.NewKeys(pool), Internet: &h.sources, NodeFiles: h.files, Userdata: userdata.Service{Store: accountstore.NewUserdata(pool), Blobs: blobs}, Readiness: parts{}, Space: &h.room, Storage: &h.quota, Logger: slog.New(slog.DiscardHandler),
	}, opts)
	require.NoError(t, err)
	server := httptest.NewServer(documented(t, opts, handler))
	t.Cleanup(server.Close)
	h.url = server.URL
	h.client = server.Client()
	h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return h
}

func (h *fileHarness) do(t *testing.T, req *http.Request) reply {
	t.Helper()
	res, err := h.client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return reply{res.StatusCode, res.Header, string(body)}
}

func (h *fileHarness) request(t *testing.T, method, target, key string, body io.Reader) *http.Request {
	t.Helper()
	if strings.HasPrefix(target, "/") {
		target = h.url + target
	}
	req, err := http.NewRequestWithContext(t.Context(), method, target, body)
	require.NoError(t, err)
	if key != "" {
		req.Header.Set("X-API-Key", key)
	}
	return req
}

func (h *fileHarness) get(t *testing.T, target, key string, headers ...string) reply {
	t.Helper()
	req := h.request(t, http.MethodGet, target, key, nil)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return h.do(t, req)
}

// part is one part of a multipart request; it is a file when it has a filename.
type part struct{ name, filename, value string }

func (h *fileHarness) post(t *testing.T, target, key string, parts ...part) reply {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		disposition := fmt.Sprintf("form-data; name=%q", p.name)
		if p.filename != "" {
			disposition += fmt.Sprintf("; filename=%q", p.filename)
		}
		pw, err := w.CreatePart(map[string][]string{"Content-Disposition": {disposition}})
		require.NoError(t, err)
		_, err = io.WriteString(pw, p.value)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	req := h.request(t, http.MethodPost, target, key, &b)
	req.Header.Set("Content-Type", w.FormDataContentType())
	return h.do(t, req)
}

// picture is a PNG of that size whose pixels depend on seed.
func picture(t *testing.T, width, height int, seed uint8) string {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = uint8(i)*3 + seed
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.String()
}

func (h *fileHarness) view(name string, more ...string) string {
	q := url.Values{"filename": {name}, "type": {"input"}}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return "/api/view?" + q.Encode()
}

// blobs counts the stored blobs and the staging files.
func (h *fileHarness) blobs(t *testing.T) (stored, staged int) {
	t.Helper()
	for dir, n := range map[string]*int{"blobs": &stored, "staging": &staged} {
		require.NoError(t, filepath.WalkDir(filepath.Join(h.root, dir), func(_ string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && d.Name() != ".lock" {
				*n++
			}
			return err
		}))
	}
	return stored, staged
}

func TestAnUploadedImageIsViewedThroughASignedLink(t *testing.T) { // W-10, W-11, W-33 to W-35
	t.Parallel()
	h := startFiles(t, api.Options{})
	data := picture(t, 8, 6, 0)
	up := h.post(t, "/api/upload/image", "key-a", part{"image", "photo.png", data}, part{"type", "", "input"}, part{"overwrite", "", "false"})
	require.Equal(t, http.StatusOK, up.status, up.body)
	require.Equal(t, "photo.png", up.json(t)["name"])
	require.Equal(t, "", up.json(t)["subfolder"])
	require.Equal(t, "input", up.json(t)["type"])

	for _, target := range []string{h.view("photo.png"), h.view("photo.png", "subfolder", "")} {
		res := h.get(t, target, "key-a")
		require.Equal(t, http.StatusFound, res.status)
		link := res.header.Get("Location")
		require.True(t, strings.HasPrefix(link, h.url+"/files/"), link)
		got := h.get(t, link, "")
		require.Equal(t, http.StatusOK, got.status)
		require.Equal(t, data, got.body)
		require.Equal(t, "image/png", got.header.Get("Content-Type"))
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
		require.Contains(t, got.header.Get("Content-Security-Policy"), "sandbox")
		require.Equal(t, "inline; filename=photo.png", got.header.Get("Content-Disposition"))
	}
	require.Equal(t, http.StatusNotFound, h.get(t, h.view("photo.png"), "key-b").status, "another account sees nothing")
	require.Equal(t, http.StatusUnauthorized, h.get(t, h.view("photo.png"), "").status)
}

func (h *fileHarness) link(t *testing.T, name string) string {
	t.Helper()
	res := h.get(t, h.view(name), "key-a")
	require.Equal(t, http.StatusFound, res.status, res.body)
	return res.header.Get("Location")
}

func TestSignedLinksServeRangesAndConditions(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	data := picture(t, 64, 64, 1)
	h.post(t, "/upload/image", "key-a", part{"image", "photo.png", data})
	link := h.link(t, "photo.png")

	full := h.get(t, link, "")
	require.Equal(t, `"`+blob.Sum([]byte(data)).String()+`"`, full.header.Get("ETag"))
	require.Equal(t, fmt.Sprint(len(data)), full.header.Get("Content-Length"))
	ranged := h.get(t, link, "", "Range", "bytes=10-19")
	require.Equal(t, http.StatusPartialContent, ranged.status)
	require.Equal(t, data[10:20], ranged.body)
	require.Equal(t, fmt.Sprintf("bytes 10-19/%d", len(data)), ranged.header.Get("Content-Range"))
	tail := h.get(t, link, "", "Range", "bytes=-5")
	require.Equal(t, data[len(data)-5:], tail.body)
	require.Equal(t, http.StatusNotModified, h.get(t, link, "", "If-None-Match", full.header.Get("ETag")).status)
	require.Equal(t, http.StatusOK, h.get(t, link, "", "If-Range", `"other"`, "Range", "bytes=0-1").status)
	require.Equal(t, http.StatusPartialContent, h.get(t, link, "", "If-Range", full.header.Get("ETag"), "Range", "bytes=0-1").status)
	require.Equal(t, http.StatusOK, h.get(t, link, "", "Range", "items=0-1").status, "a unit that is not known is ignored")
	bad := h.get(t, link, "", "Range", fmt.Sprintf("bytes=%d-", len(data)))
	require.Equal(t, http.StatusRequestedRangeNotSatisfiable, bad.status)
	require.Equal(t, "range_not_satisfiable", bad.json(t)["code"])
	require.Equal(t, fmt.Sprintf("bytes */%d", len(data)), bad.header.Get("Content-Range"))
	head := h.do(t, h.request(t, http.MethodHead, link, "", nil))
	require.Equal(t, http.StatusOK, head.status)
	require.Empty(t, head.body)
	require.Equal(t, fmt.Sprint(len(data)), head.header.Get("Content-Length"))
}

func TestSignedLinksEndAndCannotBeChanged(t *testing.T) { // W-34, X-42
	t.Parallel()
	h := startFiles(t, api.Options{})
	h.post(t, "/upload/image", "key-a", part{"image", "photo.png", picture(t, 8, 8, 1)})
	link := h.link(t, "photo.png")
	for _, changed := range []string{
		strings.Replace(link, "photo.png", "other.png", 1), strings.Replace(link, "e=", "e=1", 1),
		strings.Replace(link, "image%2Fpng", "text%2Fhtml", 1), link[:len(link)-10], strings.Split(link, "?")[0],
	} {
		require.NotEqual(t, link, changed)
		res := h.get(t, changed, "")
		require.Equal(t, http.StatusForbidden, res.status, changed)
		require.Equal(t, "forbidden", res.json(t)["code"])
	}
	h.ahead.Store(int64(time.Hour))
	require.Equal(t, http.StatusForbidden, h.get(t, link, "").status)
}

func TestADamagedFileIsNeverServed(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	data := picture(t, 64, 64, 1)
	h.post(t, "/upload/image", "key-a", part{"image", "photo.png", data})
	link := h.link(t, "photo.png")
	require.Equal(t, http.StatusOK, h.get(t, link, "").status)
	hex := blob.Sum([]byte(data)).Hex()
	path := filepath.Join(h.root, "blobs", hex[:2], hex[2:4], hex)
	broken := []byte(data)
	broken[len(broken)/2] ^= 1
	require.NoError(t, os.WriteFile(path, broken, 0o600))
	res := h.get(t, link, "")
	require.Equal(t, http.StatusNotFound, res.status)
	require.Equal(t, "output_unavailable", res.json(t)["code"])
	require.Equal(t, http.StatusNotFound, h.get(t, link, "", "Range", "bytes=0-3").status)
}

func TestActiveContentIsNeverShownInPlace(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	for name, contentType := range map[string]string{
		"x.html": "text/html", "x.svg": "image/svg+xml", "x.js": "text/javascript", "x.xhtml": "application/xhtml+xml",
		"x.xml": "application/xml", "x.bin": "nonsense", "x.css": "text/css; charset=utf-8",
	} {
		save := node.Save{Folder: node.FolderOutput, Prefix: name, Suffix: "_" + name, ContentType: contentType}
		f, err := h.files.ForNode(job.RunRef{Job: job.NewID(), Account: "a", Run: 1}, "1").Save(t.Context(), save, func(w io.Writer) error {
			_, err := io.WriteString(w, "<script>"+name)
			return err
		})
		require.NoError(t, err)
		res := h.get(t, h.view(f.Filename, "type", "output"), "key-a")
		require.Equal(t, http.StatusFound, res.status)
		got := h.get(t, res.header.Get("Location"), "")
		require.Equal(t, "application/octet-stream", got.header.Get("Content-Type"), name)
		require.True(t, strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment;"), name)
	}
}

func TestViewRefusals(t *testing.T) { // W-36
	t.Parallel()
	h := startFiles(t, api.Options{})
	h.post(t, "/upload/image", "key-a", part{"image", "photo.png", picture(t, 8, 8, 1)})
	for target, want := range map[string]int{
		"/api/view":                                               http.StatusBadRequest,
		"/api/view?filename=":                                     http.StatusBadRequest,
		"/api/view?filename=no.png":                               http.StatusNotFound,
		"/api/view?filename=photo.png":                            http.StatusNotFound, // an input; the default is output
		"/api/view?filename=photo.png&type=models":                http.StatusBadRequest,
		"/api/view?filename=../photo.png&type=input":              http.StatusBadRequest,
		"/api/view?filename=/photo.png&type=input":                http.StatusBadRequest,
		"/api/view?filename=a%00b&type=input":                     http.StatusBadRequest,
		"/api/view?filename=photo.png&type=input&subfolder=../..": http.StatusBadRequest,
		"/api/view?filename=photo.png&type=input&subfolder=x":     http.StatusFound, // inputs lie flat
		"/api/view?filename=photo.png%20%5Binput%5D":              http.StatusFound,
	} {
		require.Equal(t, want, h.get(t, target, "key-a").status, target)
	}
}

func TestChannelsAndPreviewsAnswerWithTheImage(t *testing.T) { // W-36
	t.Parallel()
	h := startFiles(t, api.Options{})
	h.post(t, "/upload/image", "key-a", part{"image", "photo.png", picture(t, 8, 8, 1)})
	rgb := h.get(t, h.view("photo.png", "channel", "rgb"), "key-a")
	require.Equal(t, http.StatusOK, rgb.status)
	require.Equal(t, "image/png", rgb.header.Get("Content-Type"))
	img, err := png.Decode(strings.NewReader(rgb.body))
	require.NoError(t, err)
	require.Equal(t, uint8(255), color.NRGBAModel.Convert(img.At(3, 3)).(color.NRGBA).A)
	small := h.get(t, h.view("photo.png", "preview", "webp;50"), "key-a")
	require.Equal(t, "image/webp", small.header.Get("Content-Type"))
	_, err = webp.Decode(strings.NewReader(small.body))
	require.NoError(t, err)
	bare := h.get(t, h.view("photo.png")+"&preview=webp;50", "key-a")
	require.Equal(t, small.body, bare.body, "a bare semicolon, as editors send it")
}

// Clients upload sounds and videos through the route for images; masks are images.
func TestSoundsAndVideosAreUploadedByTheirNames(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	for name, want := range map[string]string{"a.WAV": "audio/wav", "b.mp4": "video/mp4", "c.avi": "application/octet-stream"} {
		res := h.post(t, "/api/upload/image", "key-a", part{"image", name, "sound"})
		require.Equal(t, http.StatusOK, res.status, res.body)
		got := h.get(t, "/api/view?type=input&filename="+name, "key-a")
		require.Equal(t, want, h.get(t, got.header.Get("Location"), "").header.Get("Content-Type"), name)
	}
	original := h.post(t, "/api/upload/image", "key-a", part{"image", "o.png", picture(t, 8, 8, 1)})
	require.Equal(t, http.StatusOK, original.status)
	res := h.post(t, "/api/upload/mask", "key-a", part{"image", "mask.mp4", "no picture"}, part{"original_ref", "", `{"filename":"o.png","subfolder":"","type":"input"}`})
	require.Equal(t, http.StatusBadRequest, res.status, res.body)
}

func TestUploadRefusals(t *testing.T) { // W-12, W-16
	t.Parallel()
	h := startFiles(t, api.Options{MaxImage: 1 << 20})
	good := picture(t, 8, 8, 1)
	for name, parts := range map[string][]part{
		"no image":          {{"type", "", "input"}},
		"not an image":      {{"image", "a.png", "hello"}},
		"empty":             {{"image", "a.png", ""}},
		"truncated":         {{"image", "a.png", good[:20]}},
		"too wide":          {{"image", "a.png", wide(t)}},
		"too large":         {{"image", "a.png", good + strings.Repeat("x", 1<<20)}},
		"no name":           {{"image", "", good}},
		"leaves its folder": {{"image", "../a.png", good}},
		"absolute":          {{"image", "/etc/a.png", good}},
		"hostile subfolder": {{"image", "a.png", good}, {"subfolder", "", "../x"}},
		"unknown folder":    {{"image", "a.png", good}, {"type", "", "models"}},
		"two images":        {{"image", "a.png", good}, {"image", "b.png", good}},
		"an endless field":  {{"type", "", strings.Repeat("x", 1<<17)}, {"image", "a.png", good}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := h.post(t, "/api/upload/image", "key-a", parts...)
			require.Equal(t, http.StatusBadRequest, res.status, res.body)
			require.NotEmpty(t, res.json(t)["code"])
		})
	}
	t.Run("a read-only key", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, http.StatusForbidden, h.post(t, "/api/upload/image", "read", part{"image", "a.png", good}).status)
	})
	t.Run("not multipart", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, http.StatusBadRequest, h.do(t, h.request(t, http.MethodPost, "/api/upload/image", "key-a", strings.NewReader("{}"))).status)
	})
	t.Cleanup(func() {
		stored, staged := h.blobs(t)
		require.Zero(t, stored, "nothing half-written")
		require.Zero(t, staged)
	})
}

// wide is a PNG header that announces 20,000 × 20,000 pixels.
func wide(t *testing.T) string {
	t.Helper()
	data := []byte(picture(t, 1, 1, 0))
	data[18], data[19], data[22], data[23] = 0x4e, 0x20, 0x4e, 0x20
	return string(data)
}

func TestUploadNamesThroughTheAPI(t *testing.T) { // W-13
	t.Parallel()
	h := startFiles(t, api.Options{})
	name := func(seed uint8, more ...part) string {
		res := h.post(t, "/api/upload/image", "key-a", append([]part{{"image", "p.png", picture(t, 8, 8, seed)}}, more...)...)
		require.Equal(t, http.StatusOK, res.status, res.body)
		return res.json(t)["name"].(string)
	}
	require.Equal(t, "p.png", name(1))
	require.Equal(t, "p.png", name(1))
	require.Equal(t, "p (1).png", name(2))
	require.Equal(t, "p.png", name(3, part{"overwrite", "", "true"}))
	require.Equal(t, picture(t, 8, 8, 3), h.get(t, h.link(t, "p.png"), "").body)
}

func TestAMaskedImageHasTheOriginalsColourAndTheMasksAlpha(t *testing.T) { // W-14 to W-16
	t.Parallel()
	h := startFiles(t, api.Options{})
	original := picture(t, 8, 8, 1)
	h.post(t, "/api/upload/image", "key-a", part{"image", "photo.png", original})
	mask := image.NewNRGBA(image.Rect(0, 0, 8, 8))
	for i := range mask.Pix {
		mask.Pix[i] = uint8(i)
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, mask))
	ref := `{"filename":"photo.png","subfolder":"","type":"input"}`
	res := h.post(t, "/api/upload/mask", "key-a", part{"image", "mask.png", b.String()},
		part{"type", "", "input"}, part{"subfolder", "", "clipspace"}, part{"original_ref", "", ref})
	require.Equal(t, http.StatusOK, res.status, res.body)
	require.Equal(t, "mask.png", res.json(t)["name"])
	require.Equal(t, "", res.json(t)["subfolder"])
	got, err := png.Decode(strings.NewReader(h.get(t, h.link(t, "mask.png"), "").body))
	require.NoError(t, err)
	was, err := png.Decode(strings.NewReader(original))
	require.NoError(t, err)
	for y := range 8 {
		for x := range 8 {
			want := was.(*image.NRGBA).NRGBAAt(x, y)
			want.A = mask.NRGBAAt(x, y).A
			require.Equal(t, want, got.(*image.NRGBA).NRGBAAt(x, y))
		}
	}
	for _, bad := range []string{"", "{", `{"filename":""}`, `{"filename":"no.png","type":"input"}`, `{"filename":"../photo.png","type":"input"}`, `[1]`} {
		res := h.post(t, "/api/upload/mask", "key-a", part{"image", "mask.png", b.String()}, part{"original_ref", "", bad})
		require.Equal(t, http.StatusBadRequest, res.status, bad)
	}
	res = h.post(t, "/api/upload/mask", "key-a", part{"image", "mask.png", picture(t, 4, 4, 0)}, part{"original_ref", "", ref})
	require.Equal(t, "the mask is 4 × 4 pixels large, the original 8 × 8; both must have the same size", res.json(t)["message"])
	require.Equal(t, http.StatusBadRequest, res.status, "another size")
}
