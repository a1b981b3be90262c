package api

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
	formOverhead = 1 << 20 // of all fields and part headers
	readBuffer   = 256 << 10
)

// Large reads between the socket and the multipart parser cost a quarter less CPU than its own.
var (
	readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readBuffer) }}
	buffers = sync.Pool{New: func() any { return new([readBuffer]byte) }}
)

// formReader describes a multipart request with one file.
type formReader struct {
	file   string        // name of the file part
	limit  int64         // bytes of the file
	idle   time.Duration // how long the client may send nothing
	fields map[string]occurrence
	// open is called once, when the file part begins, with the fields that came before it.
	open func(fields map[string][]string) (io.Writer, error)
}

// occurrence says how often a field may come.
type occurrence uint8

const (
	once occurrence = iota + 1
	often
)

// form is a multipart request that was read to its end.
type form struct {
	fields   map[string][]string
	hasFile  bool
	filename string // raw, as the client sent it
	size     int64
}

// get returns the value of a field and whether it was sent.
func (f *form) get(name string) (string, bool) {
	if v := f.fields[name]; len(v) > 0 {
		return v[0], true
	}
	return "", false
}

// read streams the request: fields into memory, the file into the writer that open returns. Parts
// may come in any order; unknown ones are passed over.
func (fr formReader) read(c *gin.Context) (*form, error) {
	if err := fr.boundBody(c); err != nil {
		return nil, err
	}
	conn := http.NewResponseController(c.Writer)
	buf, _ := readers.Get().(*bufio.Reader)
	buf.Reset(watchedBody{c.Request.Body, conn, fr.idle})
	defer func() { buf.Reset(nil); readers.Put(buf) }()
	body := c.Request.Body
	c.Request.Body = struct {
		io.Reader
		io.Closer
	}{buf, body}
	defer func() { c.Request.Body = body }()
	parts, err := c.Request.MultipartReader()
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "invalid_body", "the body must be multipart/form-data with a boundary")
	}
	f := &form{fields: map[string][]string{}}
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return f, finishBody(conn, buf)
		}
		if err != nil {
			return nil, badForm(err)
		}
		if n >= maxParts {
			return nil, fault.New(fault.Invalid, "invalid_body", "the form has more than %d parts", maxParts)
		}
		if err := fr.take(f, part); err != nil {
			return nil, err
		}
	}
}

// watchedBody gives up on a client that sends nothing for too long: it would keep a connection, a
// goroutine and a file for ever.
type watchedBody struct {
	io.Reader
	conn *http.ResponseController
	idle time.Duration
}

// Read implements io.Reader.
func (b watchedBody) Read(p []byte) (int, error) {
	if err := b.conn.SetReadDeadline(time.Now().Add(b.idle)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return b.Reader.Read(p)
}

// finishBody reads what follows the form, which net/http would wait for without end, and lifts the
// deadline: the connection goes on.
func finishBody(conn *http.ResponseController, body io.Reader) error {
	if _, err := io.Copy(io.Discard, body); err != nil {
		return badForm(err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// boundBody refuses a body that announces more than the limit and cuts off one that lies.
func (fr formReader) boundBody(c *gin.Context) error {
	limit := fr.limit + formOverhead
	if c.Request.ContentLength > limit {
		return fileTooLarge(fr.limit)
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, limit)
	return nil
}

func fileTooLarge(limit int64) error {
	return fault.New(fault.Exhausted, codeTooLarge, "the file is larger than %d bytes", limit)
}

// badForm classifies a failure to read the multipart body.
func badForm(err error) error {
	var known *fault.Error
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &tooBig):
		return fileTooLarge(tooBig.Limit - formOverhead)
	default:
		return fault.Wrap(err, fault.Invalid, "invalid_body", "the multipart body is malformed or ended early")
	}
}

func (fr formReader) take(f *form, part *multipart.Part) error {
	name := part.FormName()
	if name != fr.file {
		return fr.takeField(f, name, part)
	}
	if f.hasFile {
		return twice(name)
	}
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return badForm(err)
	}
	f.hasFile, f.filename = true, params["filename"]
	w, err := fr.open(f.fields)
	if err != nil {
		return err
	}
	f.size, err = fr.copy(w, part)
	return err
}

func twice(name string) error {
	return fault.New(fault.Invalid, "invalid_body", "the part %s is given twice", name)
}

func (fr formReader) takeField(f *form, name string, part *multipart.Part) error {
	if fr.fields[name] == 0 {
		_, err := fr.copy(io.Discard, part)
		return err
	}
	value, err := io.ReadAll(io.LimitReader(part, maxFieldSize+1))
	if err != nil {
		return badForm(err)
	}
	if len(value) > maxFieldSize {
		return fault.New(fault.Invalid, "invalid_body", "the part %s is longer than %d bytes", name, maxFieldSize)
	}
	if len(f.fields[name]) > 0 && fr.fields[name] == once {
		return twice(name)
	}
	f.fields[name] = append(f.fields[name], string(value))
	return nil
}

// copy moves the file part, telling failures of the client from those of the writer.
func (fr formReader) copy(w io.Writer, part *multipart.Part) (int64, error) {
	buf, _ := buffers.Get().(*[readBuffer]byte)
	defer buffers.Put(buf)
	var size int64
	for {
		n, err := fill(part, buf[:])
		size += int64(n)
		if size > fr.limit {
			return size, fileTooLarge(fr.limit)
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

// fill reads until p is full or r fails. Unlike io.ReadFull it keeps the error apart: the multipart
// reader reports a body that was cut off by the very error that ReadFull makes of a short read.
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
