package editor_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/editor"
)

// write makes files below a new directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o750))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return dir
}

func open(t *testing.T, dir string) *editor.Dir {
	t.Helper()
	d, err := editor.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// get asks for a file; "" is the index page.
func get(t *testing.T, d *editor.Dir, name string, headers ...string) (*httptest.ResponseRecorder, error) {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if name == "" {
		return w, d.ServeIndex(w, r)
	}
	return w, d.Serve(w, r, name)
}

func TestAnEditorIsFoundWhereThePackageHasIt(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"index.html", "static/index.html", "comfyui_frontend_package/static/index.html"} {
		w, err := get(t, open(t, write(t, map[string]string{at: "<title>x"})), "")
		require.NoError(t, err)
		require.Equal(t, "<title>x", w.Body.String())
	}
	for _, files := range []map[string]string{{}, {"other.html": ""}, {"index.html/x": ""}} {
		_, err := editor.Open(write(t, files))
		require.ErrorContains(t, err, "unpack the package")
	}
}

func TestFilesAreServedWithTypesAndAnAge(t *testing.T) {
	t.Parallel()
	d := open(t, write(t, map[string]string{
		"index.html": "i", "assets/index-B2rHQ9Sn.js": "js", "assets/node-map.json": "{}", "fonts/a.woff2": "w", "x.bin": "b",
	}))
	for name, want := range map[string][2]string{
		"assets/index-B2rHQ9Sn.js": {"text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		"assets/node-map.json":     {"application/json", "no-cache"},
		"fonts/a.woff2":            {"font/woff2", "no-cache"},
		"x.bin":                    {"application/octet-stream", "no-cache"},
		"":                         {"text/html; charset=utf-8", "no-cache"},
	} {
		w, err := get(t, d, name)
		require.NoError(t, err, name)
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, want[0], w.Header().Get("Content-Type"), name)
		require.Equal(t, want[1], w.Header().Get("Cache-Control"), name)
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		again, err := get(t, d, name, "If-None-Match", w.Header().Get("ETag"))
		require.NoError(t, err)
		require.Equal(t, http.StatusNotModified, again.Code, name)
	}
}

// The dates of an unpacked archive say nothing, so a new version is distinguished from the old by its bytes.
func TestEntryOfAnotherClassVersionIsNotUsed(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"index.html": "one"})
	d := open(t, dir)
	old, err := get(t, d, "")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte("two"), 0o600))
	w, err := get(t, d, "", "If-None-Match", old.Header().Get("ETag"))
	require.NoError(t, err)
	require.Equal(t, "two", w.Body.String())
}

func TestNothingOutsideTheDirectoryIsServed(t *testing.T) {
	t.Parallel()
	outer := write(t, map[string]string{
		"secret.txt": "s", "in/static/index.html": "i", "in/static/.env": "e", "in/static/a/.git/x": "g",
		"in/static/a/b.txt": "b",
	})
	dir := filepath.Join(outer, "in", "static")
	require.NoError(t, os.Symlink(filepath.Join(outer, "secret.txt"), filepath.Join(dir, "link.txt")))
	require.NoError(t, os.Symlink(outer, filepath.Join(dir, "up")))
	require.NoError(t, os.Symlink("a/b.txt", filepath.Join(dir, "inside.txt")))
	d := open(t, filepath.Join(outer, "in"))
	for _, name := range []string{
		"../secret.txt", "a/../../secret.txt", "/etc/passwd", "link.txt", "up/secret.txt", ".env", "a/.git/x", "a", "a/", "a//b.txt",
		`a\b.txt`, "index.html", "./index.html", "none", "a/b.txt\x00", "..", ".",
	} {
		w, err := get(t, d, name)
		require.True(t, fault.Is(err, fault.NotFound), "%q: %v %s", name, err, w.Body)
		require.Empty(t, w.Body.String(), name)
	}
	w, err := get(t, d, "inside.txt")
	require.NoError(t, err, "a link that stays inside")
	require.Equal(t, "b", w.Body.String())
}

func TestOnlyScriptsOfTheEditorRun(t *testing.T) {
	t.Parallel()
	inline := ";(function () {\n  1 < 2 })()"
	page := `<script type="module" src="./assets/index-B2rHQ9Sn.js"></script><body><script>` + inline + `</script>`
	w, err := get(t, open(t, write(t, map[string]string{"index.html": page})), "")
	require.NoError(t, err)
	sum := sha256.Sum256([]byte(inline))
	policy := w.Header().Get("Content-Security-Policy")
	scripts, _, _ := strings.Cut(policy, ";")
	require.Equal(t, "script-src 'self' 'wasm-unsafe-eval' 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", scripts)
	require.Contains(t, policy, "frame-ancestors 'none'")
	require.Contains(t, policy, "object-src 'none'")
	require.Contains(t, policy, "; img-src 'self' data: blob:; media-src 'self' data: blob:; ")
	require.Equal(t, "DENY", w.Header().Get("X-Frame-Options"))
}

func TestPicturesOfTheEditorComeFromTheServiceAndItsBucket(t *testing.T) {
	t.Parallel()
	d, err := editor.Open(write(t, map[string]string{"index.html": "<html>"}), "https://files.example.org")
	require.NoError(t, err)
	t.Cleanup(func() { d.Close() })
	w, err := get(t, d, "")
	require.NoError(t, err)
	require.Contains(t, w.Header().Get("Content-Security-Policy"),
		"; img-src 'self' data: blob: https://files.example.org; media-src 'self' data: blob: https://files.example.org; ")
}
