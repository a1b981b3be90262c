package comfyui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Packs sends requests to the routes that node packs add to a server.
type Packs interface {
	// Ask sends a request to a route of a pack, and returns its answer of any status that is neither a redirect nor a refusal of
	// credentials. The caller closes the answer, whose body has at most limit bytes. A path that CheckPackPath refuses is
	// CodeUnsafeName. The request has none of the headers of the caller's client.
	Ask(ctx context.Context, request PackRequest, limit int64) (*PackAnswer, error)
}

// PackRequest is a request to a route of a pack.
type PackRequest struct {
	Method      string // GET, POST or PUT
	Path        string // decoded, from the root of the server: "/api/etn/image/…"
	Query       url.Values
	ContentType string // of Body; "" = application/octet-stream
	Body        io.Reader
	Size        int64 // of Body, in bytes
}

// PackAnswer is the answer of a route of a pack.
type PackAnswer struct {
	Download
	Status int
}

// CheckPackPath refuses a path that a server, or a proxy in front of it, could read as another one.
func CheckPackPath(p string) error {
	if !strings.HasPrefix(p, "/") || path.Clean(p) != p || strings.ContainsAny(p, "\\?#%;") || strings.ContainsFunc(p, unicode.IsControl) {
		return fault.New(fault.Invalid, fault.CodeUnsafeName, "the path %q is not the path of a route of a pack", clip(p))
	}
	return nil
}

// packMethods are the methods of requests to routes of packs.
var packMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut}

// Ask implements Packs.
func (c *Client) Ask(ctx context.Context, r PackRequest, limit int64) (*PackAnswer, error) {
	if err := CheckPackPath(r.Path); err != nil {
		return nil, err
	}
	if !slices.Contains(packMethods, r.Method) {
		return nil, fault.New(fault.Invalid, fault.CodeUnsafeName, "requests with the method %q are not sent to packs", clip(r.Method))
	}
	watched, stop := watch(ctx, c.silenceTimeout)
	answer, err := c.ask(ctx, watched, r, limit, stop)
	if err != nil {
		stop()
	}
	return answer, err
}

func (c *Client) ask(ctx context.Context, watched *watchdog, r PackRequest, limit int64, stop func()) (*PackAnswer, error) {
	var body io.Reader
	if r.Body != nil && r.Size > 0 {
		body = watched.sent(io.LimitReader(r.Body, r.Size))
	}
	req, err := http.NewRequestWithContext(watched, r.Method, c.url(r.Path, r.Query).String(), body)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.base, err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	if body != nil {
		req.ContentLength = r.Size
		req.Header.Set("Content-Type", cmp.Or(r.ContentType, "application/octet-stream"))
	}
	res, err := c.open(ctx, req)
	if err != nil {
		return nil, err
	}
	if res.ContentLength > limit {
		return nil, errors.Join(tooLarge(limit), res.Body.Close())
	}
	content := &content{client: c, ctx: ctx, body: res.Body, source: watched.guarded(res.Body), left: limit, limit: limit, stop: stop}
	return &PackAnswer{
		Status: res.StatusCode, Download: Download{ReadCloser: content, MediaType: res.Header.Get("Content-Type"), Size: res.ContentLength},
	}, nil
}
