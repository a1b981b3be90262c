package app

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/web/editor/published"
)

// packageIndex simulates PyPI with one release of the editor.
func packageIndex(t *testing.T) (address string, release published.Release) {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	page, err := w.Create("comfyui_frontend_package/static/index.html")
	require.NoError(t, err)
	_, err = page.Write([]byte("<title>The editor</title>"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	sum := sha256.Sum256(archive.Bytes())
	release = published.Release{Version: published.Pinned.Version, SHA256: hex.EncodeToString(sum[:])}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/simple/comfyui-frontend-package/" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<a href="/wheel">%s</a>`, release.Wheel())
			return
		}
		_, _ = w.Write(archive.Bytes())
	}))
	t.Cleanup(server.Close)
	return server.URL + "/simple/", release
}

func autoEditor(t *testing.T) (cfg config.Config, log *slog.Logger, out *bytes.Buffer) {
	t.Helper()
	cfg = config.Default()
	cfg.DataDir, cfg.Editor = t.TempDir(), config.EditorAuto
	out = &bytes.Buffer{}
	return cfg, slog.New(slog.NewTextHandler(out, nil)), out
}

func TestAutoServesTheFetchedEditor(t *testing.T) {
	t.Parallel()
	cfg, log, _ := autoEditor(t)
	index, release := packageIndex(t)
	f := published.Fetcher{Dir: filepath.Join(cfg.DataDir, "editor"), Index: index, Release: release}
	require.Equal(t, f.Path(), f.FetchOrNone(t.Context(), log))
	cfg.EditorIndex = "http://127.0.0.1:1/simple/"
	got := fetchEditor(t.Context(), cfg, log)
	require.Equal(t, f.Path(), got.Editor, "the second start takes what is there")
	require.NoError(t, checkEditor(got))
}

// The index serves another archive under the name of the pinned one.
func TestTheServiceStartsWithoutAnEditorThatIsNotThePinnedOne(t *testing.T) {
	t.Parallel()
	cfg, log, out := autoEditor(t)
	cfg.EditorIndex, _ = packageIndex(t)
	got := fetchEditor(t.Context(), cfg, log)
	require.Empty(t, got.Editor)
	require.NoError(t, checkEditor(got))
	require.Contains(t, out.String(), "instead of "+published.Pinned.SHA256)
	require.Contains(t, out.String(), "pip download --no-deps comfyui-frontend-package==1.58.1")
}

func TestTheServiceStartsWithoutAnEditorWhereThereIsNoNetwork(t *testing.T) {
	t.Parallel()
	cfg, log, out := autoEditor(t)
	cfg.EditorIndex = "http://127.0.0.1:1/simple/"
	require.Empty(t, fetchEditor(t.Context(), cfg, log).Editor)
	require.Contains(t, out.String(), "editor fetch failed; the service runs without one until its next start")
	require.Contains(t, out.String(), "unzip -q "+published.Pinned.Wheel())
}
