package published_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/web/editor"
	"github.com/millrace-dev/millrace/internal/web/editor/published"
)

const static = "comfyui_frontend_package/static/"

// honest is what a wheel holds.
var honest = map[string]string{
	static + "index.html": "<title>The editor</title>", static + "assets/app-12345678.js": "run()",
	"comfyui_frontend_package/__init__.py": "", "comfyui_frontend_package-9.9.9.dist-info/METADATA": "Name: x",
}

// wheel packs files by their names.
func wheel(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func release(archive []byte) published.Release {
	sum := sha256.Sum256(archive)
	return published.Release{Version: "9.9.9", SHA256: hex.EncodeToString(sum[:])}
}

// standIn is a package index with one file.
type standIn struct {
	*httptest.Server
	asked atomic.Int32
}

// index serves an archive, listed in the form of the media type.
func index(t *testing.T, mediaType string, archive []byte) *standIn {
	t.Helper()
	s := &standIn{}
	name := release(archive).Wheel()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		switch r.URL.Path {
		case "/simple/comfyui-frontend-package/":
			w.Header().Set("Content-Type", mediaType)
			if strings.HasPrefix(mediaType, "text/html") {
				fmt.Fprintf(w, `<!DOCTYPE html><a href="other.whl">other.whl</a><br><a href="../../files/%s#sha256=00">%[1]s</a>`, name)
				return
			}
			list := map[string]any{"files": []map[string]string{
				{"filename": "other.whl", "url": "other.whl"},
				{"filename": name, "url": s.URL + "/files/" + name},
			}}
			if err := json.NewEncoder(w).Encode(list); err != nil {
				t.Error(err)
			}
		case "/files/" + name:
			if _, err := w.Write(archive); err != nil {
				t.Error(err)
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

const jsonList = "application/vnd.pypi.simple.v1+json"

func fetcher(t *testing.T, s *standIn, r published.Release) published.Fetcher {
	t.Helper()
	return published.Fetcher{Dir: filepath.Join(t.TempDir(), "editor"), Index: s.URL + "/simple", Release: r}
}

func TestTheEditorIsFetchedOnceAndServed(t *testing.T) {
	t.Parallel()
	archive := wheel(t, honest)
	for _, mediaType := range []string{jsonList, "text/html; charset=utf-8"} {
		s := index(t, mediaType, archive)
		f := fetcher(t, s, release(archive))
		dir, err := f.Fetch(t.Context())
		require.NoError(t, err, mediaType)
		require.Equal(t, int32(2), s.asked.Load())
		served, err := editor.Open(dir)
		require.NoError(t, err)
		w := httptest.NewRecorder()
		require.NoError(t, served.ServeIndex(w, httptest.NewRequest(http.MethodGet, "/", nil)))
		require.Equal(t, honest[static+"index.html"], w.Body.String())
		require.NoError(t, served.Close())
		require.Equal(t, []string{static + "assets/app-12345678.js", static + "index.html"}, files(t, dir), "what is for Python is left away")

		s.Close()
		again, err := f.Fetch(t.Context())
		require.NoError(t, err, "a second start needs no network")
		require.Equal(t, dir, again)
	}
}

// files lists what lies below dir.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	return names
}

func TestNothingIsKeptOfAnArchiveWithAnotherHash(t *testing.T) {
	t.Parallel()
	archive := wheel(t, honest)
	s := index(t, jsonList, archive)
	r := release(archive)
	r.SHA256 = strings.Repeat("0", 64)
	f := fetcher(t, s, r)
	_, err := f.Fetch(t.Context())
	require.ErrorContains(t, err, release(archive).SHA256+" instead of "+r.SHA256+": it was not unpacked")
	require.Empty(t, files(t, f.Dir))
}

// The pinned hash already keeps such archives out; were one pinned by mistake, it would still write nowhere else.
func TestHostileArchivesAreRefused(t *testing.T) {
	t.Parallel()
	link := func() []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		header := &zip.FileHeader{Name: static + "index.html"}
		header.SetMode(fs.ModeSymlink | 0o777)
		f, err := w.CreateHeader(header)
		require.NoError(t, err)
		_, err = f.Write([]byte("/etc/passwd"))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	}()
	with := func(name string) []byte {
		return wheel(t, map[string]string{static + "index.html": "x", name: "x"})
	}
	for says, archive := range map[string][]byte{
		`"../evil" leads out`: with("../evil"), `"/etc/evil" leads out`: with("/etc/evil"),
		`"` + static + `../../../evil" leads out`: with(static + "../../../evil"),
		`leads out of the archive`:                with(static + `..\evil`), "neither a file nor a folder": link,
		"the archive contains no editor": wheel(t, map[string]string{static + "other.html": "x"}), "not a valid zip file": []byte("no archive"),
	} {
		f := fetcher(t, index(t, jsonList, archive), release(archive))
		_, err := f.Fetch(t.Context())
		require.ErrorContains(t, err, says)
		require.Empty(t, files(t, filepath.Dir(f.Dir)), says)
	}
}

func TestUnusableIndexIsNamed(t *testing.T) {
	t.Parallel()
	archive := wheel(t, honest)
	s := index(t, jsonList, archive)
	other := release(archive)
	other.Version = "1.2.3"
	_, err := fetcher(t, s, other).Fetch(t.Context())
	require.ErrorContains(t, err, "does not list comfyui_frontend_package-1.2.3-py3-none-any.whl")
	s.Close()
	_, err = fetcher(t, s, release(archive)).Fetch(t.Context())
	require.ErrorContains(t, err, "read the package index")
	lost := index(t, jsonList, archive)
	f := fetcher(t, lost, release(archive))
	f.Index = lost.URL + "/elsewhere"
	_, err = f.Fetch(t.Context())
	require.ErrorContains(t, err, "answers 404")
	require.Contains(t, published.Pinned.ByHand(), "pip download --no-deps comfyui-frontend-package=="+published.Pinned.Version)
}
