package text

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
)

// PreviewAny shows any value as text and passes the text on.
func PreviewAny() *node.Class {
	return &node.Class{
		Name: "PreviewAny", DisplayName: "Preview as Text", Category: "utilities", Module: modulePreview, OlderSchema: true,
		Description:   "Shows whatever it is given as text.",
		SearchAliases: []string{"show output", "inspect", "debug", "print value", "show text"},
		Inputs:        []node.Input{{Name: "source", Type: node.Any, Tooltip: "The value to show."}},
		Outputs:       textOut(),
		OutputNode:    true,
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			text := formatValue(call.Args["source"])
			res, err := bounded(text, nil)
			if err != nil {
				return node.Result{}, err
			}
			res.UI = map[string][]any{"text": {text}}
			return res, nil
		},
	}
}

// boxKeys are the keys of a bounding box in the order in which ComfyUI has them.
var boxKeys = []string{"x", "y", "width", "height"}

// formatValue renders scalars as Python does, structures as indented JSON and pictures by their size.
func formatValue(value node.Value) string {
	switch v := value.(type) {
	case nil, bool, int64, float64, string:
		return python.Str(v)
	case map[string]any, []any:
		return python.JSON(v, 4, boxKeys...)
	default:
		return node.Describe(v)
	}
}
