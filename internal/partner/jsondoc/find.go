package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrNoString reports a pointer that does not lead to a string.
var ErrNoString = errors.New("the document has no string at this path")

// Found is a string in a document: its pointer, its value, and the range of its bytes including the quotation marks.
type Found struct {
	Pointer    string
	Value      string
	start, end int
}

// IsObject reports whether body is exactly one JSON object.
func IsObject(body []byte) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsonOptions...)
	if d.PeekKind() != '{' || d.SkipValue() != nil {
		return false
	}
	_, err := d.ReadToken()
	return err == io.EOF //nolint:errorlint // the decoder returns io.EOF unwrapped
}

// Raw returns the exact bytes of the values at JSON pointers; "" is the whole document. Pointers without a value are
// left out. Of a repeated member, the last counts.
func Raw(body []byte, pointers ...string) map[string]json.RawMessage {
	found := map[string]json.RawMessage{}
	w := walker{body: body, patterns: split(pointers), visit: func(path []string, start, end int) error {
		found[pointer(path)] = json.RawMessage(body[start:end])
		return nil
	}}
	if w.run() != nil {
		return nil
	}
	return found
}

// Strings returns the strings of a document whose paths match a pattern: a JSON pointer in which * matches every
// element or member. An error means that the document is not JSON.
func Strings(body []byte, patterns []string) ([]Found, error) {
	var found []Found
	w := walker{body: body, patterns: split(patterns), visit: func(path []string, start, end int) error {
		if body[start] != '"' { // null for a missing result
			return nil
		}
		// the string has been read already: the only error left is ill-formed UTF-8, which is replaced
		value, _ := jsontext.AppendUnquote(nil, body[start:end])
		found = append(found, Found{pointer(path), string(value), start, end})
		return nil
	}}
	return found, w.run()
}

// Replace returns the document with the strings at the pointers replaced and every other byte unchanged. If a pointer
// does not lead to a string, the error is ErrNoString.
func Replace(body []byte, values map[string]string) ([]byte, error) {
	pointers := make([]string, 0, len(values))
	for p := range values {
		pointers = append(pointers, p)
	}
	found, err := Strings(body, escapeStars(pointers))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b Found) int { return a.start - b.start })
	var out bytes.Buffer
	last, done := 0, map[string]bool{}
	for _, f := range found {
		quoted, err := jsontext.AppendQuote(nil, values[f.Pointer])
		if err != nil {
			return nil, fmt.Errorf("the replacement at %s: %w", f.Pointer, err)
		}
		out.Write(body[last:f.start])
		out.Write(quoted)
		last, done[f.Pointer] = f.end, true
	}
	for _, p := range pointers {
		if !done[p] {
			return nil, fmt.Errorf("%s: %w", p, ErrNoString)
		}
	}
	out.Write(body[last:])
	return out.Bytes(), nil
}

// literalStar stands for a member named "*". In patterns, a plain * matches every member.
const literalStar = "\x00*"

func escapeStars(pointers []string) []string {
	escaped := make([]string, len(pointers))
	for i, p := range pointers {
		steps := strings.Split(p, "/")
		for j, step := range steps {
			if step == "*" {
				steps[j] = literalStar
			}
		}
		escaped[i] = strings.Join(steps, "/")
	}
	return escaped
}

var (
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
)

func split(pointers []string) [][]string {
	all := make([][]string, len(pointers))
	for i, p := range pointers {
		for step := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
			if p != "" {
				all[i] = append(all[i], step)
			}
		}
	}
	return all
}

func pointer(path []string) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteByte('/')
		b.WriteString(escape.Replace(step))
	}
	return b.String()
}

// walker visits the values of a document that match a pattern.
type walker struct {
	body     []byte
	patterns [][]string
	visit    func(path []string, start, end int) error
	path     []string
}

func (w *walker) run() error {
	d := jsontext.NewDecoder(bytes.NewBuffer(w.body), jsonOptions...)
	return w.value(d)
}

// value visits the next value, descends into it, or skips it, as the patterns require.
func (w *walker) value(d *jsontext.Decoder) error {
	ends, passes := w.match()
	switch {
	case ends && passes: // patterns match the value and a part of it: the part is read from the value's bytes
		return w.both(d)
	case ends:
		raw, err := d.ReadValue()
		if err != nil {
			return err
		}
		end := int(d.InputOffset())
		return w.visit(w.path, end-len(raw), end)
	case !passes || len(w.path) > MaxDepth:
		return d.SkipValue()
	}
	switch d.PeekKind() {
	case '{', '[':
		return w.inside(d)
	default:
		return d.SkipValue()
	}
}

func (w *walker) both(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	end := int(d.InputOffset())
	start := end - len(raw)
	if err := w.visit(w.path, start, end); err != nil {
		return err
	}
	if raw.Kind() != '{' && raw.Kind() != '[' {
		return nil
	}
	inner := walker{body: w.body[start:end], patterns: w.patterns, path: w.path, visit: func(path []string, s, e int) error {
		return w.visit(path, start+s, start+e)
	}}
	return inner.inside(jsontext.NewDecoder(bytes.NewBuffer(inner.body), jsonOptions...))
}

// inside visits the members of the object or array that comes next.
func (w *walker) inside(d *jsontext.Decoder) error {
	open, err := d.ReadToken()
	if err != nil {
		return err
	}
	closing := open.Kind() + 2 // in ASCII, '}' and ']' are two after '{' and '['
	for i := 0; d.PeekKind() != closing; i++ {
		step := strconv.Itoa(i)
		if closing == '}' {
			name, err := d.ReadToken()
			if err != nil {
				return err
			}
			step = name.String()
		}
		w.path = append(w.path, step)
		err := w.value(d)
		w.path = w.path[:len(w.path)-1]
		if err != nil {
			return err
		}
	}
	_, err = d.ReadToken()
	return err
}

// match reports whether a pattern ends at the current path, and whether one continues below it.
func (w *walker) match() (ends, passes bool) {
	for _, pattern := range w.patterns {
		if len(pattern) < len(w.path) || !covers(pattern, w.path) {
			continue
		}
		if len(pattern) == len(w.path) {
			ends = true
		} else {
			passes = true
		}
	}
	return ends, passes
}

func covers(pattern, path []string) bool {
	for i, step := range path {
		switch p := pattern[i]; {
		case p == "*":
		case p == literalStar && step == "*":
		case unescape.Replace(p) != step:
			return false
		}
	}
	return true
}
