package text

import (
	"bytes"
	"context"
	"encoding/json"

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
			text := formatValue(asWritten(call))
			res, err := bounded(text, nil)
			if err != nil {
				return node.Result{}, err
			}
			res.UI = map[string][]any{"text": {text}}
			return res, nil
		},
	}
}

// asWritten is the value to show. An object or a list that the graph itself holds keeps the order of its keys.
func asWritten(call *node.Call) node.Value {
	value := call.Args["source"]
	_, isObject := value.(map[string]any)
	if _, isList := value.([]any); !isObject && !isList {
		return value
	}
	var graph map[string]struct {
		Inputs struct {
			Source json.RawMessage `json:"source"`
		} `json:"inputs"`
	}
	if json.Unmarshal(call.Prompt, &graph) != nil {
		return value
	}
	d := json.NewDecoder(bytes.NewReader(graph[call.NodeID].Inputs.Source))
	d.UseNumber()
	written, err := ordered(d, maxNested)
	if o, ok := written.(python.Object); err == nil && ok {
		if wrapped, is := o.Values["__value__"]; is && len(o.Keys) == 1 {
			return wrapped
		}
		if isObject {
			return o
		}
	}
	return value
}

// boxKeys are the keys of a bounding box in the order in which ComfyUI has them.
var boxKeys = []string{"x", "y", "width", "height"}

// formatValue renders scalars as Python does, structures as indented JSON and pictures by their size.
func formatValue(value node.Value) string {
	switch v := value.(type) {
	case nil, bool, int64, float64, string:
		return python.Str(v)
	case map[string]any, []any, python.Object:
		return python.JSON(v, 4, boxKeys...)
	default:
		return node.Describe(v)
	}
}
