package python

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// spec is a parsed format specification: [[fill]align][sign][z][#][0][width][group][.precision][type].
type spec struct {
	fill      string
	align     byte // '<', '>', '^', '=', 0 = the default of the type
	sign      byte // '+', '-', ' ', 0 = none given
	unsigned  bool // a zero that comes from rounding has no sign
	alternate bool
	width     int
	group     string // "", "," or "_"
	precision int    // -1 = no precision
	kind      rune   // 0 = no type
	zeros     bool   // filled with zeros because the width begins with one
}

// parseSpec reads the specification of the format of a value.
func parseSpec(text string, value any) (spec, error) {
	s := spec{precision: -1}
	rest := s.parseAlign(text)
	take := func(chars string) byte {
		if rest == "" || strings.IndexByte(chars, rest[0]) < 0 {
			return 0
		}
		c := rest[0]
		rest = rest[1:]
		return c
	}
	s.sign = take("+- ")
	s.unsigned = take("z") != 0
	s.alternate = take("#") != 0
	zeros := take("0") != 0 && s.fill == ""
	switch {
	case zeros:
		s.fill, s.zeros = "0", s.align == 0
	case s.fill == "":
		s.fill = " "
	}
	var err error
	if s.width, rest, err = digits(rest, 0); err != nil {
		return s, err
	}
	if c := take(",_"); c != 0 {
		s.group = string(c)
		if other := take(",_"); other != 0 && (c == ',' || other == ',') {
			return s, Raise("ValueError", "Cannot specify both ',' and '_'.")
		} else if other != 0 {
			rest = string(other) + rest
		}
	}
	if take(".") != 0 {
		if s.precision, rest, err = digits(rest, -1); err != nil {
			return s, err
		}
		if s.precision < 0 {
			return s, Raise("ValueError", "Format specifier missing precision")
		}
	}
	kind, size := utf8.DecodeRuneInString(rest)
	if size < len(rest) {
		return s, Raise("ValueError", "Invalid format specifier '%s' for object of type '%s'", text, TypeName(value))
	}
	if size > 0 {
		s.kind = kind
	}
	return s, s.ungrouped(value)
}

// ungrouped refuses to group the digits of a type that has none.
func (s *spec) ungrouped(value any) error {
	kind := s.kind
	if _, isText := value.(string); isText && kind == 0 {
		kind = 's'
	}
	if s.group == "" || kind == 0 || strings.ContainsRune("defgEG%F", kind) || s.group == "_" && strings.ContainsRune("boxX", kind) {
		return nil
	}
	return Raise("ValueError", "Cannot specify '%s' with '%c'.", s.group, kind)
}

// refusal is the reason why a specification does not apply to a value.
func (s *spec) refusal(value any) error {
	name, kinds := "integer", "bcdoxXneEfFgG%"
	switch value.(type) {
	case string:
		name, kinds = "string", "s"
	case float64:
		name, kinds = "float", "eEfFgGn%"
	}
	inCharacters := name == "integer" && s.kind == 'c'
	asFloat := name == "float" || name == "integer" && s.kind != 0 && strings.ContainsRune("eEfFgG%", s.kind)
	switch {
	case s.kind != 0 && !strings.ContainsRune(kinds, s.kind):
		return Raise("ValueError", "Unknown format code '%c' for object of type '%s'", s.kind, TypeName(value))
	case asFloat:
		return nil
	case name == "string" && s.sign == ' ':
		return Raise("ValueError", "Space not allowed in string format specifier")
	case name == "string" && s.sign != 0:
		return Raise("ValueError", "Sign not allowed in string format specifier")
	case name == "integer" && s.precision >= 0:
		return Raise("ValueError", "Precision not allowed in integer format specifier")
	case s.unsigned:
		return Raise("ValueError", "Negative zero coercion (z) not allowed in %s format specifier", name)
	case name == "string" && s.alternate:
		return Raise("ValueError", "Alternate form (#) not allowed in string format specifier")
	case name == "string" && s.align == '=':
		return Raise("ValueError", "'=' alignment not allowed in string format specifier")
	case inCharacters && s.sign != 0:
		return Raise("ValueError", "Sign not allowed with integer format specifier 'c'")
	case inCharacters && s.alternate:
		return Raise("ValueError", "Alternate form (#) not allowed with integer format specifier 'c'")
	}
	return nil
}

// parseAlign reads fill and alignment and returns the rest of the text.
func (s *spec) parseAlign(text string) string {
	const aligns = "<>=^"
	_, size := utf8.DecodeRuneInString(text)
	switch {
	case len(text) > size && strings.IndexByte(aligns, text[size]) >= 0:
		s.fill, s.align = text[:size], text[size]
		return text[size+1:]
	case text != "" && strings.IndexByte(aligns, text[0]) >= 0:
		s.align = text[0]
		return text[1:]
	}
	return text
}

// digits reads a number of at most maxWidth. It returns the value or if there is no number.
func digits(text string, or int) (int, string, error) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	if end == 0 {
		return or, text, nil
	}
	n, err := strconv.Atoi(text[:end])
	if err != nil || n > maxWidth {
		return 0, "", Raise("ValueError", "Too many decimal digits in format string")
	}
	return n, text[end:], nil
}
