package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

const requestIDKey = "millrace.request_id"

// requestID returns the id that identify gave to the request.
func requestID(c *gin.Context) string { return c.GetString(requestIDKey) }

// identify gives each request an id of ours, which every answer carries, and
// writes the access log.
func (s *server) identify(c *gin.Context) {
	id := uuid.NewString()
	c.Set(requestIDKey, id)
	c.Header("X-Request-Id", id)
	c.Header("X-Content-Type-Options", "nosniff")
	setRouterID(c)
	start := time.Now()
	c.Next()
	if !s.log.Enabled(c.Request.Context(), slog.LevelDebug) {
		return
	}
	s.log.Debug("request", "request_id", id, "method", c.Request.Method, "path", c.Request.URL.Path,
		"query", redact(c.Request.URL), "status", c.Writer.Status(), "bytes", c.Writer.Size(), "duration", time.Since(start))
}

// redact returns the query of u without the secrets that may stand in it: the
// WebSocket token and the signature of content URLs.
func redact(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	q := u.Query()
	for _, name := range []string{"token", "sig", "signature"} {
		if q.Has(name) {
			q.Set(name, "redacted")
		}
	}
	return q.Encode()
}

// recoverPanic answers a panicking handler in the surface's envelope and keeps serving.
func (s *server) recoverPanic(c *gin.Context) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if err, ok := r.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(r) // net/http's own way to drop a connection
		}
		s.log.Error("handler panicked", "request_id", requestID(c), "stack", string(debug.Stack()))
		s.fail(c, fmt.Errorf("panic: %v", r))
	}()
	c.Next()
}
