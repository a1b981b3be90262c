package python

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxWidth bounds the width and precision of one field.
const maxWidth = 10_000

// ErrTooLong reports a result beyond its bound.
var ErrTooLong = errors.New("the result is too long")

// Format fills a template as str.format does: {name}, {name.attribute}, {name[element]}, {name!r}, {name:spec}, fields in a spec, and
// doubled braces. Values are nil, bool, int64, float64, string, lists and objects. A failure is an Exception, or ErrTooLong for a
// result of more than limit bytes.
func Format(template string, values map[string]any, limit int) (string, error) {
	return format(template, values, limit, maxFields)
}

// maxFields bounds nested fields.
const maxFields = 2

func format(template string, values map[string]any, limit, levels int) (string, error) {
	if levels == 0 {
		return "", Raise("ValueError", "Max string recursion exceeded")
	}
	var b strings.Builder
	for rest := template; rest != ""; {
		if b.Len() > limit {
			return "", ErrTooLong
		}
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i])
		brace := rest[i]
		rest = rest[i+1:]
		switch {
		case rest != "" && rest[0] == brace:
			b.WriteByte(brace)
			rest = rest[1:]
		case brace == '}' || rest == "":
			return "", Raise("ValueError", "Single '%c' encountered in format string", brace)
		default:
			f, size, err := parseField(rest)
			if err != nil {
				return "", err
			}
			text, err := f.format(values, levels-1)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
			rest = rest[size:]
		}
	}
	if b.Len() > limit {
		return "", ErrTooLong
	}
	return b.String(), nil
}

// field is a field of a template between its braces.
type field struct {
	name, spec string
	conversion rune // 0 = none
}

// parseField reads a field behind its brace. size includes the brace that closes the field.
func parseField(text string) (f field, size int, err error) {
	end := 0
	for inElement := false; end < len(text); end++ {
		c := text[end]
		if inElement = c == '[' || inElement && c != ']'; inElement {
			continue
		}
		if c == '{' {
			return f, 0, Raise("ValueError", "unexpected '{' in field name")
		}
		if c == '}' || c == ':' || c == '!' {
			break
		}
	}
	if end == len(text) {
		return f, 0, Raise("ValueError", "expected '}' before end of string")
	}
	f.name = text[:end]
	at := end + 1
	if text[end] == '}' {
		return f, at, nil
	}
	if text[end] == '!' {
		var n int
		if f.conversion, n = utf8.DecodeRuneInString(text[at:]); n == 0 {
			return f, 0, Raise("ValueError", "end of string while looking for conversion specifier")
		}
		if at += n; at < len(text) {
			at++
			switch text[at-1] {
			case '}':
				return f, at, nil
			case ':':
			default:
				return f, 0, Raise("ValueError", "expected ':' after conversion specifier")
			}
		}
	}
	n := fieldEnd(text[at:])
	if n < 0 {
		return f, 0, Raise("ValueError", "unmatched '{' in format spec")
	}
	f.spec = text[at : at+n]
	return f, at + n + 1, nil
}

