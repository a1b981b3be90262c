package comfyui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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

	// Bring has the node pack of the server fetch a model file, unless the server has it. It reports the number of bytes that the
	// server has every now and then, and ends with the error of progress. A file gets its name when it has its hash, never replaces
	// another one, and is fetched from where an earlier attempt has ended. CodeServerFileNotFound means that the server lacks the
	// node pack, or has an older one.
	Bring(ctx context.Context, w Weight, progress func(done int64) error) (Brought, error)

	// Evict has the node pack of the server remove a model file whose size and hash are those of w. Links and files with other bytes
	// stay. It reports the number of bytes that the server has read, like Bring.
	Evict(ctx context.Context, w Weight, progress func(done int64) error) (Brought, error)
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

// Weight is a model file that a server is to fetch, or to remove.
type Weight struct {
	URL     string `json:"url,omitempty"`
	Folder  string `json:"folder"` // of ComfyUI's models: checkpoints, loras, …
	Name    string `json:"name"`   // path below the folder
	Size    int64  `json:"size"`   // bytes
	Reserve int64  `json:"reserve"`
	BLAKE3  string `json:"blake3"` // hexadecimal digits
	SHA256  string `json:"sha256,omitempty"`
}

// Brought is the outcome of Bring or Evict.
type Brought struct {
	Present     bool  // the server had the file
	Sent        int64 // bytes that the server received; the rest it had from an earlier request
	NeedsSHA256 bool  // nothing was done: the server can check no other hash
	Lacks       int64 // bytes that the disk lacks, if this is why the server has fetched nothing
	Removed     bool  // the server had the file and has removed it
}

// maxReports bounds the reports on one file: two a second, of some 30 bytes, for more than a day.
const maxReports = 16 << 20

// Bring implements Packs.
func (c *Client) Bring(ctx context.Context, w Weight, progress func(done int64) error) (Brought, error) {
	return c.handle(ctx, "/lossless/fetch", w, progress)
}

// Evict implements Packs.
func (c *Client) Evict(ctx context.Context, w Weight, progress func(done int64) error) (Brought, error) {
	return c.handle(ctx, "/lossless/evict", w, progress)
}

// handle sends a request about a weight to a route of the node pack.
func (c *Client) handle(ctx context.Context, route string, w Weight, progress func(done int64) error) (Brought, error) {
	raw, err := json.Marshal(w)
	if err != nil {
		return Brought{}, fmt.Errorf("encode a weight: %w", err)
	}
	a, err := c.Ask(ctx, PackRequest{
		Method: http.MethodPost, Path: route, ContentType: "application/json", Body: bytes.NewReader(raw), Size: int64(len(raw)),
	}, maxReports)
	if err != nil {
		return Brought{}, err
	}
	defer a.Close() // read only
	switch a.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return Brought{}, fault.New(fault.NotFound, fault.CodeServerFileNotFound,
			"the server has no node pack that fetches weights; install the present one of Millrace")
	case http.StatusUnprocessableEntity:
		return Brought{NeedsSHA256: true}, nil
	case http.StatusOK, http.StatusBadRequest:
		return readReports(a, progress)
	}
	return Brought{}, statusError(response{status: a.Status})
}

// readReports reads the reports on a file that a server fetches or removes, until the last one.
func readReports(r io.Reader, progress func(done int64) error) (Brought, error) {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	for in := json.NewDecoder(r); ; {
		var report struct {
			Done    int64
			Sent    *int64
			Present bool
			Removed *bool
			Error   string
			Lacks   int64
		}
		err := in.Decode(&report)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return Brought{}, fault.New(fault.Unavailable, fault.CodeServerLost, "the node pack has stopped in the middle of its answer")
		case errors.As(err, &syntax), errors.As(err, &kind):
			return Brought{}, fault.Wrap(err, fault.Unavailable, fault.CodeServerGarbage, "the node pack's report does not have the form of one")
		case err != nil:
			return Brought{}, err
		case report.Error != "":
			return Brought{Lacks: report.Lacks}, fault.New(fault.Unavailable, fault.CodeServerError, "%s", clip(report.Error))
		case report.Present:
			return Brought{Present: true}, nil
		case report.Sent != nil:
			return Brought{Sent: *report.Sent}, nil
		case report.Removed != nil:
			return Brought{Removed: *report.Removed}, nil
		}
		if err := progress(report.Done); err != nil {
			return Brought{}, err
		}
	}
}
