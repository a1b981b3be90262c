package python

import (
	"strings"
	"unicode"
)

// Digits prepares the text of a number as Python's int and float read it: spaces around it and single underscores
// between its digits are dropped, and digits of any script become ASCII. A text that cannot be a number becomes "".
func Digits(text string) string {
	text = strings.Map(asciiDigit, strings.TrimSpace(text))
	for i := range len(text) {
		if text[i] != '_' {
			continue
		}
		if i == 0 || i == len(text)-1 || !isDigit(text[i-1]) || !isDigit(text[i+1]) {
			return ""
		}
	}
	return strings.ReplaceAll(text, "_", "")
}

// asciiDigit replaces a decimal digit. Each script has its ten digits in a row, so that the position in the row is
// the value.
func asciiDigit(r rune) rune {
	if r < unicode.MaxLatin1 || !unicode.IsDigit(r) {
		return r
	}
	for _, run := range unicode.Nd.R16 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return '0' + (r-rune(run.Lo))%10
		}
	}
	for _, run := range unicode.Nd.R32 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return '0' + (r-rune(run.Lo))%10
		}
	}
	return r
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
