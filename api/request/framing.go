package request

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"time"
)

// RefuseAmbiguous returns a listener whose connections refuse a request that has both Content-Length and
// Transfer-Encoding. net/http uses the latter and ignores the former, while a proxy in front may have used the
// former. The two then disagree on where the next request begins, and a client can hide a request in a body. RFC
// 9112, section 6.3, lets a server refuse such a request. The refusal is net/http's answer to a malformed header:
// 400, and the connection ends.
func RefuseAmbiguous(l net.Listener) net.Listener { return framedListener{l} }

type framedListener struct{ net.Listener }

// Accept implements net.Listener.
func (l framedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &framedConn{Conn: conn}, nil
}

// framedConn follows the requests of a connection. After an upgrade it still follows the bytes, which are not
// requests; they pass unless they look like an ambiguous request.
type framedConn struct {
	net.Conn
	requests framing
}

// Read implements net.Conn.
func (c *framedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.requests.follow(p[:n])
	return n, err
}

// ReadFrom implements io.ReaderFrom, so that the kernel sends files.
func (c *framedConn) ReadFrom(r io.Reader) (int64, error) {
	if to, ok := c.Conn.(io.ReaderFrom); ok {
		return to.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, r)
}

// CloseWrite closes the writing side, so that a client reads a refusal before the connection ends.
func (c *framedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// When a request is refused while its client still sends, the connection is read for a while before it is closed: the
// system would reset a connection with unread bytes, and the client might not read the refusal.
const (
	drainTime  = 500 * time.Millisecond
	drainBytes = 256 << 10
)

// Close implements net.Conn.
func (c *framedConn) Close() error {
	if !c.requests.refused {
		return c.Conn.Close()
	}
	err := errors.Join(c.CloseWrite(), c.Conn.SetReadDeadline(time.Now().Add(drainTime)))
	go func() {
		_, _ = io.CopyN(io.Discard, c.Conn, drainBytes) // the data is not used
		_ = c.Conn.Close()                              // the client has left, or its time is up
	}()
	return err
}

// part is a part of a request.
type part uint8

const (
	startLine part = iota
	headers
	body
	chunkSize
	chunk
	trailers
)

// framing is the parser's position in the requests of a connection.
type framing struct {
	part    part
	line    []byte // the first bytes of the current line
	named   bool   // the name of a framing header in this line was counted
	skip    int64  // remaining bytes of a body or a chunk
	length  int64
	sized   bool // the request has a Content-Length
	chunked bool // the request has a Transfer-Encoding
	refused bool // a request was turned into a malformed one
}

// maxLine bounds the bytes that are kept of a line. The relevant names and values are shorter.
const maxLine = 64

// follow reads p, and turns the second framing header of a request into a malformed one.
func (f *framing) follow(p []byte) {
	for len(p) > 0 {
		if f.part == body || f.part == chunk {
			n := min(f.skip, int64(len(p)))
			if f.skip -= n; f.skip == 0 {
				f.finish()
			}
			p = p[n:]
			continue
		}
		b := p[0]
		if b == ':' && f.part == headers && f.isAmbiguous() {
			p[0], f.refused = ' ', true // a header without a colon is malformed
		}
		p = p[1:]
		if b == '\n' {
			f.endLine(bytes.TrimSuffix(f.line, []byte("\r")))
			f.line, f.named = f.line[:0], false
		} else if len(f.line) < maxLine {
			f.line = append(f.line, b)
		}
	}
}

// isAmbiguous counts the header whose name ends here, and reports whether it is the second framing header of the
// request.
func (f *framing) isAmbiguous() bool {
	if f.named {
		return false
	}
	f.named = true
	name := bytes.TrimSpace(f.line)
	f.sized = f.sized || bytes.EqualFold(name, []byte("Content-Length"))
	f.chunked = f.chunked || bytes.EqualFold(name, []byte("Transfer-Encoding"))
	return f.sized && f.chunked
}

func (f *framing) endLine(line []byte) {
	switch f.part {
	case startLine:
		if len(line) > 0 { // net/http does not skip empty lines before a request; other servers do
			f.part = headers
		}
	case headers:
		f.endHeader(line)
	case chunkSize:
		digits, _, _ := bytes.Cut(line, []byte(";"))
		size, err := strconv.ParseInt(string(bytes.TrimSpace(digits)), 16, 62)
		if f.part = trailers; err == nil && size > 0 {
			f.part, f.skip = chunk, size+2 // plus the line end after the chunk
		}
	case trailers:
		if len(line) == 0 {
			*f = framing{line: f.line, refused: f.refused}
		}
	case body, chunk:
	}
}

func (f *framing) endHeader(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case len(line) > 0:
		if bytes.EqualFold(bytes.TrimSpace(name), []byte("Content-Length")) {
			f.length, _ = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 63) // net/http refuses other values
		}
	case f.chunked:
		f.part = chunkSize
	case f.length > 0:
		f.part, f.skip = body, f.length
	default:
		*f = framing{line: f.line, refused: f.refused}
	}
}

// finish continues after a body or a chunk.
func (f *framing) finish() {
	if f.part == chunk {
		f.part = chunkSize
		return
	}
	*f = framing{line: f.line, refused: f.refused}
}
