// Package published fetches the ComfyUI editor from its publisher: one pinned version of the Python package
// comfyui-frontend-package, from an index such as PyPI. It promises that a returned directory contains exactly the
// files of the archive with the pinned hash, so that an index or a mirror need not be trusted, and that an
// interrupted fetch leaves no partial editor. Package editor serves the files.
package published

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// Release is one version of the package.
type Release struct {
	Version string
	SHA256  string // of the wheel, in hexadecimal
}

// Pinned is the version that this program was tested with.
var Pinned = Release{Version: "1.58.1", SHA256: "37912597537a731a8f421179618a736c24184c5bdbfa327f38b2fb7c291852d9"}

// Index is the address of PyPI's simple index, which pip uses too.
const Index = "https://pypi.org/simple/"

const (
	project    = "comfyui-frontend-package"
	maxPage    = 32 << 20  // bytes of the index page of the project; it is 1 MB
	maxArchive = 128 << 20 // bytes of the wheel; it is 29 MB
	within     = 5 * time.Minute
	connecting = 10 * time.Second // bounds the delay of a start without network
)

// Wheel is the name of the release's archive.
func (r Release) Wheel() string { return "comfyui_frontend_package-" + r.Version + "-py3-none-any.whl" }

// ByHand returns how to fetch the release by hand if the program cannot.
func (r Release) ByHand() string {
	return fmt.Sprintf("by hand: pip download --no-deps %s==%s; unzip -q %s -d editor; then --editor editor (MILLRACE_EDITOR)", project,
		r.Version, r.Wheel())
}

// Fetcher stores releases in directories below Dir. It runs one call at a time; several processes may share Dir.
type Fetcher struct {
	Dir     string
	Index   string // address of a simple index; "" = Index
	Release Release
	Client  *http.Client // nil = one with the proxy and the certificates of the environment
}

// Path is the directory of the fetched release.
func (f Fetcher) Path() string { return filepath.Join(f.Dir, project+"-"+f.Release.Version) }

// Fetch returns the directory of the release. It reads the index only if the release was not fetched before.
func (f Fetcher) Fetch(ctx context.Context) (string, error) {
	if f.have() {
		return f.Path(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := os.MkdirAll(f.Dir, 0o750); err != nil {
		return "", fmt.Errorf("make the directory of editors: %w", err)
	}
	archive, err := os.CreateTemp(f.Dir, ".wheel-*")
	if err != nil {
		return "", fmt.Errorf("make a file for the editor's archive: %w", err)
	}
	defer os.Remove(archive.Name()) //nolint:errcheck // a remaining file is not used
	defer archive.Close()
	if err := f.download(ctx, archive); err != nil {
		return "", err
	}
	return f.Path(), f.install(archive)
}

// FetchOrNone returns the result of Fetch, or "" with a log message if that fails. The service then starts without an
// editor: programs depend on its API, and a package index that is down must not stop accepted jobs.
func (f Fetcher) FetchOrNone(ctx context.Context, log *slog.Logger) string {
	log.Info("looking for the editor", slog.String("version", f.Release.Version), slog.String("path", f.Path()))
	dir, err := f.Fetch(ctx)
	if err != nil {
		log.Error("editor fetch failed; the service runs without one until its next start", slog.String("version", f.Release.Version),
			slog.Any("error", err), slog.String("remedy", f.Release.ByHand()))
		return ""
	}
	return dir
}

// have reports whether the directory of the release exists, with its index page.
func (f Fetcher) have() bool {
	info, err := os.Stat(filepath.Join(f.Path(), static, "index.html"))
	return err == nil && info.Mode().IsRegular()
}

// download writes the archive and checks that it has the pinned hash.
func (f Fetcher) download(ctx context.Context, to io.Writer) error {
	address, err := f.find(ctx)
	if err != nil {
		return err
	}
	body, _, err := f.get(ctx, address, "")
	if err != nil {
		return err
	}
	defer body.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(body, maxArchive+1))
	if err != nil {
		return fmt.Errorf("download %s: %w", address, err)
	}
	if n > maxArchive {
		return fmt.Errorf("%s has more than %d bytes", address, maxArchive)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.Release.SHA256 {
		return fmt.Errorf("%s has the SHA-256 %s instead of %s: it was not unpacked", address, got, f.Release.SHA256)
	}
	return nil
}

// install unpacks the archive next to its final path, and moves the directory there in one step.
func (f Fetcher) install(archive *os.File) error {
	dir, err := os.MkdirTemp(f.Dir, ".unpack-*")
	if err != nil {
		return fmt.Errorf("make a directory to unpack the editor in: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // absent after the move; a remaining directory is not used
	if err := unpack(archive, dir, bounds{files: maxFiles, bytes: maxUnpacked}); err != nil {
		return fmt.Errorf("unpack %s: %w", f.Release.Wheel(), err)
	}
	err = os.Rename(dir, f.Path())
	if err != nil && f.have() { // another process was faster
		return nil
	}
	return err
}

func (f Fetcher) client() *http.Client {
	if f.Client != nil {
		return f.Client
	}
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connecting}).DialContext,
		TLSHandshakeTimeout: connecting, ResponseHeaderTimeout: 3 * connecting, ForceAttemptHTTP2: true,
	}}
}

