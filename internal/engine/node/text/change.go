package text

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The modes of CaseConverter and StringTrim.
const (
	upperCase  = "UPPERCASE"
	lowerCase  = "lowercase"
	capitalize = "Capitalize"
	titleCase  = "Title Case"

	trimBoth  = "Both"
	trimLeft  = "Left"
	trimRight = "Right"
)

// StringReplace replaces every occurrence of a text. An empty text occurs between all characters.
func StringReplace() *node.Class {
	return &node.Class{
		Name: "StringReplace", DisplayName: "Replace Text", Category: "text", Module: moduleString,
		Description: "Replaces every occurrence of a text by another one.",
		Inputs: []node.Input{
			multiline("string", "The text to change."),
			multiline("find", "What is replaced."),
			multiline("replace", "What stands there instead."),
		},
		Outputs: textOut(),
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			s, find, by := call.String("string"), call.String("find"), call.String("replace")
			if appended := strings.Count(s, find) * (len(by) - len(find)); len(s)+appended > maxLength {
				return node.Result{}, tooLong()
			}
			return declare.One(strings.ReplaceAll(s, find, by), nil)
		},
	}
}

// StringTrim removes white space at the ends.
func StringTrim() *node.Class {
	return &node.Class{
		Name: "StringTrim", DisplayName: "Trim Text", Category: "text", Module: moduleString,
		Description: "Removes white space at the ends of a text.",
		Inputs: []node.Input{
			multiline("string", "The text to trim."),
			{Name: "mode", Type: node.Combo, Options: []string{trimBoth, trimLeft, trimRight}, Tooltip: "At which end."},
		},
		Outputs: textOut(),
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			s, mode := call.String("string"), call.String("mode")
			switch mode {
			case trimBoth:
				s = strings.TrimFunc(s, python.IsSpace)
			case trimLeft:
				s = strings.TrimLeftFunc(s, python.IsSpace)
			case trimRight:
				s = strings.TrimRightFunc(s, python.IsSpace)
			default:
				return declare.One(nil, unknownMode(mode))
			}
			return declare.One(s, nil)
		},
	}
}

// CaseConverter changes the case of letters.
func CaseConverter() *node.Class {
	return &node.Class{
		Name: "CaseConverter", DisplayName: "Convert Text Case", Category: "text", Module: moduleString,
		Description: "Changes the case of a text's letters.",
		Inputs: []node.Input{
			multiline("string", "The text to change."),
			{
				Name: "mode", Type: node.Combo, Options: []string{upperCase, lowerCase, capitalize, titleCase},
				Tooltip: "Which case the letters get.",
			},
		},
		Outputs: textOut(),
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			s, mode := call.String("string"), call.String("mode")
			switch mode {
			case upperCase:
				s = python.Upper(s)
			case lowerCase:
				s = python.Lower(s)
			case capitalize:
				s = capitalized(s)
			case titleCase:
				s = titled(s)
			default:
				return declare.One(nil, unknownMode(mode))
			}
			return bounded(s, nil)
		},
	}
}

// capitalized returns a text with the first character in title case and the rest in lower case. The rest is converted
// within the whole text, because a sigma at the end of a word differs from others.
func capitalized(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	return title(s[:size]) + strings.TrimPrefix(python.Lower(s), python.Lower(s[:size]))
}

// titled capitalizes every run of letters that have upper and lower case.
func titled(s string) string {
	var b strings.Builder
	for s != "" {
		end := strings.IndexFunc(s, func(r rune) bool { return !isCased(r) })
		if end < 0 {
			end = len(s)
		}
		b.WriteString(capitalized(s[:end]))
		s = s[end:]
		next := strings.IndexFunc(s, isCased)
		if next < 0 {
			next = len(s)
		}
		b.WriteString(s[:next])
		s = s[next:]
	}
	return b.String()
}

func isCased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Uppercase, unicode.Other_Lowercase)
}

func title(char string) string { return cases.Title(language.Und).String(char) }

func unknownMode(mode string) error {
	return fault.New(fault.Invalid, fault.CodeInputType, "unknown mode %.64q", mode)
}

func tooLong() error {
	return fault.New(fault.Exhausted, fault.CodeTextTooLong, "the text would be longer than %d bytes", maxLength)
}
