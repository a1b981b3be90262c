package python

import (
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// IsSpace reports whether Python takes a character for white space: also the four separators of ASCII.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// Lower is str.lower.
func Lower(s string) string { return cases.Lower(language.Und).String(s) }

// Upper is str.upper.
func Upper(s string) string { return cases.Upper(language.Und).String(s) }