// get opens an answer of status 200 and returns its headers.
func (f Fetcher) get(ctx context.Context, address, accept string) (io.ReadCloser, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, nil, err
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	res, err := f.client().Do(req)
	if err != nil {
		return nil, nil, err
	}
	if res.StatusCode != http.StatusOK { //nolint:forbidigo // a status that is read, not answered
		return nil, nil, errors.Join(fmt.Errorf("%s answers %s", address, res.Status), res.Body.Close())
	}
	return res.Body, res.Header, nil
}

// The two forms in which an index lists the files of a project. Mirrors may only have the older form.
const (
	jsonList = "application/vnd.pypi.simple.v1+json"
	accepted = jsonList + ", text/html;q=0.5"
)

// find returns the address of the release's wheel from the index.
func (f Fetcher) find(ctx context.Context) (string, error) {
	page, err := url.JoinPath(cmp.Or(f.Index, Index), project, "/")
	if err != nil {
		return "", fmt.Errorf("the address of the package index: %w", err)
	}
	body, header, err := f.get(ctx, page, accepted)
	if err != nil {
		return "", fmt.Errorf("read the package index: %w", err)
	}
	defer body.Close()
	list, err := io.ReadAll(io.LimitReader(body, maxPage))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", page, err)
	}
	links, err := filesOf(list, header.Get("Content-Type"))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", page, err)
	}
	link, there := links[f.Release.Wheel()]
	if !there {
		return "", fmt.Errorf("%s does not list %s", page, f.Release.Wheel())
	}
	return resolve(page, link)
}

// resolve returns the address of a link on a page. The fragment of a link in older lists is a hash, which is not
// needed.
func resolve(page, link string) (string, error) {
	base, err := url.Parse(page)
	if err != nil {
		return "", err
	}
	at, err := base.Parse(link)
	if err != nil {
		return "", fmt.Errorf("a link of %s: %w", page, err)
	}
	at.Fragment = ""
	return at.String(), nil
}

// filesOf returns the links of a list by file name.
func filesOf(list []byte, contentType string) (map[string]string, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, fmt.Errorf("its media type: %w", err)
	}
	if kind != jsonList {
		return anchors(list)
	}
	var answer struct {
		Files []struct {
			Name string `json:"filename"`
			URL  string `json:"url"`
		} `json:"files"`
	}
	if err := json.Unmarshal(list, &answer); err != nil {
		return nil, err
	}
	links := map[string]string{}
	for _, file := range answer.Files {
		links[file.Name] = file.URL
	}
	return links, nil
}

// anchors parses a list in HTML, in which the text of a link is the file name.
func anchors(list []byte) (map[string]string, error) {
	page, err := html.Parse(bytes.NewReader(list))
	if err != nil {
		return nil, err
	}
	links := map[string]string{}
	for n := range page.Descendants() {
		if n.Type != html.ElementNode || n.Data != "a" || n.FirstChild == nil {
			continue
		}
		for _, a := range n.Attr {
			if a.Key == "href" {
				links[strings.TrimSpace(n.FirstChild.Data)] = a.Val
			}
		}
	}
	return links, nil
}

// static is the folder of the wheel with the files for browsers. The rest of the wheel is for Python.
const static = "comfyui_frontend_package/static"

const (
	maxFiles    = 10_000    // version 1.58.1 has 1,704
	maxUnpacked = 512 << 20 // bytes; version 1.58.1 has 124 MB
)

// bounds bound the unpacked archive.
type bounds struct {
	files int
	bytes int64
}

// unpack writes the files below static into dir. It refuses an archive with a name that leads out of it, with entries
// other than files and folders, or beyond the bounds.
func unpack(archive *os.File, dir string, limit bounds) error {
	info, err := archive.Stat()
	if err != nil {
		return err
	}
	content, err := zip.NewReader(archive, info.Size())
	if err != nil {
		return err
	}
	if len(content.File) > limit.files {
		return fmt.Errorf("%d files; at most %d are unpacked", len(content.File), limit.files)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := limit.bytes
	for _, file := range content.File {
		if err := check(file); err != nil {
			return err
		}
		if !strings.HasPrefix(file.Name, static+"/") || file.Mode().IsDir() {
			continue
		}
		n, err := write(root, file, left)
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		left -= n
	}
	if _, err := root.Stat(static + "/index.html"); err != nil {
		return fmt.Errorf("the archive contains no editor: %w", err)
	}
	return nil
}

// check refuses entries that no regular wheel has.
func check(file *zip.File) error {
	if name := strings.TrimSuffix(file.Name, "/"); !fs.ValidPath(name) || strings.Contains(name, `\`) {
		return fmt.Errorf("%q leads out of the archive", file.Name)
	}
	if mode := file.Mode(); !mode.IsRegular() && !mode.IsDir() {
		return fmt.Errorf("%q is neither a file nor a folder", file.Name)
	}
	return nil
}

// write unpacks one file of at most left bytes, regardless of the size in its header, and returns its size.
func write(root *os.Root, file *zip.File, left int64) (int64, error) {
	if err := root.MkdirAll(path.Dir(file.Name), 0o750); err != nil {
		return 0, err
	}
	from, err := file.Open()
	if err != nil {
		return 0, err
	}
	defer from.Close()
	to, err := root.OpenFile(file.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(to, io.LimitReader(from, left+1))
	if err == nil && n > left {
		err = errors.New("the unpacked archive exceeds its bound")
	}
	return n, errors.Join(err, to.Close())
}
