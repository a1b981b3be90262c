package request

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/millrace-dev/millrace/api/httperr"
)

// Bounds of JSON bodies. Decoding takes time and memory for each value: a megabyte of empty arrays takes forty times
// its size.
const (
	MaxMembers = 100_000 // values of a body: members of objects and elements of arrays
	maxDepth   = 128     // nested containers
)

// CheckShape refuses JSON with more than members values, or with containers that are nested too deep. It does not
// check that raw is JSON.
func CheckShape(raw []byte, members int) error {
	depth, values := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
		case '{', '[':
			if depth++; depth > maxDepth {
				return httperr.Invalidf("the body nests objects and arrays deeper than %d levels", maxDepth)
			}
			if next := bytes.TrimLeft(raw[i+1:min(i+17, len(raw))], " \t\r\n"); len(next) == 0 || next[0] != '}' && next[0] != ']' {
				values++ // the first member of the container
			}
		case '}', ']':
			depth--
		case ',':
			values++
		}
		if values > members {
			return httperr.Invalidf("the body has more than %d members", members)
		}
	}
	return nil
}

// skipString returns the index of the quote that ends the string that begins at i, or of the last byte.
func skipString(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return i
}

// HasNUL reports whether a string in the JSON contains a NUL character, which the database cannot store.
func HasNUL(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 >= len(raw) {
			return false
		}
		if bytes.HasPrefix(raw[i+1:], []byte("u0000")) {
			return true
		}
		raw = raw[i+2:]
	}
}

// CheckQuery refuses a query that contains a NUL character.
func CheckQuery(r *http.Request) error {
	if !strings.Contains(r.URL.RawQuery, "%00") && strings.IndexByte(r.URL.RawQuery, 0) < 0 {
		return nil
	}
	for name, values := range r.URL.Query() {
		if strings.ContainsRune(name+strings.Join(values, ""), 0) {
			return httperr.Invalidf("the parameter %q must not contain NUL characters", strings.ReplaceAll(name, "\x00", ""))
		}
	}
	return nil
}

// Texts is a list of texts. Unlike []string it refuses null as an element, which would be read as an empty text.
type Texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Texts) UnmarshalJSON(raw []byte) error {
	var list []*string
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	*t = nil
	if list != nil {
		*t = make(Texts, 0, len(list))
	}
	for _, text := range list {
		if text == nil {
			return &json.UnmarshalTypeError{Value: "null", Field: "an element of the list"}
		}
		*t = append(*t, *text)
	}
	return nil
}
