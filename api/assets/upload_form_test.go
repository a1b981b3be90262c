package assets_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/projections/assets"
)

// openWriters counts blob writers that were begun and not ended.
type openWriters struct {
	blob.Store
	open atomic.Int64
}

type countedWriter struct {
	blob.Writer
	ended atomic.Bool
	open  *atomic.Int64
}

func (s *openWriters) Create(ctx context.Context, d blob.Durability) (blob.Writer, error) {
	w, err := s.Store.Create(ctx, d)
	s.open.Add(1)
	return &countedWriter{Writer: w, open: &s.open}, err
}

func (w *countedWriter) Abort() error {
	if w.ended.CompareAndSwap(false, true) {
		w.open.Add(-1)
	}
	return w.Writer.Abort()
}

// recordsOnly records assets nowhere: the fuzzed part comes before.
type recordsOnly struct{}

func (recordsOnly) ByPublicID(context.Context, string, asset.PublicID) (asset.Asset, error) {
	return asset.Asset{}, fault.New(fault.NotFound, fault.CodeNotFound, "there is no such asset")
}

func (recordsOnly) Create(_ context.Context, n asset.New) (asset.Stored, error) {
	return asset.Stored{Asset: asset.Asset{ID: asset.NewID(), Account: n.Account, State: asset.Live, Hash: n.Hash, Size: n.Size}}, nil
}

func (recordsOnly) Reference(context.Context, asset.New) (asset.Stored, bool, error) {
	return asset.Stored{}, false, nil
}

func (recordsOnly) Change(context.Context, string, asset.ID, asset.Change, string) (asset.Asset, []asset.Event, error) {
	return asset.Asset{}, nil, nil
}

func (recordsOnly) Delete(context.Context, string, asset.ID, asset.By, string) error { return nil }

func (recordsOnly) HasBytes(context.Context, string, blob.Ref) (bool, error) { return false, nil }

func (recordsOnly) Check(context.Context, string, string, string) error { return nil }

func (recordsOnly) CheckAnswered(context.Context, string, string, string) error { return nil }

func (recordsOnly) Use(context.Context, string, string, string) error { return nil }

func (recordsOnly) Unanswered(context.Context, string, string, string) (uuid.UUID, bool, error) {
	return uuid.Nil, false, nil
}

func (recordsOnly) Answered(context.Context, string, string, string, uuid.UUID) error { return nil }

func (recordsOnly) Asset(context.Context, string, asset.ID) (asset.Asset, error) {
	return asset.Asset{}, nil
}

func (recordsOnly) Browse(context.Context, string, assets.Browse) (assets.Found, error) {
	return assets.Found{}, nil
}

func (recordsOnly) Labels(context.Context, string, assets.LabelQuery) ([]assets.LabelCount, int64, bool, error) {
	return nil, 0, false, nil
}

func (recordsOnly) Refine(context.Context, string, assets.Filter, int) ([]assets.LabelCount, error) {
	return nil, nil
}

func (recordsOnly) List(context.Context, string, assets.Query) (assets.Page, error) {
	return assets.Page{}, nil
}

// FuzzUpload feeds the multipart handling with bodies: none is answered with a 5xx, and none leaves
// a writer open.
func FuzzUpload(f *testing.F) {
	for _, body := range []string{
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\nx\r\n--b--\r\n",
		"--b\r\nContent-Disposition: form-data; name=\"content_type\"\r\n\r\na/b\r\n" +
			"--b\r\nContent-Disposition: form-data; name=\"file_path\"\r\n\r\nf\r\n" +
			"--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n--b--\r\n",
		"--b\r\nContent-Disposition: form-data; name=file\r\n\r\ncut off",
		"--b\r\nContent-Disposition: x; name=\"file\"; name=\"file\"\r\n\r\n\r\n--b--", "--b--", "",
	} {
		f.Add([]byte(body))
	}
	blobs := &openWriters{Store: mem.New()}
	links, err := signedurl.New([]signedurl.Key{{ID: "1", Secret: bytes.Repeat([]byte{7}, 32)}}, signedurl.Options{})
	require.NoError(f, err)
	jobs, hub := &apitest.MemoryJobs{Jobs: map[job.ID]job.Job{}}, stream.NewHub(stream.HubOptions{})
	f.Cleanup(hub.Stop)
	handler, err := apitest.New(apitest.Deps{
		Auth: account.Anyone{}, Jobs: jobs, Reader: jobs, Queue: jobs, Sources: jobs, Links: links, Live: &apitest.HubLive{Hub: hub},
		Grants: links,
		Files:  files.New(nil, blobs, files.Options{}), Assets: asset.NewService(recordsOnly{}, blobs, asset.Options{}),
		AssetView: recordsOnly{}, Keys: recordsOnly{}, Readiness: apitest.Parts{}, Logger: slog.New(slog.DiscardHandler),
	}, apitest.Options{MaxUpload: 1 << 10})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body []byte) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/api/v2/assets", bytes.NewReader(body))
		req.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, req)
		require.Contains(t, []int{200, 201, 413, 422}, rec.Code, rec.Body.String())
		require.Zero(t, blobs.open.Load(), "a writer was left open")
		if rec.Code == http.StatusCreated {
			requireFilePart(t, body)
		}
	})
}

// requireFilePart checks with the standard reader that an accepted body has all that is required.
func requireFilePart(t *testing.T, body []byte) {
	t.Helper()
	seen := map[string]int{}
	for r := multipart.NewReader(bytes.NewReader(body), "b"); ; {
		part, err := r.NextRawPart()
		if err == io.EOF { // the reader's own end
			break
		}
		require.NoError(t, err)
		seen[part.FormName()]++
	}
	for _, name := range []string{"file", "content_type", "file_path"} {
		require.Equal(t, 1, seen[name], name)
	}
}
