package text

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// shorthands are the escapes for sets of characters that are the same in both syntaxes.
const shorthands = "dDsSwW"

// escape translates a backslash outside a class.
func (t *translator) escape() error {
	rest := t.source[t.at+1:]
	if rest == "" {
		return t.refuse(t.at, "bad escape (end of pattern)")
	}
	switch c := rest[0]; {
	case strings.IndexByte("AbBZ", c) >= 0: // an anchor cannot be repeated
		t.at += 2
		if c == 'Z' {
			c = 'z' // the end of the text
		}
		t.out, t.atom = append(t.out, '\\', c), noAtom
		return nil
	case strings.IndexByte(shorthands, c) >= 0:
		t.at += 2
		t.atom = len(t.out)
		t.out = append(t.out, '\\', c)
		return nil
	case c >= '1' && c <= '9' && octal(rest) == 0:
		size := 1
		if len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9' {
			size = 2
		}
		number, err := strconv.Atoi(rest[:size])
		if err != nil {
			return badPattern("the reference %.2q is not a number", rest)
		}
		at := t.at
		t.at += 1 + size
		return t.reference(number, at)
	}
	r, size, err := t.character(rest)
	if err != nil {
		return err
	}
	t.at += 1 + size
	t.literal(r)
	return nil
}

// character reads the text after the backslash at t.at as one character and returns the length of that text.
func (t *translator) character(rest string) (rune, int, error) {
	c := rest[0]
	if n := octal(rest); n > 0 {
		code, err := strconv.ParseUint(rest[:n], 8, 16)
		if err != nil || code > 0o377 {
			return 0, 0, t.refuse(t.at, `octal escape value \%s outside of range 0-0o377`, rest[:n])
		}
		return rune(code), n, nil
	}
	if i := strings.IndexByte(controlLetters, c); i >= 0 {
		return rune(controlChars[i]), 1, nil
	}
	if digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]; digits > 0 {
		if len(rest) > digits {
			if code, err := strconv.ParseUint(rest[1:1+digits], 16, 32); err == nil && code <= utf8.MaxRune {
				return rune(code), 1 + digits, nil
			}
		}
		n := 1
		for n < min(len(rest), 1+digits) && strings.IndexByte("0123456789abcdefABCDEF", rest[n]) >= 0 {
			n++
		}
		return 0, 0, t.refuse(t.at, `incomplete escape \%s`, rest[:n])
	}
	if letter := c | 0x20; letter >= 'a' && letter <= 'z' || c >= '0' && c <= '9' {
		return 0, 0, t.refuse(t.at, `bad escape \%c`, c)
	}
	r, size := utf8.DecodeRuneInString(rest)
	return r, size, nil
}

// class translates a set of characters in brackets. It escapes anything that regexp2 would not take for a single
// character, such as a set within the set.
func (t *translator) class() error {
	at := t.at
	t.atom = len(t.out)
	t.out = append(t.out, '[')
	t.at++
	if strings.HasPrefix(t.source[t.at:], "^") {
		t.out = append(t.out, '^')
		t.at++
	}
	for first := true; ; first = false {
		rest := t.source[t.at:]
		switch {
		case rest == "":
			return t.refuse(at, "unterminated character set")
		case rest[0] == ']' && !first:
			t.at++
			t.out = append(t.out, ']')
			return nil
		}
		if err := t.classItem(at); err != nil {
			return err
		}
	}
}

// classItem translates a character, a shorthand or a range of the class at an index.
func (t *translator) classItem(class int) error {
	at := t.at
	low, err := t.classPart(class)
	if err != nil {
		return err
	}
	t.out = append(t.out, low.text...)
	rest := t.source[t.at:]
	if !strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "-]") || rest == "-" {
		return nil
	}
	middle := t.at
	t.at++
	high, err := t.classPart(class)
	if err != nil {
		return err
	}
	if low.isSet || high.isSet || low.char > high.char {
		return t.refuse(at, "bad character range %s-%s", t.source[at:middle], t.source[middle+1:t.at])
	}
	t.out = append(append(t.out, '-'), high.text...)
	return nil
}

// classPart is a character or a shorthand in a class, with its form in regexp2.
type classPart struct {
	text  string
	char  rune
	isSet bool
}

func part(r rune) classPart {
	if r == '-' { // after a backslash it could not begin a range
		return classPart{text: `\x2d`, char: r}
	}
	return classPart{text: string(appendLiteral(nil, r)), char: r}
}

func (t *translator) classPart(class int) (classPart, error) {
	rest := t.source[t.at:]
	if rest == "" {
		return classPart{}, t.refuse(class, "unterminated character set")
	}
	r, size := utf8.DecodeRuneInString(rest)
	if r != '\\' {
		t.at += size
		return part(r), nil
	}
	if rest = rest[1:]; rest == "" {
		return classPart{}, t.refuse(t.at, "bad escape (end of pattern)")
	}
	if strings.IndexByte(shorthands, rest[0]) >= 0 {
		t.at += 2
		return classPart{text: t.source[t.at-2 : t.at], isSet: true}, nil
	}
	r, size, err := t.classCharacter(rest)
	t.at += 1 + size
	return part(r), err
}

// classCharacter does the work of character within a class: b is a backspace, and digits are always octal.
func (t *translator) classCharacter(rest string) (rune, int, error) {
	if rest[0] == 'b' {
		return '\b', 1, nil
	}
	n := 0
	for n < min(3, len(rest)) && rest[n] >= '0' && rest[n] <= '7' {
		n++
	}
	if n == 0 {
		return t.character(rest)
	}
	code, err := strconv.ParseUint(rest[:n], 8, 16)
	if err != nil || code > 0o377 {
		return 0, 0, t.refuse(t.at, `octal escape value \%s outside of range 0-0o377`, rest[:n])
	}
	return rune(code), n, nil
}
