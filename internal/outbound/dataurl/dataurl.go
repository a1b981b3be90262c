// Package dataurl reads and writes data: URLs (RFC 2397).
package dataurl

import (
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// Errors of Parse.
var (
	ErrNoComma = errors.New("it has no comma")
	ErrEscape  = errors.New("its text is not escaped correctly")
	ErrBase64  = errors.New("it is not encoded in base64")
)

// Is reports whether a text begins as a data: URL does, in either case.
func Is(text string) bool {
	return len(text) >= len(scheme) && strings.EqualFold(text[:len(scheme)], scheme)
}

const scheme = "data:"

// Format returns a content as a data: URL. Instead of a media type that says nothing, it has the one that the content looks like.
func Format(mediaType string, content []byte) string {
	media, _, err := mime.ParseMediaType(mediaType)
	if err != nil || media == "application/octet-stream" {
		media, _, _ = strings.Cut(http.DetectContentType(content), ";")
	}
	return scheme + media + ";base64," + base64.StdEncoding.EncodeToString(content)
}

// URL is a data: URL.
type URL struct {
	MediaType string // as it was written, with its parameters; "" = none
	Base64    bool   // the content was written in base64, not as a text
	Content   []byte
}

// Parse reads a text for which Is is true.
func Parse(text string) (URL, error) {
	header, content, ok := strings.Cut(text[len(scheme):], ",")
	if !ok {
		return URL{}, ErrNoComma
	}
	media, encoded := strings.CutSuffix(header, ";base64")
	if !encoded {
		plain, err := url.PathUnescape(content)
		if err != nil {
			return URL{}, ErrEscape
		}
		return URL{MediaType: media, Content: []byte(plain)}, nil
	}
	if strings.Contains(content, "%") {
		content, _ = url.PathUnescape(content) // the rest of the escapes is not base64
	}
	raw, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		return URL{}, ErrBase64
	}
	return URL{MediaType: media, Base64: true, Content: raw}, nil
}
