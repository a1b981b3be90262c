package openapitest

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
)

// maxRecorded bounds the part of a body that is recorded. Of a longer body, only the status and the type are checked.
const maxRecorded = 8 << 20

// recorder passes an answer on and records a copy.
type recorder struct {
	http.ResponseWriter
	status   int
	wrote    bool
	body     bytes.Buffer
	cut      bool
	hijacked bool
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if !r.wrote && status >= http.StatusOK {
		r.status, r.wrote = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	r.wrote = true
	if r.body.Len()+len(p) > maxRecorded {
		r.cut = true
	} else {
		r.body.Write(p)
	}
	n, err := r.ResponseWriter.Write(p)
	if err != nil {
		r.cut = true
	}
	return n, err
}

// Flush implements http.Flusher, for callers that do not unwrap.
func (r *recorder) Flush() {
	if err := http.NewResponseController(r.ResponseWriter).Flush(); err != nil {
		r.cut = true
	}
}

// Hijack implements http.Hijacker.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	r.hijacked = true
	return http.NewResponseController(r.ResponseWriter).Hijack()
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
