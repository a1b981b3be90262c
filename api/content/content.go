// Package content answers with the bytes of stored files: ranges, conditions, names, and headers that keep a browser
// from running files of users. It promises that a damaged file is an error and not a truncated body. Callers check
// who may read a file.
package content

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// maxChecked is the size up to which a blob is verified before its first byte is sent, so that a damaged blob is an
// error and not a truncated body. Verifying a blob of this size takes a quarter of a second.
const maxChecked = 1 << 30

// Store reads the bytes of files; files.Service implements it.
type Store interface {
	// Open returns the bytes of a file.
	Open(ctx context.Context, e files.Entry) (blob.Reader, error)
	// Presign returns a link to the backend that serves the file, or "" if the backend has no links.
	Presign(ctx context.Context, e files.Entry, h blob.Headers, ttl time.Duration) (string, error)
}

// File is a file to answer with.
type File struct {
	files.Entry
	Name string // file name under which the client saves it
	Save bool   // a browser saves it instead of showing it
}

// Serve answers with the bytes of a file. Ranges, conditions and HEAD work as in net/http; the ETag is the hash.
func Serve(c *gin.Context, store Store, f File) error {
	if done, err := redirect(c, store, f); done || err != nil {
		return Unavailable(err)
	}
	return ServeBytes(c, store, f)
}

// ServeBytes is Serve for clients that do not follow redirects: it never redirects to the backend.
func ServeBytes(c *gin.Context, store Store, f File) error {
	r, err := store.Open(c.Request.Context(), f.Entry)
	if err != nil {
		return Unavailable(err)
	}
	defer r.Close()
	if r.Size() <= maxChecked {
		if err := r.Check(); err != nil {
			return Unavailable(err)
		}
	}
	SetHeaders(c.Writer.Header(), f)
	return ServeReader(c, time.Time{}, source(r))
}

// Redirect redirects the client to the backend if that can serve the file, otherwise to link. A file whose bytes are
// lost is an error here, not behind the link.
func Redirect(c *gin.Context, store Store, f File, link string) error {
	if done, err := redirect(c, store, f); done || err != nil {
		return Unavailable(err)
	}
	r, err := store.Open(c.Request.Context(), f.Entry)
	if err != nil {
		return Unavailable(err)
	}
	if err := r.Close(); err != nil {
		return err
	}
	edge.Redirect(c, link)
	return nil
}

// ServeReader answers with the content of r, as Serve does. The caller has set the headers that describe the content.
func ServeReader(c *gin.Context, modified time.Time, r io.ReadSeeker) error {
	if !strings.HasPrefix(c.Request.Header.Get("Range"), "bytes=") { // RFC 9110, section 14.2: an unknown unit is ignored
		c.Request.Header.Del("Range")
	}
	if emptySuffix(c.Request.Header.Get("Range")) {
		return unsatisfiable(c)
	}
	w := &writer{ResponseWriter: c.Writer}
	http.ServeContent(w, c.Request, "", modified, r)
	if w.unsatisfiable {
		return unsatisfiable(c)
	}
	return nil
}

// emptySuffix reports whether a Range header requests only the last zero bytes, which no file can satisfy (RFC 9110,
// section 14.1.2). net/http would answer with an empty part.
func emptySuffix(header string) bool {
	digits, ok := strings.CutPrefix(strings.ReplaceAll(header, " ", ""), "bytes=-")
	return ok && digits != "" && strings.Trim(digits, "0") == ""
}

// presignedFor is the lifetime of a link to the backend. The client follows it at once.
const presignedFor = 15 * time.Minute

// redirect redirects the client to the backend if that can serve the file.
func redirect(c *gin.Context, store Store, f File) (bool, error) {
	contentType, disposition := presentation(f.ContentType, f.Save)
	h := blob.Headers{ContentType: contentType, ContentDisposition: Disposition(disposition, f.Name)}
	link, err := store.Presign(c.Request.Context(), f.Entry, h, presignedFor)
	if err != nil || link == "" {
		return false, err
	}
	edge.Redirect(c, link)
	return true, nil
}

// Unavailable returns err, or output_unavailable if the bytes of a file that the client may read are lost.
func Unavailable(err error) error {
	if err != nil && (fault.Is(err, fault.NotFound) || errors.Is(err, blob.ErrCorrupt)) {
		return fault.Wrap(err, fault.NotFound, fault.CodeOutputUnavailable, "the content of this file is not available")
	}
	return err
}

func unsatisfiable(c *gin.Context) error {
	for _, name := range []string{"Content-Type", "Content-Disposition", "ETag"} {
		c.Writer.Header().Del(name)
	}
	return fault.New(fault.Invalid, fault.CodeRangeNotSatisfiable, "the range lies outside the file")
}

// source returns the reader for ServeContent. If the bytes are verified it is the file itself, so that the kernel
// sends it.
func source(r blob.Reader) io.ReadSeeker {
	if f, ok := r.(blob.Filer); ok {
		if file := f.File(); file != nil {
			return file
		}
	}
	return r
}

// SetHeaders describes a file such that no browser runs content of users.
func SetHeaders(h http.Header, f File) {
	contentType, disposition := presentation(f.ContentType, f.Save)
	h.Set("Content-Type", contentType)
	h.Set("Content-Disposition", Disposition(disposition, f.Name))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "private, no-cache") // revalidated each time: a deleted file is not served from a cache
	h.Set("ETag", `"`+f.Hash.String()+`"`)
}

// OctetStream is the type of bytes that no browser displays.
const OctetStream = "application/octet-stream"

// presentation decides how a declared type is shown. Pictures, sound, film, plain text and JSON may be displayed;
// types that a browser would run are sent as bytes to save; all other types are saved.
func presentation(declared string, save bool) (contentType, disposition string) {
	kind, _, err := mime.ParseMediaType(declared)
	family, sub, ok := strings.Cut(kind, "/")
	switch {
	case err != nil || !ok:
		return OctetStream, "attachment"
	case active(sub):
		return OctetStream, "attachment"
	case save:
		return declared, "attachment"
	case family == "image", family == "video", family == "audio", kind == "text/plain", kind == "application/json":
		return declared, "inline"
	default:
		return declared, "attachment"
	}
}

// active reports whether browsers run a media subtype, or scripts in it.
func active(subtype string) bool {
	for _, word := range []string{"html", "svg", "xml", "script", "css", "wasm", "xslt", "rdf"} {
		if strings.Contains(subtype, word) {
			return true
		}
	}
	return false
}

// Disposition returns a Content-Disposition that names the file in both forms of RFC 6266.
func Disposition(disposition, filename string) string {
	if v := mime.FormatMediaType(disposition, map[string]string{"filename": filename}); v != "" {
		return v
	}
	return disposition
}

// writer lets the kernel copy files past gin's writer, and replaces ServeContent's answer to a range that cannot be
// satisfied.
type writer struct {
	gin.ResponseWriter
	unsatisfiable bool
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable {
		w.unsatisfiable = true
		return
	}
	w.ResponseWriter.WriteHeader(status)
	w.ResponseWriter.WriteHeaderNow()
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if w.unsatisfiable {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// ReadFrom implements io.ReaderFrom by net/http's writer, which uses sendfile.
func (w *writer) ReadFrom(r io.Reader) (int64, error) {
	if raw, ok := w.ResponseWriter.(interface{ Unwrap() http.ResponseWriter }); ok {
		if to, ok := raw.Unwrap().(io.ReaderFrom); ok {
			return to.ReadFrom(r)
		}
	}
	return io.Copy(w.ResponseWriter, r)
}

var _ io.ReaderFrom = (*writer)(nil)
