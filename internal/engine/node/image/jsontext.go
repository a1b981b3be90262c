package image

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

// asciiJSON writes JSON as ComfyUI does in files: keys in their order, ", " and ": " as separators, characters beyond
// ASCII escaped, numbers in their shortest form.
func asciiJSON(raw json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	w := &jsonWriter{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && len(w.open) == 0 && w.count > 0 {
			return w.out.String(), nil
		}
		if err != nil {
			return "", fault.Wrap(err, fault.Invalid, fault.CodeMetadataJSON, "the metadata to save is not JSON")
		}
		w.token(token)
	}
}

// jsonWriter writes a stream of tokens.
type jsonWriter struct {
	out   strings.Builder
	open  []level
	count int // values at the top level
}

// level is an object or array that is not closed yet.
type level struct {
	object bool
	tokens int
}

func (w *jsonWriter) token(t json.Token) {
	if d, ok := t.(json.Delim); ok && (d == '}' || d == ']') {
		w.open = w.open[:len(w.open)-1]
		w.out.WriteString(d.String())
		return
	}
	w.separate()
	switch v := t.(type) {
	case json.Delim:
		w.open = append(w.open, level{object: v == '{'})
		w.out.WriteString(v.String())
	case string:
		w.out.WriteString(python.JSONString(v))
	case nil:
		w.out.WriteString("null")
	case json.Number:
		w.out.WriteString(python.JSONNumber(v))
	default: // bool
		fmt.Fprint(&w.out, v)
	}
}

// separate writes the separator between the previous token and the next one.
func (w *jsonWriter) separate() {
	if len(w.open) == 0 {
		w.count++
		return
	}
	l := &w.open[len(w.open)-1]
	switch {
	case l.tokens == 0:
	case l.object && l.tokens%2 == 1:
		w.out.WriteString(": ")
	default:
		w.out.WriteString(", ")
	}
	l.tokens++
}
