// Package jsondoc reads JSON documents whose bytes belong to somebody else: a caller's body, a
// provider's result. It looks at them, finds values with their exact bytes, and replaces single
// strings; every other byte stays as it came. It knows nothing of what the documents mean.
package jsondoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth bounds the nesting of a document; deeper ones cannot be read.
const MaxDepth = 200

// Bounds of what is kept of a document.
const (
	cutString = 4 << 10 // longer strings are cut: no expression needs a picture
)

// jsonOptions reads what providers and callers really send: repeated member names (the last
// counts) and ill-formed UTF-8 are theirs to pass on.
var jsonOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Skeleton decodes one JSON document and nothing after it, with every string cut at 4 KiB, so
// that a document with a film inside stays small. Numbers are int where they are whole, float64
// otherwise. An error means that the bytes are not one JSON document.
func Skeleton(r io.Reader) (any, error) {
	return decode(reader{jsontext.NewDecoder(r, jsonOptions...), cutString})
}

// Whole is Skeleton with every string as it is, for documents that are written anew: a translated
// body must not lose the picture inside. The caller bounds body.
func Whole(body []byte) (any, error) {
	return decode(reader{jsontext.NewDecoder(bytes.NewBuffer(body), jsonOptions...), len(body)})
}

// Readable reports whether Skeleton can read a document that is known to be JSON: it is not nested too deep. It
// counts brackets and keeps nothing.
func Readable(document []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(document); i++ {
		switch c := document[i]; {
		case quoted && c == '\\':
			i++ // whatever is escaped ends no string
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

// Unambiguous reports whether no object of a document that is known to be JSON has two members of one name,
// however they are escaped. Of two members readers take the first, the last or none, and each rightly so.
func Unambiguous(document []byte) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(document), jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(true))
	return d.SkipValue() == nil
}

func decode(d reader) (any, error) {
	value, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); err != io.EOF { //nolint:errorlint // the decoder returns io.EOF itself
		return nil, fmt.Errorf("there is something after the document")
	}
	return value, nil
}

// reader decodes with strings cut at a length in bytes.
type reader struct {
	*jsontext.Decoder
	cut int
}

func (d reader) value(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("the document is nested deeper than %d", MaxDepth)
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
		return d.short(token.String()), nil
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
		key := d.short(name.String())
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

func (d reader) short(s string) string {
	if len(s) <= d.cut {
		return s
	}
	return string([]byte(s[:d.cut])) // a copy: the long one can go
}

func number(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil
	}
	return f // out of range: the nearest, an infinity
}
