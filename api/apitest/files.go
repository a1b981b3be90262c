package apitest

import (
	"bytes"
	"context"
	"fmt"
	"image"
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

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/keystore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
	"github.com/millrace-dev/millrace/internal/storage/secret"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
	"github.com/millrace-dev/millrace/internal/storage/userdata"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/projections/assets"
)

// FileHarness is the API over files that are really stored: PostgreSQL and a disk.
type FileHarness struct {
	URL    string
	Root   string
	Files  *files.Service
	Pool   *pgxpool.Pool
	Ahead  atomic.Int64 // nanoseconds that the clock of links runs ahead
	Client *http.Client
	Disk   Fillable
	Quota  Quota

	Sources Sources // servers that files are fetched from

	Assets    *asset.Service
	Downloads *assetstore.Downloads
	Resumable *asset.Resumable
	Find      func(ctx context.Context, account string, id asset.PublicID) (asset.Asset, error)
}

// MaxResumable bounds a resumable upload, in bytes.
const MaxResumable = 1 << 20

// StartFiles starts the API over files in a directory of the test.
func StartFiles(t *testing.T, opts Options) *FileHarness {
	t.Helper()
	return StartFilesIn(t, t.TempDir(), opts)
}

// StartFilesIn keeps the files below root.
func StartFilesIn(t *testing.T, root string, opts Options) *FileHarness {
	t.Helper()
	return StartFilesOver(t, root, opts, func(s blob.Store) blob.Store { return s })
}

// StartFilesOver keeps the files in what wrap makes of a store below root.
func StartFilesOver(t *testing.T, root string, opts Options, wrap func(blob.Store) blob.Store) *FileHarness {
	t.Helper()
	return startFilesOn(t, root, opts, wrap, pgtest.Migrated(t, postgres.Migrate))
}

// StartFilesWithProxy has a network between the service and its database that loses the messages it is set to lose.
func StartFilesWithProxy(t *testing.T) (*FileHarness, *pgtest.Proxy) {
	t.Helper()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	proxy := pgtest.NewProxy(t, dsn)
	h := startFilesOn(t, t.TempDir(), Options{}, func(s blob.Store) blob.Store { return s }, proxy.URL())
	direct, err := postgres.Open(t.Context(), dsn, postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(direct.Close)
	h.Pool = direct
	return h, proxy
}

func startFilesOn(t *testing.T, root string, opts Options, wrap func(blob.Store) blob.Store, dsn string) *FileHarness {
	t.Helper()
	h := &FileHarness{Root: root, Sources: Sources{Client: outbound.New(outbound.Options{})}}
	t.Cleanup(h.Sources.Close)
	pool, err := postgres.Open(t.Context(), dsn, postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	h.Pool = pool
	registry := eventlog.NewRegistry()
	require.NoError(t, asset.Register(registry))
	require.NoError(t, download.Events.Register(registry))
	require.NoError(t, export.Events.Register(registry))
	stored, err := disk.Open(t.Context(), h.Root, disk.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stored.Close()) })
	blobs := wrap(stored)
	events := eventstore.New(pool, registry, nil)
	h.Files = files.New(assetstore.New(pool, events), blobs, files.Options{})
	links, err := signedurl.New([]signedurl.Key{{ID: "1", Secret: bytes.Repeat([]byte{7}, 32)}},
		signedurl.Options{Now: func() time.Time { return time.Now().Add(time.Duration(h.Ahead.Load())) }})
	require.NoError(t, err)
	jobs := &MemoryJobs{Jobs: map[job.ID]job.Job{}}
	hub := stream.NewHub(stream.HubOptions{})
	t.Cleanup(hub.Stop)
	opts.Mode = account.ModeKeys
	key, err := secret.Parse(strings.Repeat("07", secret.Size))
	require.NoError(t, err)
	sealers, err := secret.NewSealers([]*secret.Key{key})
	require.NoError(t, err)
	h.Assets, h.Downloads = asset.NewService(assetstore.New(pool, events), blobs, asset.Options{}),
		assetstore.NewDownloads(pool, events, sealers)
	h.Resumable = &asset.Resumable{Uploads: assetstore.Uploads{Store: assetstore.New(pool, events)}, Service: h.Assets, Blobs: blobs, Piece: 8}
	view := assets.NewReader(pool, registry, nil)
	h.Find = view.ByPublicID
	handler, err := New(Deps{
		Auth: account.NewKeys(twoKeys{}), Jobs: jobs, Reader: jobs, Queue: jobs, Sources: jobs, Links: links, Live: &HubLive{Hub: hub},
		Files: h.Files, Grants: links, Assets: h.Assets, Resumable: h.Resumable,
		Downloads: h.Downloads, Exports: export.Service{Store: assetstore.NewExports(pool, events, nil)},
		AssetView: view, Keys: keystore.New(pool), Internet: &h.Sources, NodeFiles: h.Files,
		Userdata: userdata.Service{Store: accountstore.NewUserdata(pool, events), Blobs: blobs}, Readiness: Parts{}, Space: &h.Disk,
		Storage: &h.Quota,
		Logger:  slog.New(slog.DiscardHandler),
	}, opts)
	require.NoError(t, err)
	server := httptest.NewServer(documented(t, opts, handler))
	t.Cleanup(server.Close)
	h.URL = server.URL
	h.Client = server.Client()
	h.Client.CheckRedirect = noRedirect
	return h
}

