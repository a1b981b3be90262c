package edge

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
)

// minCompressed is the length from which a body is compressed, in bytes: a shorter one fits a packet or two.
const minCompressed = 2000

// zippers are compressors to be used again: a new one takes a megabyte.
var zippers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is constant
	}
	return w
}}

// Compressed returns a body as it goes to the client: with gzip if that takes it and it is worth it.
func Compressed(c *gin.Context, body []byte) ([]byte, error) {
	if len(body) < minCompressed {
		return body, nil
	}
	c.Header("Vary", "Accept-Encoding")
	if !AcceptsGzip(c.Request) {
		return body, nil
	}
	small, err := zipped(body)
	if err == nil {
		c.Header("Content-Encoding", "gzip")
	}
	return small, err
}

func zipped(body []byte) ([]byte, error) {
	w := zippers.Get().(*gzip.Writer) //nolint:forcetypeassert // the pool has nothing else
	defer zippers.Put(w)
	var b bytes.Buffer
	w.Reset(&b)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// AcceptsGzip reports whether the client takes an answer that is compressed with gzip.
func AcceptsGzip(r *http.Request) bool {
	return slices.ContainsFunc(strings.Split(r.Header.Get("Accept-Encoding"), ","), func(coding string) bool {
		name, quality, _ := strings.Cut(strings.TrimSpace(coding), ";")
		return name == "gzip" && strings.ReplaceAll(quality, " ", "") != "q=0"
	})
}
