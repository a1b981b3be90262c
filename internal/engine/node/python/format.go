package python

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxWidth bounds the width and precision of one field.
const maxWidth = 10_000

// The causes of the failures of Format.
var (
	ErrFormat  = errors.New("bad format")
	ErrTooLong = errors.New("the result is too long")
)

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// Format fills a template as str.format does: {name}, {name!r}, {name:spec}, fields in a spec, and doubled braces.
// Values are nil, bool, int64, float64, string, lists and objects. Attributes, indices, positions and a result of
// more than limit bytes are errors.
func Format(template string, values map[string]any, limit int) (string, error) {
	return format(template, values, limit, maxFields)
}

// maxFields bounds nested fields.
const maxFields = 2

func format(template string, values map[string]any, limit, levels int) (string, error) {
	if levels == 0 {
		return "", bad("fields are nested too deep")
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
		case brace == '}':
			return "", bad("there is a single '}'")
		default:
			end := fieldEnd(rest)
			if end < 0 {
				return "", bad("a '{' is not closed")
			}
			text, err := formatField(rest[:end], values, levels-1)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
			rest = rest[end+1:]
		}
	}
	if b.Len() > limit {
		return "", ErrTooLong
	}
	return b.String(), nil
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

func formatField(field string, values map[string]any, levels int) (string, error) {
	head, spec, _ := strings.Cut(field, ":")
	name, conversion, converted := strings.Cut(head, "!")
	if strings.ContainsAny(name, ".[{") {
		return "", bad("the field %.64q uses an attribute, an index or another field", field)
	}
	value, ok := values[name]
	if !ok {
		return "", bad("unknown value %.64q", name)
	}
	if converted {
		switch conversion {
		case "s":
			value = Str(value)
		case "r":
			value = Repr(value)
		case "a":
			value = ascii(Repr(value))
		default:
			return "", bad("unknown conversion %.8q", conversion)
		}
	}
	if strings.ContainsAny(spec, "{}") {
		var err error
		if spec, err = format(spec, values, maxSpec, levels); err != nil {
			return "", err
		}
	}
	return formatValue(value, spec)
}

// maxSpec bounds the specification of one field.
const maxSpec = 1 << 10

func formatValue(value any, text string) (string, error) {
	if text == "" {
		return Str(value), nil
	}
	s, err := parseSpec(text)
	if err != nil {
		return "", err
	}
	switch v := value.(type) {
	case string:
		return s.formatString(v)
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		return s.formatInt(n)
	case int64:
		return s.formatInt(v)
	case float64:
		return s.formatFloat(v)
	default:
		return "", bad("a value of this type takes no format specification")
	}
}

func (s spec) formatString(v string) (string, error) {
	if s.kind != 0 && s.kind != 's' || s.align == '=' || s.group != "" || s.sign != 0 || s.unsigned || s.alternate {
		return "", bad("this format specification does not apply to text")
	}
	if s.precision >= 0 {
		v = firstRunes(v, s.precision)
	}
	return s.pad("", v, '<'), nil
}

func firstRunes(v string, n int) string {
	for i := range v {
		if n--; n < 0 {
			return v[:i]
		}
	}
	return v
}

var bases = map[byte]struct {
	base   int
	prefix string
}{'b': {2, "0b"}, 'o': {8, "0o"}, 'x': {16, "0x"}, 'X': {16, "0X"}, 'd': {10, ""}, 'n': {10, ""}, 0: {10, ""}}

func (s spec) formatInt(v int64) (string, error) {
	b, isInt := bases[s.kind]
	switch {
	case s.kind == 'c':
		if v < 0 || v > utf8.MaxRune || s.sign != 0 || s.unsigned || s.alternate || s.group != "" || s.precision >= 0 {
			return "", bad("%d is not the code of a character", v)
		}
		return s.pad("", string(rune(v)), '<'), nil
	case !isInt && s.kind != 's':
		return s.formatFloat(float64(v))
	case !isInt || s.unsigned || s.precision >= 0 || s.group == "," && b.base != 10 || s.group != "" && s.kind == 'n':
		return "", bad("this format specification does not apply to integers")
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

func (s spec) formatFloat(v float64) (string, error) {
	if s.kind == 's' || s.kind == 'd' || s.kind == 'b' || s.kind == 'o' || s.kind == 'x' || s.kind == 'X' || s.kind == 'c' || s.group != "" &&
		s.kind == 'n' {
		return "", bad("this format specification does not apply to floats")
	}
	text := s.float(math.Abs(v))
	if s.kind == 'E' || s.kind == 'F' || s.kind == 'G' {
		text = strings.ToUpper(text)
	}
	whole, rest := text, ""
	if i := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		whole, rest = text[:i], text[i:]
	}
	negative := math.Signbit(v) && !math.IsNaN(v) && !(s.unsigned && isZero(text))
	return s.number(negative, "", whole, rest, 3), nil
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
