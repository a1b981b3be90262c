package comfyui

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Reference returns the name by which inputs of a graph refer to the file: "sub/name.png", followed by its folder in
// brackets unless that is the input folder.
func (f File) Reference() string {
	name := f.Name
	if f.Subfolder != "" {
		name = f.Subfolder + "/" + name
	}
	if f.Type != FolderInput {
		name += " [" + string(f.Type) + "]"
	}
	return name
}

// check refuses names of files outside the folders of the server.
func (f File) check() error {
	unsafe := f.Name == "" || f.Name == "." || f.Name == ".." || strings.ContainsAny(f.Name, "/\\\x00")
	if f.Subfolder != "" {
		for part := range strings.SplitSeq(f.Subfolder, "/") {
			unsafe = unsafe || part == "" || part == "." || part == ".." || strings.ContainsAny(part, ":\\\x00")
		}
	}
	if unsafe {
		return fault.New(fault.Invalid, fault.CodeUnsafeName, "the server returned the name of a file outside its folder: %q in %q", clip(f.Name),
			clip(f.Subfolder))
	}
	switch f.Type {
	case FolderInput, FolderOutput, FolderTemp:
		return nil
	default:
		return fault.New(fault.Invalid, fault.CodeUnsafeName, "the server returned a file name with the unknown folder %q", clip(string(f.Type)))
	}
}

// Put implements Files.
func (c *Client) Put(ctx context.Context, u Upload) (File, error) {
	wanted := File{Name: u.Name, Subfolder: u.Subfolder, Type: cmp.Or(u.Folder, FolderInput)}
	if err := wanted.check(); err != nil {
		return File{}, err
	}
	head, tail, contentType, err := form(wanted)
	if err != nil {
		return File{}, err
	}
	watched, stop := watch(ctx, c.silenceTimeout)
	defer stop()
	body := io.MultiReader(bytes.NewReader(head), io.LimitReader(u.Body, u.Size), bytes.NewReader(tail))
	req, err := http.NewRequestWithContext(watched, http.MethodPost, c.url("/upload/image", nil).String(), watched.sent(body))
	if err != nil {
		return File{}, fmt.Errorf("store %s: %w", u.Name, err)
	}
	req.ContentLength = int64(len(head)) + u.Size + int64(len(tail))
	req.Header.Set("Content-Type", contentType)
	res, err := c.open(ctx, req)
	if err != nil {
		return File{}, err
	}
	defer res.Body.Close() // read only
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxSmall))
	if err != nil {
		return File{}, c.transportError(ctx, err)
	}
	return stored(response{status: res.StatusCode, body: raw})
}

// stored reads the answer to an upload.
func stored(a response) (File, error) {
	if a.status != http.StatusOK {
		return File{}, statusError(a)
	}
	var named struct {
		Name      string `json:"name"`
		Subfolder string `json:"subfolder"`
		Type      Folder `json:"type"`
	}
	if err := a.decode(&named); err != nil {
		return File{}, err
	}
	return wireFile{Name: named.Name, Subfolder: named.Subfolder, Type: named.Type}.file()
}

// form returns the bytes before and after the file in the body of an upload.
func form(f File) (head, tail []byte, contentType string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	err = errors.Join(w.WriteField("type", string(f.Type)), w.WriteField("subfolder", f.Subfolder))
	if err != nil {
		return nil, nil, "", fmt.Errorf("write the form of an upload: %w", err)
	}
	if _, err := w.CreateFormFile("image", f.Name); err != nil {
		return nil, nil, "", fmt.Errorf("write the form of an upload: %w", err)
	}
	head = bytes.Clone(b.Bytes())
	if err := w.Close(); err != nil {
		return nil, nil, "", fmt.Errorf("write the form of an upload: %w", err)
	}
	return head, b.Bytes()[len(head):], w.FormDataContentType(), nil
}

// Fetch implements Files.
func (c *Client) Fetch(ctx context.Context, f File, limit int64) (*Download, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	query := url.Values{"filename": {f.Name}, "type": {string(f.Type)}}
	if f.Subfolder != "" {
		query.Set("subfolder", f.Subfolder)
	}
	return c.download(ctx, c.url("/view", query), limit)
}

// download opens the file at an address of the server.
func (c *Client) download(ctx context.Context, u *url.URL, limit int64) (*Download, error) {
	watched, stop := watch(ctx, c.silenceTimeout)
	d, err := c.openDownload(ctx, watched, u, limit, stop)
	if err != nil {
		stop()
	}
	return d, err
}

