// Package editor serves the files of a web editor that an operator has unpacked into a directory, such as the
// published ComfyUI frontend. It promises that no file outside that directory is served, whatever names and links it
// contains. The program does not include an editor.
package editor

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Index is the page that starts the editor.
const Index = "index.html"

// Dir is a directory with the files of an editor. It is safe for concurrent use.
type Dir struct {
	root   *os.Root
	images []string
}

// Open returns the editor below dir: dir itself when it holds the index page, or where the published package
// has it. Its pictures and films come from the service alone, and from the origins that are named.
func Open(dir string, images ...string) (*Dir, error) {
	for _, below := range []string{"", "static", "comfyui_frontend_package/static"} {
		at := filepath.Join(dir, filepath.FromSlash(below))
		info, err := os.Stat(filepath.Join(at, Index))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		root, err := os.OpenRoot(at)
		if err != nil {
			return nil, fmt.Errorf("open the editor: %w", err)
		}
		return &Dir{root: root, images: images}, nil
	}
	return nil, fmt.Errorf("no editor in %s: unpack the package comfyui-frontend-package there, so that it contains %s or static/%[2]s", dir,
		Index)
}

// Close closes the directory.
func (d *Dir) Close() error { return d.root.Close() }

// ServeIndex answers with the index page, which a browser revalidates each time.
func (d *Dir) ServeIndex(w http.ResponseWriter, r *http.Request) error {
	f, err := d.open(Index)
	if err != nil {
		return err
	}
	defer f.Close()
	page, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err != nil {
		return fmt.Errorf("read the editor's page: %w", err)
	}
	d.setPolicy(w.Header(), page)
	return serveFile(w, r, Index, bytes.NewReader(page))
}

// maxIndex bounds the index page, which is kept in memory.
const maxIndex = 4 << 20

// setPolicy keeps other sites from framing the editor, and scripts that are not its own from running in it: what
// a workflow, a file name or a message holds is data. No script asks another host for anything, and no picture is loaded
// from one. The scripts that stand in the page itself are named by their hashes.
func (d *Dir) setPolicy(h http.Header, page []byte) {
	inline := ""
	for _, script := range inlineScript.FindAllSubmatch(page, -1) {
		if sum := sha256.Sum256(script[2]); !bytes.Contains(script[1], []byte("src=")) {
			inline += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		}
	}
	own := strings.Join(append([]string{"'self' data: blob:"}, d.images...), " ")
	h.Set("Content-Security-Policy", "script-src 'self' 'wasm-unsafe-eval'"+inline+"; connect-src 'self' data: blob:; img-src "+own+"; "+
		"media-src "+own+"; font-src 'self' data:; worker-src 'self' blob:; frame-src 'self'; object-src 'none'; "+
		"base-uri 'self'; form-action 'self'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
}

// inlineScript matches an element with its attributes and its text.
var inlineScript = regexp.MustCompile(`(?is)<script([^>]*)>(.*?)</script>`)

// Serve answers with the file of a slash-separated name. An unknown file, the index page and names that begin with a
// dot are NotFound.
func (d *Dir) Serve(w http.ResponseWriter, r *http.Request, name string) error {
	if !fs.ValidPath(name) || name == Index || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") || strings.Contains(name, `\`) {
		return notFound()
	}
	f, err := d.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return serveFile(w, r, name, f)
}

func notFound() error {
	return fault.New(fault.NotFound, fault.CodeNotFound, "there is nothing at this path")
}

func serveFile(w http.ResponseWriter, r *http.Request, name string, content io.ReadSeeker) error {
	tag, err := etag(content)
	if err != nil {
		return fmt.Errorf("read %s of the editor: %w", name, err)
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	if hashed.MatchString(name) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("ETag", tag)
	h.Set("Content-Type", contentType(name))
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, content)
	return nil
}

// open returns a regular file. An unknown file, a name that leads out of the directory and everything else are
// NotFound.
func (d *Dir) open(name string) (*os.File, error) {
	info, err := d.root.Stat(name) // before it is opened, because opening a pipe blocks
	if err != nil || !info.Mode().IsRegular() {
		return nil, notFound()
	}
	f, err := d.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound()
	}
	return f, err
}

// hashed matches names that change with the content.
var hashed = regexp.MustCompile(`^assets/[^/]+-[A-Za-z0-9_-]{8}\.(js|css|woff2?|ttf|eot)$`)

// etag returns a tag of the content, because files of an unpacked archive may all have the same date.
func etag(f io.ReadSeeker) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return `"` + hex.EncodeToString(sum.Sum(nil)[:16]) + `"`, nil
}

// contentType returns the type of a name, independently of the system's tables.
func contentType(name string) string {
	return cmp.Or(contentTypes[strings.ToLower(path.Ext(name))], "application/octet-stream")
}

// contentTypes are the types of files by their extensions.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8",
	".json": "application/json", ".map": "application/json", ".webmanifest": "application/json", ".wasm": "application/wasm",
	".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp", ".gif": "image/gif", ".avif": "image/avif",
	".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".ico": "image/x-icon", ".webm": "video/webm", ".mp4": "video/mp4",
	".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".otf": "font/otf",
}
