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
	kind      byte   // 0 = no type
	zeros     bool   // filled with zeros because the width begins with one
}

func parseSpec(text string) (spec, error) {
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
	}
	if take(".") != 0 {
		if s.precision, rest, err = digits(rest, -1); err != nil || s.precision < 0 {
			return s, bad("the precision of %.64q is missing or too large", text)
		}
	}
	if s.kind = take("bcdeEfFgGnosxX%"); rest != "" {
		return s, bad("the specification %.64q is not understood", text)
	}
	return s, nil
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
		return 0, "", bad("the width %.16s is too large", text)
	}
	return n, text[end:], nil
}
