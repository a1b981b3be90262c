package edge

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

	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/fault"
)

const requestIDKey = "millrace.request_id"

// RequestID returns the id that identify gave to the request.
func RequestID(c *gin.Context) string { return c.GetString(requestIDKey) }

// identify gives each request an id, which every answer carries, and writes the access log.
func (e *Edge) identify(c *gin.Context) {
	id := uuid.NewString()
	c.Set(requestIDKey, id)
	c.Header("X-Request-Id", id)
	c.Header("X-Content-Type-Options", "nosniff")
	if d := e.dialect(c.Request.URL.Path); d != nil {
		d.Begin(c)
	}
	start := time.Now()
	c.Next()
	if !e.Logger.Enabled(c.Request.Context(), slog.LevelDebug) {
		return
	}
	e.Logger.Debug("request", "request_id", id, "method", c.Request.Method, "path", c.Request.URL.Path,
		"query", redact(c.Request.URL), "status", c.Writer.Status(), "bytes", c.Writer.Size(), "duration", time.Since(start))
}

// redact returns the query of u without secrets: the token of a WebSocket and the signature of a content URL.
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

// recoverPanic answers for a handler that panicked, with an error in the envelope of the surface.
func (e *Edge) recoverPanic(c *gin.Context) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if err, ok := r.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(r) // net/http drops the connection
		}
		e.Logger.Error("handler panicked", "request_id", RequestID(c), "stack", string(debug.Stack()))
		e.fail(c, fmt.Errorf("panic: %v", r))
	}()
	c.Next()
}

// fail answers with err in the envelope of the path's surface and logs internal failures.
func (e *Edge) fail(c *gin.Context, err error) {
	if d := e.dialect(c.Request.URL.Path); d != nil {
		d.Fail(c, err)
		return
	}
	err = httperr.Classify(err)
	where := httperr.SurfaceOf(c.Request.URL.Path)
	status, code := httperr.Verdict(where, err)
	level := slog.LevelDebug
	if status >= http.StatusInternalServerError && fault.KindOf(err) != fault.Canceled && !httperr.RefusedByOperator(code) {
		level = slog.LevelError
	}
	if e.LogFailure(c, level, status, string(code), err) {
		return
	}
	httperr.SetHeaders(c.Writer.Header(), status, err)
	c.AbortWithStatusJSON(status, httperr.Envelope(where, status, code, err))
}

// LogFailure logs a failed request. It reports whether the answer has begun, in which case no error can be sent.
func (e *Edge) LogFailure(c *gin.Context, level slog.Level, status int, code string, err error) (begun bool) {
	e.Logger.Log(c.Request.Context(), level, "request failed", "request_id", RequestID(c), "method", c.Request.Method,
		"path", c.Request.URL.Path, "status", status, "code", code, "error", err)
	if c.Writer.Written() {
		c.Abort()
		return true
	}
	return false
}
