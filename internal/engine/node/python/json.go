package python

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf16"
)

// Object is a JSON object whose keys have an order.
type Object struct {
	Keys   []string
	Values map[string]any
}

// JSON writes a value as json.dumps does with an indentation of that many spaces and ensure_ascii=False. The keys of
// an Object keep their order. Keys of a map that are listed in first come first, in that order; the others follow in
// alphabetical order. A value that JSON cannot express becomes the string that Str returns.
func JSON(value any, indent int, first ...string) string {
	w := jsonWriter{indent: strings.Repeat(" ", indent), first: first}
	w.write(value, "\n")
	return w.String()
}

// JSONLine is JSON on one line, as json.dumps writes without an indentation.
func JSONLine(value any, first ...string) string {
	w := jsonWriter{first: first, single: true}
	w.write(value, "")
	return w.String()
}

type jsonWriter struct {
	strings.Builder
	indent string
	first  []string
	single bool // all on one line
}

func (w *jsonWriter) write(value any, line string) {
	switch v := value.(type) {
	case []any:
		w.parts("[]", len(v), line, func(i int, line string) { w.write(v[i], line) })
	case map[string]any:
		w.object(slices.SortedFunc(maps.Keys(v), w.compare), v, line)
	case Object:
		w.object(v.Keys, v.Values, line)
	default:
		w.WriteString(jsonScalar(v))
	}
}

func (w *jsonWriter) object(keys []string, values map[string]any, line string) {
	w.parts("{}", len(keys), line, func(i int, line string) {
		w.WriteString(jsonText(keys[i]) + ": ")
		w.write(values[keys[i]], line)
	})
}

func (w *jsonWriter) compare(a, b string) int {
	place := func(key string) int {
		if i := slices.Index(w.first, key); i >= 0 {
			return i
		}
		return len(w.first)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
}

// parts writes the parts of a list or an object, each on a line of its own or all on one line.
func (w *jsonWriter) parts(brackets string, n int, line string, part func(i int, line string)) {
	if !w.single {
		writeParts(&w.Builder, brackets, n, line, w.indent, part)
		return
	}
	w.WriteString(brackets[:1])
	for i := range n {
		if i > 0 {
			w.WriteString(", ")
		}
		part(i, "")
	}
	w.WriteString(brackets[1:])
}

// writeParts writes the parts of a list or an object between its brackets, each on a line of its own.
func writeParts(b *strings.Builder, brackets string, n int, line, indent string, part func(i int, line string)) {
	if n == 0 {
		b.WriteString(brackets)
		return
	}
	b.WriteString(brackets[:1])
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(line + indent)
		part(i, line+indent)
	}
	b.WriteString(line + brackets[1:])
}

func jsonScalar(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case int, int64:
		return Repr(v)
	case float64:
		return jsonFloat(v)
	case json.Number:
		return JSONNumber(v)
	default:
		return jsonText(Str(v))
	}
}

// JSONNumber renders a number as Python writes it after reading it.
func JSONNumber(n json.Number) string {
	if f, err := n.Float64(); strings.ContainsAny(string(n), ".eE") && (err == nil || math.IsInf(f, 0)) {
		return jsonFloat(f)
	}
	return number(n)
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	default:
		return Float(f)
	}
}

// jsonText renders a string as json.dumps does without ensure_ascii: quotes, backslashes and control characters are escaped.
func jsonText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r >= ' ' && r != '"' && r != '\\' {
			b.WriteRune(r)
			continue
		}
		escaped := JSONString(string(r))
		b.WriteString(escaped[1 : len(escaped)-1])
	}
	b.WriteByte('"')
	return b.String()
}

// JSONString renders a string as json.dumps does: everything but printable ASCII is escaped.
func JSONString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case strings.ContainsRune("\n\r\t\b\f", r):
			b.WriteByte('\\')
			b.WriteByte("nrtbf"[strings.IndexRune("\n\r\t\b\f", r)])
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
