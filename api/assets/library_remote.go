package assets

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/url"
	"path"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound"
)

// Internet reaches URLs that clients name, on public addresses only; outbound.Client implements it.
type Internet interface {
	// Fetch downloads the content of a URL, within bounds.
	Fetch(ctx context.Context, address string, b outbound.Bounds, allow []string) (*outbound.Content, error)
	// Stat describes the content of a URL.
	Stat(ctx context.Context, address string, allow []string) (outbound.Resource, error)
}

// Bounds of fetching a file while the request of its client waits.
const (
	fetchTotal = 5 * time.Minute
	fetchStall = 30 * time.Second
)

// urlRequest is the JSON body of POST /assets.
type urlRequest struct {
	URL          string        `json:"url"`
	SourceURL    string        `json:"source_url"` // the spelling of some clients
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Tags         request.Texts `json:"tags"`
	MIMEType     string        `json:"mime_type"`
	PreviewID    previewValue  `json:"preview_id"`
	UserMetadata jsonValue     `json:"user_metadata"`
}

// postURL makes an asset of the content of a URL: POST /assets with JSON.
func (s *library) postURL(c *gin.Context) error {
	if err := request.Bound(c, s.Edge.MaxBody()); err != nil {
		return err
	}
	var req urlRequest
	if err := request.JSON(c, &req); err != nil {
		return err
	}
	req.URL = cmp.Or(req.URL, req.SourceURL)
	u, err := s.remote(req.URL)
	if err != nil {
		return err
	}
	r := createRequest{
		id: req.ID, name: req.Name, mimeType: req.MIMEType, preview: req.PreviewID.text, tags: trimmed(req.Tags),
		metadata: req.UserMetadata,
	}
	if r.name == "" {
		r.name = path.Base(u.Path)
		if r.name == "/" || r.name == "." {
			r.name = u.Hostname()
		}
	}
	if _, done, err := s.spec(c, r); err != nil || done { // an invalid request fails before a byte is fetched
		return err
	}
	release, err := s.remotes.Begin(c.Request.Context(), edge.Caller(c).Account)
	if err != nil {
		return err
	}
	defer release()
	return s.fetch(c, req.URL, r)
}

// remote checks a URL before a request is sent to it.
func (s *library) remote(address string) (*url.URL, error) {
	if s.Internet == nil {
		return nil, fault.New(fault.Invalid, fault.CodeSourceUnsupported, "this service does not fetch files from URLs")
	}
	if address == "" {
		return nil, fault.New(fault.Invalid, fault.CodeSourceNoURL, "a url is required")
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return nil, fault.New(fault.Invalid, fault.CodeSourceURLFormat, "the url must be absolute and contain no credentials")
	}
	return u, nil
}

// fetch streams the content of the URL into an asset.
func (s *library) fetch(c *gin.Context, address string, r createRequest) error {
	ctx := c.Request.Context()
	source, err := s.Internet.Fetch(ctx, address, outbound.Bounds{Bytes: s.opts.MaxUpload, Total: fetchTotal, Stall: fetchStall}, nil)
	if err != nil {
		return s.remoteFault(ctx, err)
	}
	defer source.Close()
	if source.Size > 0 {
		if err := s.Edge.CheckQuota(c, source.Size); err != nil {
			return err
		}
	}
	if kind, _, err := mime.ParseMediaType(source.ContentType); err == nil && r.mimeType == "" && kind != content.OctetStream &&
		checkContentType(kind) == nil {
		r.mimeType = kind
	}
	in, err := s.Assets.Receive(ctx, edge.Caller(c).Account, nil)
	if err != nil {
		return err
	}
	defer in.Drop() //nolint:errcheck // the staging folder is cleared at the next start
	read := &sourceReader{Reader: source}
	if _, err := io.Copy(in, read); err != nil {
		if read.err != nil {
			return s.remoteFault(ctx, read.err)
		}
		return err
	}
	return s.createFromBytes(c, in, nil, r)
}

// sourceReader distinguishes failures of the source from failures of the store.
type sourceReader struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (r *sourceReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// remoteFault returns the error for a client whose URL could not be fetched.
func (s *library) remoteFault(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, outbound.ErrTooLarge):
		return request.FileTooLarge(s.opts.MaxUpload)
	}
	return outbound.SourceFault(err)
}

// remoteMetadata describes the content of a URL before it is fetched.
type remoteMetadata struct {
	ContentLength int64            `json:"content_length"` // 0 = the source does not send it
	FinalURL      string           `json:"final_url"`
	ContentType   string           `json:"content_type,omitempty"`
	Filename      string           `json:"filename,omitempty"`
	Name          string           `json:"name,omitempty"`
	Tags          []string         `json:"tags"`                    // always empty: a source has no tags
	PreviewImage  string           `json:"preview_image,omitempty"` // a data URL, of a small picture
	Validation    remoteValidation `json:"validation"`
}

type remoteValidation struct {
	IsValid  bool            `json:"is_valid"`
	Errors   []remoteProblem `json:"errors"`
	Warnings []remoteProblem `json:"warnings"`
}

type remoteProblem struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Field   string     `json:"field"`
}

// getRemote describes the content of a URL: GET /assets/remote-metadata?url=.
func (s *library) getRemote(c *gin.Context) error {
	address := c.Query("url")
	if _, err := s.remote(address); err != nil {
		return err
	}
	ctx := c.Request.Context()
	release, err := s.remotes.Begin(ctx, edge.Caller(c).Account)
	if err != nil {
		return err
	}
	defer release()
	about, err := s.Internet.Stat(ctx, address, nil)
	if err != nil {
		return s.remoteFault(ctx, err)
	}
	body := remoteMetadata{
		ContentLength: max(about.Size, 0), FinalURL: about.URL, ContentType: about.ContentType, Filename: about.Filename, Name: about.Filename,
		Tags: []string{}, Validation: remoteValidation{IsValid: true, Errors: []remoteProblem{}, Warnings: []remoteProblem{}},
	}
	body.PreviewImage = s.previewImage(ctx, address, about)
	if about.Size > s.opts.MaxUpload {
		body.Validation.IsValid = false
		body.Validation.Errors = append(body.Validation.Errors, remoteProblem{
			Code: fault.CodeSourceTooLarge, Message: request.FileTooLarge(s.opts.MaxUpload).Error(), Field: "content_length",
		})
	}
	return edge.OK(c, body, nil)
}
