// Package jsondoc reads JSON documents that must be passed on byte for byte: a caller's body, a provider's result. It
// finds values with their exact bytes and replaces single strings; every other byte stays unchanged. The meaning of
// the documents is left to callers.
package jsondoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth bounds the nesting of a document. Deeper documents are not read.
const MaxDepth = 200

// Bounds of a document in memory.
const (
	cutString = 4 << 10 // longer strings are cut, because no expression reads a picture
)

// jsonOptions accepts documents that providers and callers send in practice: with repeated member names, of which the
// last counts, and with ill-formed UTF-8.
var jsonOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Skeleton decodes exactly one JSON document. Strings are cut at 4 KiB, so that a document with an embedded film
// stays small in memory. Whole numbers become int, others float64. An error means that the bytes are not one JSON
// document.
func Skeleton(r io.Reader) (any, error) {
	return decode(reader{jsontext.NewDecoder(r, jsonOptions...), cutString})
}

// Whole decodes one JSON document without cutting strings, for documents that are written again: a translated body
// keeps its embedded picture. The caller bounds the size of body.
func Whole(body []byte) (any, error) {
	return decode(reader{jsontext.NewDecoder(bytes.NewBuffer(body), jsonOptions...), len(body)})
}

// Readable reports whether a document that is known to be JSON is nested no deeper than Skeleton can read. It counts
// brackets and allocates nothing.
func Readable(document []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(document); i++ {
		switch c := document[i]; {
		case quoted && c == '\\':
			i++ // an escaped character does not end the string
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}

// Unambiguous reports whether every object of a document that is known to be JSON has distinct member names after
// unescaping. RFC 8259 does not define which of two members of the same name a reader uses.
func Unambiguous(document []byte) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(document), jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(true))
	return d.SkipValue() == nil
}

func decode(d reader) (any, error) {
	value, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); err != io.EOF { //nolint:errorlint // the decoder returns io.EOF unwrapped
		return nil, fmt.Errorf("the document is followed by further data")
	}
	return value, nil
}

// reader decodes a document and cuts its strings at a length in bytes.
type reader struct {
	*jsontext.Decoder
	cut int
}

func (d reader) value(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("the document is nested deeper than %d levels", MaxDepth)
	}
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return d.object(depth)
	case '[':
		return d.array(depth)
	case '"':
		return d.truncate(token.String()), nil
	case '0':
		return number(token.String()), nil
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil
	}
}

func (d reader) object(depth int) (any, error) {
	object := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := d.truncate(name.String())
		if object[key], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return object, err
}

func (d reader) array(depth int) (any, error) {
	array := []any{}
	for d.PeekKind() != ']' {
		value, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := d.ReadToken()
	return array, err
}

func (d reader) truncate(s string) string {
	if len(s) <= d.cut {
		return s
	}
	return string([]byte(s[:d.cut])) // a copy, so that the long string can be freed
}

func number(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil
	}
	return f // out of range: infinity
}
