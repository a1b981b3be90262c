package edge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/rs/cors"

	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/domain/account"
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

// redact returns the query of u without secrets: the token of a WebSocket, the signature of a content URL, and whatever
// a client sends in a parameter that no route reads, such as a key. It counts these instead of naming them.
func redact(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	q, hidden := u.Query(), 0
	for name := range q {
		if !slices.Contains(loggedParameters, name) {
			q.Del(name)
			hidden++
		}
	}
	if hidden > 0 {
		q.Set("redacted", strconv.Itoa(hidden))
	}
	return q.Encode()
}

// loggedParameters are the query parameters whose values the log shows.
var loggedParameters = []string{
	"after", "all", "before", "channel", "clientId", "cursor", "dir", "disposition", "exp", "fallback_provider", "filename", "full_info",
	"group", "limit", "max_items", "model_provider", "node", "offset", "order", "output_type", "overwrite", "path", "preview", "range",
	"recurse", "reject_unknown_fields", "sort", "sort_by", "sort_order", "split", "status", "strict_mode", "subfolder", "type", "workflow_id",
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

// guardHost protects a server without credentials from web pages: a foreign Host is a rebound DNS name, a foreign
// Origin is a script of another site. It also checks WebSocket upgrades.
func (e *Edge) guardHost(c *gin.Context) {
	if e.opts.Mode != account.ModeNone {
		return
	}
	r := c.Request
	switch {
	case !e.hostAllowed(r.Host):
		e.fail(c, fault.New(fault.Denied, fault.CodeForbidden, "this Host is not served without authentication"))
	case !e.OriginAllowed(r):
		e.fail(c, fault.New(fault.Denied, fault.CodeForbidden, "requests from other sites are not served without authentication"))
	}
}

// shareWith lets scripts of web pages of the origins read answers. They must send their credential in a header:
// cookies are not accepted from them.
func (e *Edge) shareWith(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		},
		AllowedHeaders: []string{"*"}, ExposedHeaders: []string{"*"},
		AllowPrivateNetwork: true, // the operator has named the origins, which may be pages of the internet
		MaxAge:              int((10 * time.Minute).Seconds()),
	}).Handler(next)
}

func (e *Edge) hostAllowed(host string) bool {
	name := hostname(host)
	return e.opts.AnyHost || isLoopback(name) || e.public != nil && strings.EqualFold(name, e.public.Hostname())
}

