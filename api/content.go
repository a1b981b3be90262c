package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
)

// checkWhole is up to which size a blob is verified before its first byte is sent, so that a
// damaged one is an error and not a body that breaks off. It takes a quarter of a second then.
const checkWhole = 1 << 30

// getSigned serves a link that needs no credential: GET /files/{asset}/{filename}.
func (s *fileServer) getSigned(c *gin.Context) error {
	grant, err := s.Grants.Verify(c.Param("asset"), c.Param("filename"), c.Request.URL.Query())
	if err != nil {
		return err
	}
	e, err := s.Files.Linked(c.Request.Context(), asset.ID(grant.Asset), grant.Hash)
	if err != nil {
		return err
	}
	e.ContentType = grant.ContentType
	return s.serve(c, e, grant.Filename)
}

// serve answers with the bytes of a file: ranges, conditions and HEAD as net/http has them, with
// the hash as ETag.
func (s *fileServer) serve(c *gin.Context, e files.Entry, filename string) error {
	return s.serveAs(c, e, filename, false)
}

// serveAs is serve, but that a client which saves the file is told to.
func (s *fileServer) serveAs(c *gin.Context, e files.Entry, filename string, save bool) error {
	if done, err := s.redirect(c, e, filename, save); done || err != nil {
		return unavailable(err)
	}
	r, err := s.Files.Open(c.Request.Context(), e)
	if err != nil {
		return unavailable(err)
	}
	defer r.Close()
	if r.Size() <= checkWhole {
		if err := r.Check(); err != nil {
			return unavailable(err)
		}
	}
	setContentHeaders(c.Writer.Header(), e, filename, save)
	if !strings.HasPrefix(c.Request.Header.Get("Range"), "bytes=") { // RFC 9110, section 14.2: an unknown unit is ignored
		c.Request.Header.Del("Range")
	}
	w := &contentWriter{ResponseWriter: c.Writer}
	http.ServeContent(w, c.Request, "", time.Time{}, source(r))
	if w.unsatisfiable {
		return unsatisfiable(c)
	}
	return nil
}

// presignedFor is how long a link to the backend lives; the client follows it at once.
const presignedFor = 15 * time.Minute

// redirect sends the client to the backend where that can serve it.
func (s *fileServer) redirect(c *gin.Context, e files.Entry, filename string, save bool) (bool, error) {
	contentType, disposition := presentation(e.ContentType, save)
	h := blob.Headers{ContentType: contentType, ContentDisposition: contentDisposition(disposition, filename)}
	link, err := s.Files.Presign(c.Request.Context(), e, h, presignedFor)
	if err != nil || link == "" {
		return false, err
	}
	edge.Redirect(c, link)
	return true, nil
}

// unavailable tells a client that a file it may read has lost its bytes.
func unavailable(err error) error {
	if err != nil && (fault.Is(err, fault.NotFound) || errors.Is(err, blob.ErrCorrupt)) {
		return fault.Wrap(err, fault.NotFound, "output_unavailable", "the content of this file is not available")
	}
	return err
}

func unsatisfiable(c *gin.Context) error {
	for _, name := range []string{"Content-Type", "Content-Disposition", "ETag"} {
		c.Writer.Header().Del(name)
	}
	return fault.New(fault.Invalid, "range_not_satisfiable", "the range lies outside the file")
}

// source returns what ServeContent reads: the file itself where its bytes are verified, so that
// the kernel sends it.
func source(r blob.Reader) io.ReadSeeker {
	if f, ok := r.(blob.Filer); ok {
		if file := f.File(); file != nil {
			return file
		}
	}
	return r
}

// setContentHeaders keeps a browser from rendering what a user stored.
func setContentHeaders(h http.Header, e files.Entry, filename string, save bool) {
	contentType, disposition := presentation(e.ContentType, save)
	h.Set("Content-Type", contentType)
	h.Set("Content-Disposition", contentDisposition(disposition, filename))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "private, no-cache") // stays checkable: a deleted file ends at once
	h.Set("ETag", `"`+e.Hash.String()+`"`)
}

const octetStream = "application/octet-stream"

// presentation decides how a declared type is shown. Pictures, sound, film, plain text and JSON
// may be shown in place; what a browser would run is sent as bytes to save; everything else is saved.
func presentation(declared string, save bool) (contentType, disposition string) {
	kind, _, err := mime.ParseMediaType(declared)
	family, sub, ok := strings.Cut(kind, "/")
	switch {
	case err != nil || !ok:
		return octetStream, "attachment"
	case active(sub):
		return octetStream, "attachment"
	case save:
		return declared, "attachment"
	case family == "image", family == "video", family == "audio", kind == "text/plain", kind == "application/json":
		return declared, "inline"
	default:
		return declared, "attachment"
	}
}

// active reports media subtypes that browsers execute or that can carry script.
func active(subtype string) bool {
	for _, word := range []string{"html", "svg", "xml", "script", "css", "wasm", "xslt", "rdf"} {
		if strings.Contains(subtype, word) {
			return true
		}
	}
	return false
}

// contentDisposition names the file in both forms of RFC 6266.
func contentDisposition(disposition, filename string) string {
	if v := mime.FormatMediaType(disposition, map[string]string{"filename": filename}); v != "" {
		return v
	}
	return disposition
}

// contentWriter lets the kernel copy files past gin's writer, and holds back ServeContent's own
// answer to a range that cannot be satisfied.
type contentWriter struct {
	gin.ResponseWriter
	unsatisfiable bool
}

// WriteHeader implements http.ResponseWriter.
func (w *contentWriter) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable {
		w.unsatisfiable = true
		return
	}
	w.ResponseWriter.WriteHeader(status)
	w.ResponseWriter.WriteHeaderNow()
}

// Write implements io.Writer.
func (w *contentWriter) Write(p []byte) (int, error) {
	if w.unsatisfiable {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// ReadFrom implements io.ReaderFrom with that of net/http's writer, which uses sendfile.
func (w *contentWriter) ReadFrom(r io.Reader) (int64, error) {
	if raw, ok := w.ResponseWriter.(interface{ Unwrap() http.ResponseWriter }); ok {
		if to, ok := raw.Unwrap().(io.ReaderFrom); ok {
			return to.ReadFrom(r)
		}
	}
	return io.Copy(w.ResponseWriter, r)
}

var (
	_ io.ReaderFrom = (*contentWriter)(nil)
	_ Grants        = (*signedurl.Signer)(nil)
)
