// Package cursor makes the cursors of listings: opaque texts that hold the position at which the next page begins. It
// promises that a listing refuses the cursors of every other listing. Package catalog makes the cursors of the model
// router, which expire.
package cursor

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Listing formats and parses the cursors of one listing; T is the position at which a page ends.
type Listing[T any] struct {
	Kind  string       // begins the content of a cursor, so that a cursor of another listing is recognised
	Valid func(T) bool // reports whether a page can end at this position; nil = a number must be positive
}

// Format returns the cursor of the page after end.
func (l Listing[T]) Format(end T) string {
	raw, err := json.Marshal(end)
	if err != nil {
		panic(err) // the ends of pages are numbers and texts, which always marshal
	}
	return base64.RawURLEncoding.EncodeToString(append([]byte(l.Kind), raw...))
}

// Parse returns the position at which the page of a cursor begins. A cursor that Format did not make is Invalid,
// invalid_cursor.
func (l Listing[T]) Parse(text string) (end T, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	rest, ours := strings.CutPrefix(string(raw), l.Kind)
	if err != nil || !ours {
		return end, invalid()
	}
	d := json.NewDecoder(bytes.NewReader([]byte(rest)))
	d.DisallowUnknownFields()
	if d.Decode(&end) != nil || d.More() || !l.valid(end) {
		var none T
		return none, invalid()
	}
	return end, nil
}

// Read parses a query parameter. Without the parameter, the listing begins at the zero T.
func (l Listing[T]) Read(c *gin.Context, parameter string) (begin T, err error) {
	text, given := c.GetQuery(parameter)
	if !given {
		return begin, nil
	}
	return l.Parse(text)
}

func (l Listing[T]) valid(end T) bool {
	if l.Valid != nil {
		return l.Valid(end)
	}
	n, number := any(end).(int64)
	return !number || n > 0
}

func invalid() error {
	return fault.New(fault.Invalid, fault.CodeInvalidCursor, "the cursor does not belong to this listing")
}