// OriginAllowed reports whether a request comes from a page that may call the service, or from no page.
func (e *Edge) OriginAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		// Without an Origin, the request is not from a script, but a page may embed or link this address. Following a
		// link is allowed; any other request from another site is not.
		return r.Header.Get("Sec-Fetch-Site") != "cross-site" ||
			(r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate")
	}
	if slices.Contains(e.opts.AllowedOrigins, origin) || slices.Contains(e.opts.AllowedOrigins, "*") {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" { // the origin "null" has no host
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || (e.public != nil && strings.EqualFold(u.Host, e.public.Host))
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func isLoopback(name string) bool {
	if strings.EqualFold(name, "localhost") || strings.HasSuffix(strings.ToLower(name), ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}

// BaseURL returns the base of absolute links in the answer to r, without a trailing slash. Below the path of a deployment, links
// stay there.
func (e *Edge) BaseURL(r *http.Request) string {
	m, _ := mountOf(r)
	return e.serviceURL(r) + m.path
}

// serviceURL returns the base of absolute links of the whole service: the configured public URL,
// or else the request's own address. Forwarded headers are used only if a trusted proxy sent them.
func (e *Edge) serviceURL(r *http.Request) string {
	if e.public != nil {
		return e.public.String()
	}
	scheme, host, prefix := "http", r.Host, ""
	if r.TLS != nil {
		scheme = "https"
	}
	if e.trusted(r.RemoteAddr) {
		if proto := nearest(r.Header.Get("X-Forwarded-Proto")); proto == "http" || proto == "https" {
			scheme = proto
		}
		if h := nearest(r.Header.Get("X-Forwarded-Host")); h != "" {
			host = h
		}
		prefix = strings.TrimRight(nearest(r.Header.Get("X-Forwarded-Prefix")), "/")
	}
	return (&url.URL{Scheme: scheme, Host: host, Path: prefix}).String()
}

func (e *Edge) trusted(remoteAddr string) bool {
	addr, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return false
	}
	ip := addr.Addr().Unmap()
	return slices.ContainsFunc(e.opts.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// nearest returns the last value of a comma-separated list, which the trusted proxy wrote. The client may have forged
// the values before it.
func nearest(list string) string {
	return strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
}

// timeLayout is RFC 3339 with milliseconds and Z. The strictest client library accepts only this form.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Timestamp renders a time in the form of every surface: UTC, milliseconds, ending in Z.
func Timestamp(t time.Time) string { return t.UTC().Format(timeLayout) }

// TimestampOrNil is Timestamp of a time that may be unknown.
func TimestampOrNil(t *time.Time) *string {
	if t == nil {
		return nil
	}
	text := Timestamp(*t)
	return &text
}

// Of returns the handler of a route about one thing, such as a job, which find reads from the path of a request.
func Of[T any](find func(*gin.Context) (T, error), handle func(*gin.Context, T) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		found, err := find(c)
		if err != nil {
			return err
		}
		return handle(c, found)
	}
}

// OK answers 200 with a body, unless there is an error, which it returns.
func OK(c *gin.Context, body any, err error) error { return Answer(c, http.StatusOK, body, err) }

// Answer is OK with another status.
func Answer(c *gin.Context, status int, body any, err error) error {
	if err == nil {
		c.PureJSON(status, body)
	}
	return err
}

// JSON returns a body in the form of PureJSON: people can copy the addresses in it.
func JSON(body any) ([]byte, error) {
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false)
	err := e.Encode(body)
	return raw.Bytes(), err
}

// Deliver is Answer for an answer that is given once. It reports whether the whole answer was handed to the connection of a
// client that was there before. A client that leaves as soon as it has the answer got it.
func Deliver(c *gin.Context, status int, body any) (delivered bool, err error) {
	raw, err := JSON(body)
	if err != nil {
		return false, err
	}
	c.Header("Content-Length", strconv.Itoa(len(raw)))
	gone := c.Request.Context().Err() != nil
	c.Data(status, "application/json; charset=utf-8", raw)
	return Flush(c) == nil && !gone, nil
}

// Flush hands what was written to the connection, and returns its error, which gin's writer hides.
func Flush(c *gin.Context) error {
	w := http.ResponseWriter(c.Writer)
	if outer, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		w = outer.Unwrap()
	}
	return http.NewResponseController(w).Flush()
}

// NoContent answers 204.
func NoContent(c *gin.Context) { writeStatus(c, http.StatusNoContent) }

// Redirect answers 302 with a link for this caller only, which no cache may keep.
func Redirect(c *gin.Context, link string) {
	c.Header("Location", link)
	c.Header("Cache-Control", "private, no-store")
	writeStatus(c, http.StatusFound)
}

// Unchanged answers 304 if the caller has the version that etag names.
func Unchanged(c *gin.Context, etag string) bool {
	if !etagMatches(strings.Join(c.Request.Header.Values("If-None-Match"), ","), etag) {
		return false
	}
	writeStatus(c, http.StatusNotModified)
	return true
}

func writeStatus(c *gin.Context, status int) {
	c.Status(status)
	c.Writer.WriteHeaderNow()
}

func etagMatches(header, etag string) bool {
	return slices.ContainsFunc(strings.Split(header, ","), func(candidate string) bool {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		return candidate == etag || candidate == "*"
	})
}

// ETag returns the entity tag of a body.
func ETag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// SetWriteTimeout bounds the time in which the client must accept the following writes; 0 removes the bound. A caller
// must remove the bound at the end: net/http keeps it on the connection for the next requests.
func SetWriteTimeout(out *http.ResponseController, limit time.Duration) error {
	until := time.Time{}
	if limit > 0 {
		until = time.Now().Add(limit)
	}
	if err := out.SetWriteDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
