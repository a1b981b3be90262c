package redact

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escapes are the bytes with which escapes of characters begin, in a JSON string and in a URL.
const escapes = `\%`

const (
	// maxSlashes is the most backslashes of one escape. JSON that is a string within JSON doubles them.
	maxSlashes = 8
	// maxEscape is the most bytes of one escaped character: two UTF-16 code units.
	maxEscape = 2 * (maxSlashes + len("u0000"))
)

// escaped compares the beginning of p with the form, each of whose characters may be escaped. It returns the number of bytes of
// p that match, and the number of bytes of the form that they match.
func (f form) escaped(p []byte) (n, matched int) {
	text := f.text
	for len(text) > 0 && n < len(p) {
		char, length := unescape(p[n:])
		switch {
		case length > len(p)-n: // p ends within an escape
			return len(p), len(f.text) - len(text)
		case length > 0 && bytes.HasPrefix(text, char.bytes()):
			text, n = text[char.size:], n+length
		case p[n] == text[0], p[n] == '+' && text[0] == ' ':
			text, n = text[1:], n+1
		default:
			return n, len(f.text) - len(text)
		}
	}
	return n, len(f.text) - len(text)
}

// character is a character in UTF-8, or a byte of one.
type character struct {
	utf8 [utf8.UTFMax]byte
	size int
}

func (c *character) bytes() []byte { return c.utf8[:c.size] }

// unescape returns the character that is escaped at the beginning of p, and the length of its escape: 0 if there is none, and
// more than that of p if p ends within it.
func unescape(p []byte) (c character, length int) {
	switch p[0] {
	case '%':
		value, length := hex(p, 1, 2)
		c.utf8[0], c.size = byte(value), 1
		return c, length
	case '\\':
		char, length := unescapeJSON(p)
		if utf16.IsSurrogate(char) {
			if length == len(p) {
				return c, length + 1
			}
			low, more := unescapeJSON(p[length:])
			char, length = utf16.DecodeRune(char, low), length+more
		}
		c.size = utf8.EncodeRune(c.utf8[:], char)
		return c, length
	}
	return c, 0
}

// unescapeJSON is unescape for an escape of a JSON string, which may be one of two UTF-16 code units.
func unescapeJSON(p []byte) (char rune, length int) {
	slashes := 0
	for slashes < min(len(p), maxSlashes) && p[slashes] == '\\' {
		slashes++
	}
	switch {
	case slashes == 0:
		return 0, 0
	case slashes == len(p):
		return 0, len(p) + 1
	case p[slashes] == 'u':
		return hex(p, slashes+1, 4)
	}
	if at := strings.IndexByte(`"/bfnrt`, p[slashes]); at >= 0 {
		return rune("\"/\b\f\n\r\t"[at]), slashes + 1
	}
	if slashes > 1 {
		return '\\', 2
	}
	return 0, 0
}

// hex returns the value of the hexadecimal digits of an escape, and the length of the escape as unescape does.
func hex(p []byte, from, digits int) (value rune, length int) {
	for i := from; i < min(len(p), from+digits); i++ {
		at := strings.IndexByte("0123456789abcdef", p[i]|0x20) // lower case
		if at < 0 {
			return 0, 0
		}
		value = value<<4 | rune(at)
	}
	return value, from + digits
}
