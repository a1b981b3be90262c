// Package python writes values as Python's str, repr, str.format and json.dumps do, character for character.
// Conversions in graphs, error texts and the results of text nodes depend on these forms. The package does not parse
// Python code.
package python

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Str renders a value as str does: a string unchanged, anything else as Repr does.
func Str(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	return Repr(value)
}

// Repr renders nil, booleans, numbers, strings, lists and objects as repr does. Objects have
// their keys in alphabetical order.
func Repr(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int:
		return strconv.Itoa(v)
	case uint64:
		return strconv.FormatUint(v, 10)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return Float(v)
	case json.Number:
		return number(v)
	case string:
		return Quote(v)
	case []string:
		return joined("[", "]", len(v), func(i int) string { return Quote(v[i]) })
	case []any:
		return joined("[", "]", len(v), func(i int) string { return Repr(v[i]) })
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		return joined("{", "}", len(keys), func(i int) string { return Quote(keys[i]) + ": " + Repr(v[keys[i]]) })
	default:
		return fmt.Sprint(v)
	}
}

func joined(open, end string, n int, part func(int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = part(i)
	}
	return open + strings.Join(parts, ", ") + end
}

// number renders a JSON number as Python prints it after reading it.
func number(n json.Number) string {
	if !strings.ContainsAny(string(n), ".eE") {
		if n == "-0" {
			return "0"
		}
		return string(n)
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil && !math.IsInf(f, 0) {
		return string(n)
	}
	return Float(f)
}

// Float writes a float with the fewest digits that read back equal, positional between 1e-4 and 1e16, and always with a
// decimal point or an exponent.
func Float(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if abs := math.Abs(f); f != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// Quote renders a string literal: in single quotes, or in double quotes if the string contains only single quotes.
func Quote(s string) string {
	mark := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		mark = '"'
	}
	var b strings.Builder
	b.WriteRune(mark)
	for _, r := range s {
		b.WriteString(escaped(r, mark))
	}
	b.WriteRune(mark)
	return b.String()
}

func escaped(r, mark rune) string {
	switch {
	case r == mark || r == '\\':
		return `\` + string(r)
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r == ' ' || unicode.IsPrint(r):
		return string(r)
	case r <= 0xff:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}

// ascii escapes characters beyond ASCII in a literal.
func ascii(literal string) string {
	var b strings.Builder
	for _, r := range literal {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}
