package python

import "strings"

// Digits prepares the text of a number as int and float read it: blanks around it and single
// underscores between its digits are dropped. What cannot be a number becomes "".
func Digits(text string) string {
	text = strings.TrimSpace(text)
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

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