func (c *Client) openDownload(ctx context.Context, watched *watchdog, u *url.URL, limit int64, stop func()) (*Download, error) {
	req, err := http.NewRequestWithContext(watched, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("fetch a file: %w", err)
	}
	req.Header.Set("Accept-Encoding", "identity") // makes the announced size the size of the file
	res, err := c.open(ctx, req)
	if err != nil {
		return nil, err
	}
	switch {
	case res.StatusCode == http.StatusNotFound:
		err = fault.New(fault.NotFound, fault.CodeServerFileNotFound, "the server does not have the file")
	case res.StatusCode != http.StatusOK:
		err = statusError(response{status: res.StatusCode})
	case res.ContentLength > limit:
		err = tooLarge(limit)
	}
	if err != nil {
		return nil, errors.Join(err, res.Body.Close())
	}
	content := &content{client: c, ctx: ctx, body: res.Body, source: watched.guarded(res.Body), left: limit, limit: limit, stop: stop}
	return &Download{ReadCloser: content, MediaType: res.Header.Get("Content-Type"), Size: res.ContentLength}, nil
}

func tooLarge(limit int64) error {
	return fault.New(fault.Exhausted, fault.CodeTooLarge, "the file exceeds %d bytes", limit)
}

// maxRemoved bounds the files of one request; the node pack accepts no more.
const maxRemoved = 1000

// Remove implements Files.
func (c *Client) Remove(ctx context.Context, id PromptID, files []File) error {
	type named struct {
		Filename  string `json:"filename"`
		Subfolder string `json:"subfolder"`
		Type      Folder `json:"type"`
	}
	for some := range slices.Chunk(files, maxRemoved) {
		list := make([]named, len(some))
		for i, f := range some {
			if err := f.check(); err != nil {
				return err
			}
			list[i] = named{f.Name, f.Subfolder, f.Type}
		}
		a, err := c.post(ctx, "/lossless/remove", map[string]any{"prompt_id": id, "files": list})
		switch {
		case err != nil:
			return err
		case a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed:
			return fault.New(fault.NotFound, fault.CodeServerFileNotFound, "the server has no node pack that removes files")
		case a.status != http.StatusOK:
			return statusError(a)
		}
	}
	return nil
}

// content is the body of a download, with a bound and classified errors.
type content struct {
	client *Client
	ctx    context.Context //nolint:containedctx // the context of the request
	body   io.Closer
	source io.Reader
	limit  int64
	left   int64
	stop   func()
}

// Read implements io.Reader.
func (r *content) Read(p []byte) (int, error) {
	if int64(len(p)) > r.left+1 {
		p = p[:r.left+1]
	}
	n, err := r.source.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return n - 1, tooLarge(r.limit)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.client.transportError(r.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (r *content) Close() error {
	r.stop()
	return r.body.Close()
}

// watchdog is a context that ends when no byte is transferred for a while: a transfer may be long but must not stall.
type watchdog struct {
	context.Context //nolint:containedctx // the watchdog is a context
	timer           *time.Timer
	silence         time.Duration
}

// watch returns a watchdog and a function that releases it.
func watch(ctx context.Context, silence time.Duration) (*watchdog, func()) {
	watched, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(silence, func() { cancel(context.DeadlineExceeded) })
	return &watchdog{watched, timer, silence}, func() { timer.Stop(); cancel(nil) }
}

// sent watches a body that is sent to the server. The time starts again whenever the server has accepted bytes.
func (w *watchdog) sent(source io.Reader) io.Reader { return &watchedReader{source, w, false} }

// guarded watches a body that comes from the server. The time runs while a read waits, not while the reader processes
// bytes.
func (w *watchdog) guarded(source io.Reader) io.Reader { return &watchedReader{source, w, true} }

type watchedReader struct {
	source  io.Reader
	dog     *watchdog
	waiting bool // the time runs during reads only
}

// Read implements io.Reader.
func (r *watchedReader) Read(p []byte) (int, error) {
	if r.waiting {
		r.dog.timer.Reset(r.dog.silence)
		defer r.dog.timer.Stop()
	} else {
		defer r.dog.timer.Reset(r.dog.silence)
	}
	return r.source.Read(p)
}
