package edge

import (
	"net/http"
	"slices"
	"strings"
)

// AcceptsGzip reports whether the client takes an answer that is compressed with gzip.
func AcceptsGzip(r *http.Request) bool {
	return slices.ContainsFunc(strings.Split(r.Header.Get("Accept-Encoding"), ","), func(coding string) bool {
		name, quality, _ := strings.Cut(strings.TrimSpace(coding), ";")
		return name == "gzip" && strings.ReplaceAll(quality, " ", "") != "q=0"
	})
}
