// Package cursor makes the cursors of listings: opaque texts that say where the next page begins. It promises that a
// cursor of one listing is refused by every other. Cursors of the model router, which end, are made by package catalog.
package cursor

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Listing makes and reads the cursors of one listing, whose pages end at a T.
type Listing[T any] struct {
	Kind  string       // begins what a cursor holds, so that one of another listing is noticed
	Valid func(T) bool // reports whether a page can end there; nil = a number must be positive
}

// Format returns the cursor of the page after end.
func (l Listing[T]) Format(end T) string {
	raw, err := json.Marshal(end)
	if err != nil {
		panic(err) // the ends of pages are numbers and texts, which always marshal
	}
	return base64.RawURLEncoding.EncodeToString(append([]byte(l.Kind), raw...))
}

// Parse returns where the page of a cursor begins. A cursor that Format did not make is Invalid, invalid_cursor.
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

// Read is Parse of a parameter of the query; without it, the listing begins at the zero T.
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
	return fault.New(fault.Invalid, fault.CodeInvalidCursor, "the cursor was not made by this listing")
}
