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
	group := func(n int) error {
		if n > re.count {
			return fault.New(fault.Invalid, fault.CodeRegex, "the replacement names group %d; the pattern has %d", n, re.count)
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
		size, err := re.escaped(text[i+1:], &literal, group)
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

// escaped handles the text after a backslash and returns its length.
func (re *expression) escaped(rest string, literal *strings.Builder, group func(int) error) (int, error) {
	switch {
	case rest == "":
		return 0, fault.New(fault.Invalid, fault.CodeRegex, "the replacement ends with a backslash")
	case strings.HasPrefix(rest, "g<"):
		name, _, closed := strings.Cut(rest[2:], ">")
		n, err := re.number(name)
		if !closed || err != nil {
			return 0, fault.New(fault.Invalid, fault.CodeRegex, "the replacement names the unknown group %.64q", name)
		}
		return len(name) + 3, group(n)
	case octal(rest) > 0:
		n := octal(rest)
		code, err := strconv.ParseUint(rest[:n], 8, 16)
		if err != nil || code > 0o377 {
			return 0, fault.New(fault.Invalid, fault.CodeRegex, `the replacement contains the escape \%s, which is out of range`, rest[:n])
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
		return n, group(number)
	}
	if i := strings.IndexByte(controlLetters, rest[0]); i >= 0 {
		literal.WriteByte(controlChars[i])
		return 1, nil
	}
	if c := rest[0] | 0x20; c >= 'a' && c <= 'z' {
		return 0, fault.New(fault.Invalid, fault.CodeRegex, `the replacement contains the unknown escape \%c`, rest[0])
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
