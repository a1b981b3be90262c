package python

import (
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// IsSpace reports whether Python treats a character as white space, which includes the four separators of ASCII.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// Lower returns what str.lower returns in Python.
func Lower(s string) string { return cases.Lower(language.Und).String(s) }

// Upper returns what str.upper returns in Python.
func Upper(s string) string { return cases.Upper(language.Und).String(s) }
