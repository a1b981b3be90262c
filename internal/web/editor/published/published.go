// Package published fetches the ComfyUI editor from its publisher: one pinned version of the Python package
// comfyui-frontend-package, from an index such as PyPI. It promises that a returned directory contains exactly the
// files of the archive with the pinned hash, so that an index or a mirror need not be trusted, and that an
// interrupted fetch leaves no partial editor. Package editor serves the files.
package published

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
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