// Do sends a request and follows no redirect.
func (h *FileHarness) Do(t *testing.T, req *http.Request) Reply {
	t.Helper()
	return send(t, h.Client, req)
}

// Request makes a request; a target that begins with / is below the URL of the API.
func (h *FileHarness) Request(t *testing.T, method, target, key string, body io.Reader) *http.Request {
	t.Helper()
	if strings.HasPrefix(target, "/") {
		target = h.URL + target
	}
	req, err := http.NewRequestWithContext(t.Context(), method, target, body)
	require.NoError(t, err)
	if key != "" {
		req.Header.Set("X-API-Key", key)
	}
	return req
}

// Get reads a target; headers come in pairs.
func (h *FileHarness) Get(t *testing.T, target, key string, headers ...string) Reply {
	t.Helper()
	req := h.Request(t, http.MethodGet, target, key, nil)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return h.Do(t, req)
}

// Post sends parts as a form.
func (h *FileHarness) Post(t *testing.T, target, key string, parts ...Part) Reply {
	t.Helper()
	return h.Do(t, h.form(t, target, key, parts))
}

func (h *FileHarness) form(t *testing.T, target, key string, parts []Part) *http.Request {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		disposition := fmt.Sprintf("form-data; name=%q", p.Name)
		if p.Filename != "" {
			disposition += fmt.Sprintf("; filename=%q", p.Filename)
		}
		pw, err := w.CreatePart(map[string][]string{"Content-Disposition": {disposition}})
		require.NoError(t, err)
		_, err = io.WriteString(pw, p.Value)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	req := h.Request(t, http.MethodPost, target, key, &b)
	req.Header.Set("Content-Type", w.FormDataContentType())
	return req
}

// Picture is a PNG of that size whose pixels depend on seed.
func Picture(t *testing.T, width, height int, seed uint8) string {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = uint8(i)*3 + seed
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.String()
}

// View returns the path by which an input file is viewed; more are further parameters in pairs.
func (h *FileHarness) View(name string, more ...string) string {
	q := url.Values{"filename": {name}, "type": {"input"}}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return "/api/view?" + q.Encode()
}

// Blobs counts the stored blobs and the staging files.
func (h *FileHarness) Blobs(t *testing.T) (stored, staged int) {
	t.Helper()
	for dir, n := range map[string]*int{"blobs": &stored, "staging": &staged} {
		require.NoError(t, filepath.WalkDir(filepath.Join(h.Root, dir), func(_ string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && d.Name() != ".lock" {
				*n++
			}
			return err
		}))
	}
	return stored, staged
}

// Sources is the guarded way out, with servers of the test that it may reach.
type Sources struct {
	*outbound.Client
	Allow []string
}

