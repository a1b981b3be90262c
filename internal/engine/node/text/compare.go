package text

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
)

// The modes of StringCompare.
const (
	startsWith = "Starts With"
	endsWith   = "Ends With"
	equalTexts = "Equal"
)

// StringSubstring takes a part of a text, as a slice in Python does: negative indexes count from the end.
func StringSubstring() *node.Class {
	return &node.Class{
		Name: "StringSubstring", DisplayName: "Substring", Category: "text", Module: moduleString,
		Description: "Takes a part of a text. Negative places count from its end.",
		Inputs: []node.Input{
			multiline("string", "The text."),
			{Name: "start", Type: node.Int, Tooltip: "The first character of the part, from 0."},
			{Name: "end", Type: node.Int, Tooltip: "The first character behind the part."},
		},
		Outputs: textOut(),
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			chars, start, end := []rune(call.String("string")), call.Int("start"), call.Int("end")
			from, to := sliceIndex(start, len(chars)), sliceIndex(end, len(chars))
			return declare.One(string(chars[min(from, to):to]), nil)
		},
	}
}

// sliceIndex returns the position of a slice index in a text of the given number of characters.
func sliceIndex(index, length int) int {
	if index < 0 {
		index = max(index+length, 0) // no overflow: their signs differ
	}
	return min(index, length)
}

// StringLength counts the characters of a text.
func StringLength() *node.Class {
	return &node.Class{
		Name: "StringLength", DisplayName: "Text Length", Category: "text", Module: moduleString,
		Description: "Counts the characters of a text.",
		Inputs:      []node.Input{multiline("string", "The text.")},
		Outputs:     []node.Output{{Type: node.Int, Name: "length"}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			return declare.One(int64(utf8.RuneCountInString(call.String("string"))), nil)
		},
	}
}

// StringContains looks for a text in another.
func StringContains() *node.Class {
	return &node.Class{
		Name: "StringContains", DisplayName: "Contains Text", Category: "text", Module: moduleString,
		Description: "Tells whether a text contains another.",
		Inputs: []node.Input{
			multiline("string", "The text to look into."),
			multiline("substring", "What is looked for."),
			caseSensitive(),
		},
		Outputs: []node.Output{{Type: node.Boolean, Name: "contains"}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			s, part := call.String("string"), call.String("substring")
			if !call.Bool("case_sensitive") {
				s, part = python.Lower(s), python.Lower(part)
			}
			return declare.One(strings.Contains(s, part), nil)
		},
	}
}

// StringCompare compares two texts.
func StringCompare() *node.Class {
	return &node.Class{
		Name: "StringCompare", DisplayName: "Compare Text", Category: "text", Module: moduleString,
		Description: "Tells whether a text begins with another, ends with it, or equals it.",
		Inputs: []node.Input{
			multiline("string_a", "The text to look at."),
			multiline("string_b", "The other text."),
			{Name: "mode", Type: node.Combo, Options: []string{startsWith, endsWith, equalTexts}, Tooltip: "What is asked of the first."},
			caseSensitive(),
		},
		Outputs: []node.Output{{Type: node.Boolean}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			a, b, mode := call.String("string_a"), call.String("string_b"), call.String("mode")
			if !call.Bool("case_sensitive") {
				a, b = python.Lower(a), python.Lower(b)
			}
			switch mode {
			case startsWith:
				return declare.One(strings.HasPrefix(a, b), nil)
			case endsWith:
				return declare.One(strings.HasSuffix(a, b), nil)
			case equalTexts:
				return declare.One(a == b, nil)
			default:
				return declare.One(nil, unknownMode(mode))
			}
		},
	}
}

func caseSensitive() node.Input {
	return node.Input{
		Name: "case_sensitive", Type: node.Boolean, Default: true, Advanced: true,
		Tooltip: "Whether upper and lower case differ.",
	}
}
