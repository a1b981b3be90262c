package assets

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
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

// Internet reaches addresses that clients name, public ones only; outbound.Client is it.
type Internet interface {
	// Fetch downloads the content of an address, within bounds.
	Fetch(ctx context.Context, address string, b outbound.Bounds, allow []string) (*outbound.Content, error)
	// Stat describes the content of an address.
	Stat(ctx context.Context, address string, allow []string) (outbound.Resource, error)
}

// Bounds of fetching a file that a client names, whose request waits for it.
const (
	fetchTotal = 5 * time.Minute
	fetchStall = 30 * time.Second
)

// urlRequest is the JSON body of POST /assets.
type urlRequest struct {
	URL          string        `json:"url"`
	SourceURL    string        `json:"source_url"` // as some clients spell it
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Tags         request.Texts `json:"tags"`
	MIMEType     string        `json:"mime_type"`
	PreviewID    previewValue  `json:"preview_id"`
	UserMetadata jsonValue     `json:"user_metadata"`
}

// postURL makes an asset of the content of an address: POST /assets with JSON.
func (s *library) postURL(c *gin.Context) error {
	if err := request.Bound(c, s.Edge.MaxBody()); err != nil {
		return err
	}
	var req urlRequest
	if err := request.JSON(c, &req); err != nil {
		return err
	}
	if req.URL == "" {
		req.URL = req.SourceURL
	}
	u, err := s.remote(req.URL)
	if err != nil {
		return err
	}
	r := createRequest{id: req.ID, name: req.Name, mimeType: req.MIMEType, preview: req.PreviewID.text, tags: trimmed(req.Tags), metadata: req.UserMetadata}
	if r.name == "" {
		r.name = path.Base(u.Path)
		if r.name == "/" || r.name == "." {
			r.name = u.Hostname()
		}
	}
	if _, done, err := s.spec(c, r); err != nil || done { // invalid requests fail before a byte is fetched
		return err
	}
	release, err := s.remotes.Acquire(c.Request.Context(), edge.Caller(c).Account)
	if err != nil {
		return err
	}
	defer release()
	return s.fetch(c, req.URL, r)
}

// remote checks an address before anything is sent to it.
func (s *library) remote(address string) (*url.URL, error) {
	if s.Internet == nil {
		return nil, fault.New(fault.Invalid, fault.CodeSourceUnsupported, "this service does not fetch files from addresses")
	}
	if address == "" {
		return nil, fault.New(fault.Invalid, fault.CodeSourceNoURL, "a url is required")
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return nil, fault.New(fault.Invalid, fault.CodeSourceURLFormat, "the url must be absolute and hold no credentials")
	}
	return u, nil
}

// fetch streams the content of the address into an asset.
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
	if kind, _, err := mime.ParseMediaType(source.ContentType); err == nil && r.mimeType == "" && kind != content.OctetStream && checkContentType(kind) == nil {
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
	return s.keepFile(c, in, nil, r)
}

// sourceReader tells failures of the source from those of the store.
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

// remoteFault says why an address could not be fetched, which is the client's concern.
func (s *library) remoteFault(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, outbound.ErrTooLarge):
		return request.FileTooLarge(s.opts.MaxUpload)
	}
	return outbound.SourceFault(err)
}

// remoteMetadata describes the content of an address before it is fetched.
type remoteMetadata struct {
	ContentLength int64            `json:"content_length"` // 0 = the source does not say
	FinalURL      string           `json:"final_url"`
	ContentType   string           `json:"content_type,omitempty"`
	Filename      string           `json:"filename,omitempty"`
	Name          string           `json:"name,omitempty"`
	Tags          []string         `json:"tags"`                    // none: a source says nothing of them
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

// getRemote describes the content of an address: GET /assets/remote-metadata?url=.
func (s *library) getRemote(c *gin.Context) error {
	address := c.Query("url")
	if _, err := s.remote(address); err != nil {
		return err
	}
	ctx := c.Request.Context()
	release, err := s.remotes.Acquire(ctx, edge.Caller(c).Account)
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
	c.PureJSON(http.StatusOK, body)
	return nil
}
