package text

import (
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
)

// template parses a replacement: \1 and \g<1> or \g<name> are groups, \n and similar escapes are control characters;
// every other escaped letter is refused, as Python does.
func (re *expression) template(text string) ([]piece, error) {
	var parts []piece
	var literal strings.Builder
	group := func(n, at int) error {
		if n > re.count {
			return refusedAt(text, at, "invalid group reference %d", n)
		}
		if literal.Len() > 0 {
			parts = append(parts, piece{text: literal.String()})
			literal.Reset()
		}
		parts = append(parts, piece{group: n})
		return nil
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			literal.WriteByte(text[i])
			continue
		}
		size, err := re.escaped(text, i, &literal, group)
		if err != nil {
			return nil, err
		}
		i += size
	}
	if literal.Len() > 0 {
		parts = append(parts, piece{text: literal.String()})
	}
	return parts, nil
}

// The escapes of control characters.
const (
	controlLetters = `abfnrtv\`
	controlChars   = "\a\b\f\n\r\t\v\\"
)

// escaped handles the text after the backslash at an index and returns its length. group takes the number of a group and the index of
// what names it.
func (re *expression) escaped(text string, at int, literal *strings.Builder, group func(n, at int) error) (int, error) {
	rest := text[at+1:]
	switch {
	case rest == "":
		return 0, refusedAt(text, at, "bad escape (end of pattern)")
	case strings.HasPrefix(rest, "g<"):
		name, _, closed := strings.Cut(rest[2:], ">")
		n, err := re.number(name)
		switch {
		case name == "":
			return 0, refusedAt(text, at+3, "missing group name")
		case !closed:
			return 0, refusedAt(text, at+3, "missing >, unterminated name")
		case err != nil && isIdentifier(name):
			refusal := fault.New(fault.Invalid, fault.CodeRegex, "the replacement names the unknown group %.64q", name)
			return 0, refusal.Raising("IndexError", "unknown group name %s", quoted(name))
		case err != nil:
			return 0, refusedAt(text, at+3, "bad character in group name %s", quoted(name))
		}
		return len(name) + 3, group(n, at+3)
	case rest[0] == 'g':
		return 0, refusedAt(text, at+2, "missing <")
	case octal(rest) > 0:
		n := octal(rest)
		code, err := strconv.ParseUint(rest[:n], 8, 16)
		if err != nil || code > 0o377 {
			return 0, refusedAt(text, at, `octal escape value \%s outside of range 0-0o377`, rest[:n])
		}
		literal.WriteRune(rune(code))
		return n, nil
	case rest[0] >= '1' && rest[0] <= '9':
		n := 1
		if len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9' {
			n = 2
		}
		number, err := strconv.Atoi(rest[:n])
		if err != nil {
			return 0, fault.Wrap(err, fault.Invalid, fault.CodeRegex, `the replacement contains \g without a group name or number in angle brackets`)
		}
		return n, group(number, at+1)
	}
	if i := strings.IndexByte(controlLetters, rest[0]); i >= 0 {
		literal.WriteByte(controlChars[i])
		return 1, nil
	}
	if c := rest[0] | 0x20; c >= 'a' && c <= 'z' {
		return 0, refusedAt(text, at, `bad escape \%c`, rest[0])
	}
	literal.WriteByte('\\')
	return 0, nil
}

// octal returns the length of an octal escape: a zero and up to two digits, or three digits.
func octal(rest string) int {
	n := 0
	for n < min(3, len(rest)) && rest[n] >= '0' && rest[n] <= '7' {
		n++
	}
	if n > 0 && rest[0] == '0' || n == 3 {
		return n
	}
	return 0
}

func (re *expression) number(name string) (int, error) {
	if n, ok := re.groups[name]; ok {
		return n, nil
	}
	n, err := strconv.ParseUint(name, 10, 16)
	return int(n), err
}
