// Package text holds the native node classes that make, join and show text. Definitions and results are those of
// ComfyUI's classes of the same names: strings count characters as Python does, and regular expressions have Python's
// syntax. Every result is bounded in size, every search in time.
package text

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
)

// The Python modules of ComfyUI that declare the classes; clients group classes by them.
const (
	moduleString    = "comfy_extras.nodes_string"
	modulePrimitive = "comfy_extras.nodes_primitive"
	modulePreview   = "comfy_extras.nodes_preview_any"
)

// maxLength bounds the bytes of a text that a class makes; a longer text is Exhausted.
const maxLength = 16 << 20

// Classes returns the classes of the package in the order of listings.
func Classes() []*node.Class {
	return []*node.Class{
		PrimitiveString(), PrimitiveStringMultiline(), StringConcatenate(), StringReplace(), StringTrim(),
		CaseConverter(), StringSubstring(), StringLength(), StringContains(), StringCompare(),
		RegexMatch(), RegexExtract(), RegexReplace(), JsonExtractString(), ConvertDictionaryToString(), ConvertArrayToString(), StringFormat(),
		SaveText(), PreviewAny(),
	}
}

// PrimitiveString returns its text.
func PrimitiveString() *node.Class {
	return primitive("PrimitiveString", "Text", "", false)
}

// PrimitiveStringMultiline returns its text, which is edited over several lines.
func PrimitiveStringMultiline() *node.Class {
	return primitive("PrimitiveStringMultiline", "Text (Multiline)", "Basics", true)
}

func primitive(name, display, essentials string, multiline bool) *node.Class {
	return &node.Class{
		Name: name, DisplayName: display, Essentials: essentials, Category: "utilities/primitive", Module: modulePrimitive,
		Description: "Yields the text it holds, for several inputs to share.",
		Inputs:      []node.Input{{Name: "value", Type: node.String, Multiline: multiline, Tooltip: "The text."}},
		Outputs:     textOut(),
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			return declare.One(call.Any("value"), nil) // a value of another type is passed on as it is, as ComfyUI does
		},
	}
}

// StringConcatenate joins two texts with a delimiter between them.
func StringConcatenate() *node.Class {
	return &node.Class{
		Name: "StringConcatenate", DisplayName: "Concatenate Text", Category: "text", Module: moduleString,
		Description:   "Joins two texts with a delimiter between them.",
		SearchAliases: []string{"text concat", "join text", "merge text", "combine strings"},
		Inputs: []node.Input{
			multiline("string_a", "The first text."),
			multiline("string_b", "The second text."),
			{Name: "delimiter", Type: node.String, Default: "", Tooltip: "What stands between them."},
		},
		Outputs: textOut(),
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			return bounded(call.String("string_a")+call.String("delimiter")+call.String("string_b"), nil)
		},
	}
}

// multiline declares a required text input of several lines.
func multiline(name, tooltip string) node.Input {
	return node.Input{Name: name, Type: node.String, Multiline: true, Tooltip: tooltip}
}

func textOut() []node.Output { return []node.Output{{Type: node.String}} }

// bounded returns a single output, for a text that may be too long.
func bounded(text string, err error) (node.Result, error) {
	if err == nil && len(text) > maxLength {
		err = tooLong()
	}
	return declare.One(text, err)
}
