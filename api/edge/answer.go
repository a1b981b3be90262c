package edge

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

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

// AcceptsGzip reports whether the client takes an answer that is compressed with gzip.
func AcceptsGzip(r *http.Request) bool {
	return slices.ContainsFunc(strings.Split(r.Header.Get("Accept-Encoding"), ","), func(coding string) bool {
		name, quality, _ := strings.Cut(strings.TrimSpace(coding), ";")
		return name == "gzip" && strings.ReplaceAll(quality, " ", "") != "q=0"
	})
}
