package request

import (
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/httperr"
)

// Bounds of listings.
const (
	maxLimit  = 1000
	maxOffset = 100_000
)

// Limit parses ?limit=. A value below 1 is refused; a value above the maximum of a page becomes the maximum.
func Limit(c *gin.Context, byDefault int) (int, error) {
	text, ok := c.GetQuery("limit")
	if !ok || text == "" {
		return byDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, httperr.Invalidf("limit must be a whole number of at least 1")
	}
	return min(n, maxLimit), nil
}

// Offset parses ?offset=. A negative offset is 0, as in the self-hosted runtime.
func Offset(c *gin.Context) (int, error) {
	text, ok := c.GetQuery("offset")
	if !ok || text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n > maxOffset {
		return 0, httperr.Invalidf("offset must be a whole number up to %d", maxOffset)
	}
	return max(n, 0), nil
}

// Number parses a whole number of the query between least and most. Without the parameter it returns byDefault.
func Number(c *gin.Context, name string, byDefault, least, most int) (int, error) {
	text, ok := c.GetQuery(name)
	if !ok {
		return byDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, httperr.Invalidf("%s must be a number from %d to %d", name, least, most)
	}
	return n, nil
}

// CommaList splits a list of words at its commas. An empty text has no words.
func CommaList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// maxKey bounds an Idempotency-Key, in bytes.
const maxKey = 255

// IdempotencyKey returns the request's Idempotency-Key, or "" without one.
func IdempotencyKey(r *http.Request) (string, error) {
	values, present := r.Header["Idempotency-Key"]
	if !present {
		return "", nil
	}
	if len(values) != 1 || values[0] == "" || len(values[0]) > maxKey || !utf8.ValidString(values[0]) {
		return "", httperr.Invalidf("Idempotency-Key must have 1 to %d bytes of UTF-8", maxKey)
	}
	return values[0], nil
}