// fieldEnd returns the index of the brace that closes a field, or -1.
func fieldEnd(text string) int {
	open := 1
	for i := range len(text) {
		switch text[i] {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}

func (f field) format(values map[string]any, levels int) (string, error) {
	value, err := f.value(values)
	if err != nil {
		return "", err
	}
	switch f.conversion {
	case 0:
	case 's':
		value = Str(value)
	case 'r':
		value = Repr(value)
	case 'a':
		value = ascii(Repr(value))
	default:
		return "", Raise("ValueError", "Unknown conversion specifier %c", f.conversion)
	}
	spec := f.spec
	if strings.ContainsAny(spec, "{}") {
		if spec, err = format(spec, values, maxSpec, levels); err != nil {
			return "", err
		}
	}
	return formatValue(value, spec)
}

// value returns the value of a name, or an element of it. No value has attributes that a template needs.
func (f field) value(values map[string]any) (any, error) {
	end := strings.IndexAny(f.name, ".[")
	if end < 0 {
		end = len(f.name)
	}
	name, rest := f.name[:end], f.name[end:]
	if n, err := strconv.Atoi("0" + name); err == nil {
		return nil, Raise("IndexError", "Replacement index %d out of range for positional args tuple", n)
	}
	value, ok := values[name]
	if !ok {
		return nil, Raise("KeyError", "%s", Quote(name))
	}
	for rest != "" {
		if rest[0] != '.' && rest[0] != '[' {
			return nil, Raise("ValueError", "Only '.' or '[' may follow ']' in format field specifier")
		}
		key, after, closed := strings.Cut(rest[1:], "]")
		if rest[0] == '.' {
			key = rest[1:]
			if i := strings.IndexAny(key, ".["); i >= 0 {
				key = key[:i]
			}
		}
		switch n, err := strconv.Atoi(key); {
		case key == "":
			return nil, Raise("ValueError", "Empty attribute in format string")
		case rest[0] == '.':
			return nil, Raise("AttributeError", "'%s' object has no attribute '%s'", TypeName(value), key)
		case !closed:
			return nil, Raise("ValueError", "Missing ']' in format string")
		default:
			var place any = key
			if err == nil && n >= 0 && key[0] != '+' {
				place = n
			}
			element, exception := Element(value, place)
			if exception != nil {
				return nil, exception
			}
			value, rest = element, after
		}
	}
	return value, nil
}

// maxSpec bounds the specification of one field.
const maxSpec = 1 << 10

func formatValue(value any, text string) (string, error) {
	if text == "" {
		return Str(value), nil
	}
	switch value.(type) {
	case string, bool, int64, float64:
	default:
		return "", Raise("TypeError", "unsupported format string passed to %s.__format__", TypeName(value))
	}
	s, err := parseSpec(text, value)
	if err != nil {
		return "", err
	}
	if err := s.refusal(value); err != nil {
		return "", err
	}
	switch v := value.(type) {
	case string:
		return s.formatString(v), nil
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		return s.formatInt(n)
	case int64:
		return s.formatInt(v)
	case float64:
		return s.formatFloat(v), nil
	}
	return Str(value), nil // not reached
}

func (s spec) formatString(v string) string {
	if s.precision >= 0 {
		v = firstRunes(v, s.precision)
	}
	return s.pad("", v, '<')
}

func firstRunes(v string, n int) string {
	for i := range v {
		if n--; n < 0 {
			return v[:i]
		}
	}
	return v
}

var bases = map[rune]struct {
	base   int
	prefix string
}{'b': {2, "0b"}, 'o': {8, "0o"}, 'x': {16, "0x"}, 'X': {16, "0X"}, 'd': {10, ""}, 'n': {10, ""}, 0: {10, ""}}

func (s spec) formatInt(v int64) (string, error) {
	b, isInt := bases[s.kind]
	switch {
	case s.kind == 'c':
		if v < 0 || v > utf8.MaxRune {
			return "", Raise("OverflowError", "%%c arg not in range(0x110000)")
		}
		return s.pad("", string(rune(v)), '<'), nil
	case !isInt:
		return s.formatFloat(float64(v)), nil
	}
	size := strconv.FormatUint(magnitude(v), b.base)
	if s.kind == 'X' {
		size = strings.ToUpper(size)
	}
	prefix := ""
	if s.alternate {
		prefix = b.prefix
	}
	every := 3
	if b.base != 10 {
		every = 4
	}
	return s.number(v < 0, prefix, size, "", every), nil
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

func (s spec) formatFloat(v float64) string {
	text := s.float(math.Abs(v))
	if s.kind == 'E' || s.kind == 'F' || s.kind == 'G' {
		text = strings.ToUpper(text)
	}
	whole, rest := text, ""
	if i := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		whole, rest = text[:i], text[i:]
	}
	negative := math.Signbit(v) && !math.IsNaN(v) && !(s.unsigned && isZero(text))
	return s.number(negative, "", whole, rest, 3)
}

// isZero reports whether a number was rounded to zero.
func isZero(text string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	return strings.Trim(mantissa, "0.%") == ""
}

// float renders a number that is not negative.
func (s spec) float(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		text := Float(v)
		if s.kind == '%' {
			text += "%"
		}
		return text
	}
	precision := s.precision
	if precision < 0 {
		precision = 6
	}
	switch s.kind {
	case 'e', 'E':
		return s.point(strconv.FormatFloat(v, 'e', precision, 64))
	case 'f', 'F':
		return s.point(strconv.FormatFloat(v, 'f', precision, 64))
	case '%':
		return s.point(strconv.FormatFloat(v*100, 'f', precision, 64)) + "%"
	case 'g', 'G', 'n':
		return s.general(v, precision)
	}
	if s.precision < 0 {
		return s.point(Float(v))
	}
	return s.plainFloat(v)
}

// point adds the decimal point, which the alternate form always has.
func (s spec) point(text string) string {
	if !s.alternate || strings.Contains(text, ".") {
		return text
	}
	if mantissa, exponent, ok := strings.Cut(text, "e"); ok {
		return mantissa + ".e" + exponent
	}
	return text + "."
}

// general renders a number of significant digits, in positional notation if the exponent is small.
func (s spec) general(v float64, precision int) string {
	precision = max(precision, 1)
	exponent := decimalExponent(v, precision)
	if exponent < -4 || exponent >= precision {
		return s.trimmed(strconv.FormatFloat(v, 'e', precision-1, 64))
	}
	return s.trimmed(strconv.FormatFloat(v, 'f', precision-1-exponent, 64))
}

// plainFloat renders the form without a type. It resembles 'g', but the result is always recognisable as a float, and
// the exponential notation begins one digit earlier.
func (s spec) plainFloat(v float64) string {
	precision := max(s.precision, 1)
	exponent := decimalExponent(v, precision)
	if exponent < -4 || exponent >= precision-1 {
		return s.trimmed(strconv.FormatFloat(v, 'e', precision-1, 64))
	}
	text := s.trimmed(strconv.FormatFloat(v, 'f', max(precision-1-exponent, 0), 64))
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// decimalExponent returns the exponent of the number after rounding to the given number of digits.
func decimalExponent(v float64, precision int) int {
	_, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', precision-1, 64), "e")
	n, err := strconv.Atoi(exponent)
	if err != nil {
		return 0 // not reached: FormatFloat always writes an exponent
	}
	return n
}

// trimmed removes trailing zeros, unless the alternate form keeps them.
func (s spec) trimmed(text string) string {
	if s.alternate {
		return s.point(text)
	}
	mantissa, exponent, scientific := strings.Cut(text, "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	if scientific {
		return mantissa + "e" + exponent
	}
	return mantissa
}

// number joins sign, prefix, grouped digits and the rest, and pads them.
func (s spec) number(negative bool, prefix, whole, rest string, every int) string {
	sign := ""
	switch {
	case negative:
		sign = "-"
	case s.sign == '+' || s.sign == ' ':
		sign = string(s.sign)
	}
	head := sign + prefix
	if s.group == "" || whole == "" {
		return s.pad(head, whole+rest, '>')
	}
	if s.zeros || s.fill == "0" && s.align == '=' {
		for grouped := group(whole, s.group, every); len(head)+len(grouped)+len(rest) < s.width; {
			whole = "0" + whole
			grouped = group(whole, s.group, every)
		}
	}
	return s.pad(head, group(whole, s.group, every)+rest, '>')
}

func group(digits, mark string, every int) string {
	var parts []string
	for len(digits) > every {
		parts = append([]string{digits[len(digits)-every:]}, parts...)
		digits = digits[:len(digits)-every]
	}
	return strings.Join(append([]string{digits}, parts...), mark)
}

// pad fills up to the width; head stays before the fill if the alignment is '='.
func (s spec) pad(head, text string, or byte) string {
	missing := s.width - utf8.RuneCountInString(head) - utf8.RuneCountInString(text)
	if missing <= 0 {
		return head + text
	}
	align := s.align
	switch {
	case align != 0:
	case s.zeros && or == '>':
		align = '='
	default:
		align = or
	}
	switch align {
	case '<':
		return head + text + strings.Repeat(s.fill, missing)
	case '^':
		return strings.Repeat(s.fill, missing/2) + head + text + strings.Repeat(s.fill, missing-missing/2)
	case '=':
		return head + strings.Repeat(s.fill, missing) + text
	default:
		return strings.Repeat(s.fill, missing) + head + text
	}
}
