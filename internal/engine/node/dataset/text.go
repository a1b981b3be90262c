package dataset

import (
	"context"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

// maxText bounds the bytes of a text that a class makes.
const maxText = 16 << 20

// text is a class that changes a text. It returns a list of one text instead of the text, as in ComfyUI, so that a
// node that reads it gets a list.
func text(c node.Class, change func(call *node.Call, text string) string) *node.Class {
	c.Category, c.Module, c.Experimental = "text", module, true
	c.Inputs = append([]node.Input{declare.Text("texts", "The text.")}, c.Inputs...)
	c.Outputs = []node.Output{{Type: node.String, Name: "texts"}}
	c.Run = func(_ context.Context, call *node.Call) (node.Result, error) {
		changed := change(call, call.String("texts"))
		if len(changed) > maxText {
			return node.Result{}, fault.New(fault.Exhausted, fault.CodeTextTooLong, "the text is longer than %d bytes", maxText)
		}
		return declare.One([]any{changed}, nil)
	}
	return &c
}

func line(name, tooltip string) node.Input { return declare.Preset(declare.Text(name, tooltip), "") }

// TextToLowercase makes a text lower case.
func TextToLowercase() *node.Class {
	return text(node.Class{
		Name: "TextToLowercase", DisplayName: "Convert Text to Lowercase (DEPRECATED)", Deprecated: true, Description: "Makes a text lower case.",
	}, func(_ *node.Call, text string) string { return python.Lower(text) })
}

// TextToUppercase makes a text upper case.
func TextToUppercase() *node.Class {
	return text(node.Class{
		Name: "TextToUppercase", DisplayName: "Convert Text to Uppercase (DEPRECATED)", Deprecated: true, Description: "Makes a text upper case.",
	}, func(_ *node.Call, text string) string { return python.Upper(text) })
}

// TruncateText keeps the first characters.
func TruncateText() *node.Class {
	return text(node.Class{
		Name: "TruncateText", DisplayName: "Truncate Text", Description: "Keeps the first characters of a text.",
		SearchAliases: []string{"truncate", "shorten"},
		Inputs:        []node.Input{declare.Count("max_length", 77, 1, 10000, "How many characters stay.")},
	}, func(call *node.Call, text string) string {
		runes, most := []rune(text), call.Int("max_length")
		if most < 0 {
			most = max(0, len(runes)+most)
		}
		return string(runes[:min(most, len(runes))])
	})
}

// AddTextPrefix puts a text before another text.
func AddTextPrefix() *node.Class {
	return text(node.Class{
		Name: "AddTextPrefix", DisplayName: "Add Text Prefix (DEPRECATED)", Deprecated: true, Description: "Puts a text before another.",
		Inputs: []node.Input{line("prefix", "What is put before.")},
	}, func(call *node.Call, text string) string { return call.String("prefix") + text })
}

// AddTextSuffix puts a text after another text.
func AddTextSuffix() *node.Class {
	return text(node.Class{
		Name: "AddTextSuffix", DisplayName: "Add Text Suffix (DEPRECATED)", Deprecated: true, Description: "Puts a text behind another.",
		Inputs: []node.Input{line("suffix", "What is put behind.")},
	}, func(call *node.Call, text string) string { return text + call.String("suffix") })
}

// ReplaceText replaces every occurrence of a text.
func ReplaceText() *node.Class {
	return text(node.Class{
		Name: "ReplaceText", DisplayName: "Replace Text (DEPRECATED)", Deprecated: true,
		Description: "Replaces every occurrence of a text by another.",
		Inputs:      []node.Input{line("find", "What is replaced."), line("replace", "What it is replaced by.")},
	}, func(call *node.Call, text string) string {
		find, replace := call.String("find"), call.String("replace")
		if int64(len(text)+1)*int64(len(replace)+1) > maxText*16 { // refuse a result that would be too long before making it
			return strings.Repeat(" ", maxText+1)
		}
		return strings.ReplaceAll(text, find, replace)
	})
}

// StripWhitespace cuts white space off both ends.
func StripWhitespace() *node.Class {
	return text(node.Class{
		Name: "StripWhitespace", DisplayName: "Strip Whitespace (DEPRECATED)", Deprecated: true,
		Description: "Cuts white space off both ends of a text.",
	}, func(_ *node.Call, text string) string { return strings.TrimFunc(text, python.IsSpace) })
}

// MergeTextLists makes one list of all texts.
func MergeTextLists() *node.Class {
	return &node.Class{
		Name: "MergeTextLists", DisplayName: "Merge Text Lists (DEPRECATED)", Category: "text", Module: module, Experimental: true,
		Deprecated:  true,
		Description: "Makes one value of all texts of a list.", InputIsList: true,
		Inputs:  []node.Input{declare.Text("texts", "The texts.")},
		Outputs: []node.Output{{Type: node.String, Name: "texts"}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			if len(call.Lists["texts"]) == 0 {
				return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "input texts is missing")
			}
			all := []any{}
			for _, value := range call.Lists["texts"] { // texts, or lists of texts that other classes made
				switch value.(type) {
				case string, []any:
					all = append(all, value)
				default:
					return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "input texts is missing or has the wrong type")
				}
			}
			return declare.One([]any{all}, nil)
		},
	}
}