// Fetch fetches from an allowed server.
func (s *Sources) Fetch(ctx context.Context, address string, b outbound.Bounds, _ []string) (*outbound.Content, error) {
	return s.Client.Fetch(ctx, address, b, s.Allow)
}

// Stat asks an allowed server.
func (s *Sources) Stat(ctx context.Context, address string, _ []string) (outbound.Resource, error) {
	return s.Client.Stat(ctx, address, s.Allow)
}

// Source serves files to the library.
func (h *FileHarness) Source(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	h.Sources.Allow = append(h.Sources.Allow, strings.TrimPrefix(server.URL, "http://"))
	return server.URL
}

// Fillable is a disk that a test says is full.
type Fillable struct{ Full atomic.Bool }

// CheckSpace refuses while the disk is full.
func (f *Fillable) CheckSpace() error {
	if f.Full.Load() {
		return fault.New(fault.Unavailable, "", "there is no space left to store this").WithRetryAfter(time.Minute)
	}
	return nil
}

// Quota is the quota of every account. It counts the reads.
type Quota struct {
	Kept, Limit, Asked atomic.Int64
}

// Quota returns what the account keeps and may keep.
func (q *Quota) Quota(context.Context, string) (account.Storage, error) {
	q.Asked.Add(1)
	return account.Storage{Bytes: q.Kept.Load(), Limit: q.Limit.Load()}, nil
}

// Usage is Quota.
func (q *Quota) Usage(ctx context.Context, id string) (account.Storage, error) {
	return q.Quota(ctx, id)
}

// Part is one part of a multipart request; it is a file when it has a filename.
type Part struct{ Name, Filename, Value string }

// Field is a part without a filename.
func Field(name, value string) Part { return Part{Name: name, Value: value} }

// File is a part with a filename.
func File(name, filename, value string) Part {
	return Part{Name: name, Filename: filename, Value: value}
}

// Upload is the usual request; change replaces, adds or (with "-name") removes parts.
func Upload(data string, change ...Part) []Part {
	parts := []Part{Field("content_type", "image/png"), Field("file_path", "in/photo.png"), File("file", "photo.png", data)}
	for _, c := range change {
		if name, ok := strings.CutPrefix(c.Name, "-"); ok {
			kept := parts[:0:0]
			for _, p := range parts {
				if p.Name != name {
					kept = append(kept, p)
				}
			}
			parts = kept
			continue
		}
		replaced := false
		for i := range parts {
			if parts[i].Name == c.Name && c.Name != "tags" {
				parts[i], replaced = c, true
			}
		}
		if !replaced {
			parts = append([]Part{c}, parts...)
		}
	}
	return parts
}

// Bearer sends requests of the v2 API with key-a.
func (h *FileHarness) Bearer(t *testing.T, method, target, body string) Reply {
	t.Helper()
	req := h.Request(t, method, target, "", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer key-a")
	return h.Do(t, req)
}

// Code returns the code of an error of the v2 contract.
func Code(t *testing.T, a Reply) string {
	t.Helper()
	body := a.JSON(t)
	e, ok := body["error"].(map[string]any)
	require.True(t, ok, a.Body)
	require.NotEmpty(t, e["message"])
	c, _ := e["code"].(string)
	return c
}

// HashOf returns the hash of content, as assets have it.
func HashOf(data string) string { return blob.Sum([]byte(data)).String() }

// PostKeyed uploads with an Idempotency-Key.
func (h *FileHarness) PostKeyed(t *testing.T, key, credential string, parts ...Part) Reply {
	t.Helper()
	req := h.form(t, "/api/v2/assets", credential, parts)
	req.Header["Idempotency-Key"] = []string{key}
	return h.Do(t, req)
}

// Until looks again and again, as there is no signal to wait for, and gives up after two minutes.
func Until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); <-tick.C {
		require.True(t, time.Now().Before(deadline), what)
	}
}

// Put stores a file of an editor.
func (h *FileHarness) Put(t *testing.T, key, path, body string) Reply {
	t.Helper()
	return h.Do(t, h.Request(t, http.MethodPost, path, key, strings.NewReader(body)))
}
