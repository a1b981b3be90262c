package request

import (
	"bufio"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Bounds of a multipart request beside its file.
const (
	maxParts     = 256
	maxFieldSize = 64 << 10
	overhead     = 1 << 20 // bytes of all fields and part headers
	readBuffer   = 256 << 10
)

// Large reads between the socket and the multipart parser cost a quarter less CPU than its own.
var (
	readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readBuffer) }}
	buffers = sync.Pool{New: func() any { return new([readBuffer]byte) }}
)

// FormReader describes a multipart request with one file.
type FormReader struct {
	File   string        // name of the file part
	Limit  int64         // bytes of the file
	Idle   time.Duration // longest pause of the client
	Fields map[string]Occurrence
	// Take, if not nil, is called with each field of Fields as it arrives.
	Take func(name, value string)
	// Open is called once, when the file part begins, with the fields that arrived before it.
	Open func(fields map[string][]string) (io.Writer, error)
}

// Occurrence is how often a field may occur.
type Occurrence uint8

// Occurrences of a field.
const (
	Once Occurrence = iota + 1
	Repeated
)

// Form is a multipart request that was read to its end.
type Form struct {
	Fields   map[string][]string
	HasFile  bool
	Filename string // raw, as the client sent it
	Size     int64
}

// Get returns the value of a field and whether it was sent.
func (f *Form) Get(name string) (string, bool) {
	if v := f.Fields[name]; len(v) > 0 {
		return v[0], true
	}
	return "", false
}

// Read streams the request: fields into memory, the file into the writer that Open returns. Parts may arrive in any
// order; unknown parts are ignored.
func (fr FormReader) Read(c *gin.Context) (*Form, error) {
	if err := fr.boundBody(c); err != nil {
		return nil, err
	}
	conn := http.NewResponseController(c.Writer)
	buf, _ := readers.Get().(*bufio.Reader)
	buf.Reset(IdleReader{c.Request.Body, conn, fr.Idle})
	defer func() { buf.Reset(nil); readers.Put(buf) }()
	body := c.Request.Body
	c.Request.Body = struct {
		io.Reader
		io.Closer
	}{buf, body}
	defer func() { c.Request.Body = body }()
	parts, err := c.Request.MultipartReader()
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidBody, "the body must be multipart/form-data with a boundary")
	}
	f := &Form{Fields: map[string][]string{}}
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return f, finishBody(conn, buf)
		}
		if err != nil {
			return nil, badForm(err)
		}
		if n >= maxParts {
			return nil, fault.New(fault.Invalid, fault.CodeInvalidBody, "the form has more than %d parts", maxParts)
		}
		if err := fr.readPart(f, part); err != nil {
			return nil, err
		}
	}
}

// finishBody reads the bytes after the form, for which net/http would wait without end, and removes the deadline from
// the connection.
func finishBody(conn *http.ResponseController, body io.Reader) error {
	if _, err := io.Copy(io.Discard, body); err != nil {
		return badForm(err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// CheckLength refuses a request that announces more bytes than the file and the fields may have together.
func (fr FormReader) CheckLength(r *http.Request) error {
	if r.ContentLength > fr.Limit+overhead {
		return FileTooLarge(fr.Limit)
	}
	return nil
}

// boundBody refuses a body that announces more than the limit, and cuts a body after the limit.
func (fr FormReader) boundBody(c *gin.Context) error {
	limit := fr.Limit + overhead
	if err := fr.CheckLength(c.Request); err != nil {
		return err
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, limit)
	return nil
}

// FileTooLarge is the error of an upload whose file is larger than limit bytes.
func FileTooLarge(limit int64) error {
	return fault.New(fault.Exhausted, fault.CodeBodyTooLarge, "the file is larger than %d bytes", limit)
}

// badForm classifies a failure to read the multipart body.
func badForm(err error) error {
	var known *fault.Error
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &tooBig):
		return FileTooLarge(tooBig.Limit - overhead)
	default:
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidBody, "the multipart body is malformed or ended early")
	}
}

func (fr FormReader) readPart(f *Form, part *multipart.Part) error {
	name := part.FormName()
	if name != fr.File {
		return fr.readField(f, name, part)
	}
	if f.HasFile {
		return repeatedPart(name)
	}
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return badForm(err)
	}
	f.HasFile, f.Filename = true, params["filename"]
	w, err := fr.Open(f.Fields)
	if err != nil {
		return err
	}
	f.Size, err = fr.copy(w, part)
	return err
}

func repeatedPart(name string) error {
	return fault.New(fault.Invalid, fault.CodeInvalidBody, "the part %s is given twice", name)
}

func (fr FormReader) readField(f *Form, name string, part *multipart.Part) error {
	if fr.Fields[name] == 0 {
		_, err := fr.copy(io.Discard, part)
		return err
	}
	value, err := io.ReadAll(io.LimitReader(part, maxFieldSize+1))
	if err != nil {
		return badForm(err)
	}
	if len(value) > maxFieldSize {
		return fault.New(fault.Invalid, fault.CodeInvalidBody, "the part %s is longer than %d bytes", name, maxFieldSize)
	}
	if len(f.Fields[name]) > 0 && fr.Fields[name] == Once {
		return repeatedPart(name)
	}
	f.Fields[name] = append(f.Fields[name], string(value))
	if fr.Take != nil {
		fr.Take(name, string(value))
	}
	return nil
}

// copy copies the file part, and distinguishes failures of the client from failures of the writer.
func (fr FormReader) copy(w io.Writer, part *multipart.Part) (int64, error) {
	buf, _ := buffers.Get().(*[readBuffer]byte)
	defer buffers.Put(buf)
	var size int64
	for {
		n, err := fill(part, buf[:])
		size += int64(n)
		if size > fr.Limit {
			return size, FileTooLarge(fr.Limit)
		}
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return size, err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return size, nil
		case err != nil:
			return size, badForm(err)
		}
	}
}

// fill reads until p is full or r fails. Unlike io.ReadFull it returns the error of r unchanged: the multipart reader
// reports a truncated body by the same error that ReadFull returns for a short read.
func fill(r io.Reader, p []byte) (int, error) {
	n := 0
	for n < len(p) {
		m, err := r.Read(p[n:])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Copy copies the body, whose size the route bounds, to w. A client that sends nothing for idle has failed.
func Copy(c *gin.Context, w io.Writer, idle time.Duration) (int64, error) {
	conn := http.NewResponseController(c.Writer)
	size, err := io.Copy(w, IdleReader{c.Request.Body, conn, idle})
	if err != nil {
		return size, err // the connection is not used again
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return size, err
	}
	return size, nil
}
