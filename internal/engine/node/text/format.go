package text

import (
	"context"
	"errors"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

// letters names the inputs of classes that take up to 26 values.
func letters() []string { return strings.Split("abcdefghijklmnopqrstuvwxyz", "") }

// valuesPrefix is the prefix of the names of the values that a prompt gives to StringFormat.
const valuesPrefix = "values."

// StringFormat fills a template with values.
func StringFormat() *node.Class {
	return &node.Class{
		Name: "StringFormat", DisplayName: "Format Text", Category: "text", Module: moduleString,
		Description:   "Fills a template: {a} stands for the value a, {a:.2f} for the value with two decimals.",
		SearchAliases: []string{"template", "f-string", "interpolate"},
		Inputs: []node.Input{
			{
				Name: "values", Type: node.AutogrowType, Tooltip: "The values that the template names.",
				Extra: map[string]any{"template": node.Autogrow{Each: node.Input{Name: "value", Type: node.Any}, Names: letters()}},
			},
			{Name: "f_string", Type: node.String, Default: "{a}", Multiline: true, Tooltip: "The template."},
		},
		Outputs: textOut(),
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			template := call.String("f_string")
			values := map[string]any{}
			for _, name := range letters() {
				if call.Has(valuesPrefix + name) {
					values[name] = formattable(call.Args[valuesPrefix+name])
				}
			}
			text, err := python.Format(template, values, maxLength)
			if errors.Is(err, python.ErrTooLong) {
				return node.Result{}, tooLong()
			}
			var raised *python.Exception
			if errors.As(err, &raised) {
				err = fault.New(fault.Invalid, fault.CodeTemplate, "the template cannot be filled").Raising(raised.Name, "%s", raised.Sentence)
			}
			return declare.One(text, err)
		},
	}
}

// formattable converts a value that a template cannot render to text.
func formattable(value node.Value) any {
	switch value.(type) {
	case nil, bool, int64, float64, string, map[string]any, []any:
		return value
	default:
		return pythonText(value)
	}
}
