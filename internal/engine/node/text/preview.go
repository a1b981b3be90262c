package text

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// PreviewAny shows any value as text and passes the text on.
func PreviewAny() *node.Class {
	return &node.Class{
		Name: "PreviewAny", DisplayName: "Preview as Text", Category: "utilities", Module: modulePreview, OlderSchema: true, Version: 1,
		Description:   "Shows whatever it is given as text.",
		SearchAliases: []string{"show output", "inspect", "debug", "print value", "show text"},
		Inputs:        []node.Input{{Name: "source", Type: node.Any, Tooltip: "The value to show."}},
		Outputs:       textOut(),
		OutputNode:    true,
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			text := formatValue(valueToShow(call, "source"))
			res, err := bounded(text, nil)
			if err != nil {
				return node.Result{}, err
			}
			res.UI = map[string][]any{"text": {text}}
			return res, nil
		},
	}
}

// valueToShow returns the value to show. An object or a list that the graph itself contains keeps the order of its
// keys.
func valueToShow(call *node.Call, input string) node.Value {
	value := call.Args[input]
	_, isObject := value.(map[string]any)
	if _, isList := value.([]any); !isObject && !isList {
		return value
	}
	var graph map[string]struct {
		Inputs map[string]json.RawMessage `json:"inputs"`
	}
	if json.Unmarshal(call.Prompt, &graph) != nil {
		return value
	}
	d := json.NewDecoder(bytes.NewReader(graph[call.NodeID].Inputs[input]))
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

// tensorEdge is the number of elements that are shown at either end of a dimension of a large tensor. ComfyUI's
// preview of values sets this number for the whole process, so texts made of tensors show as many elements from then
// on.
const tensorEdge = 6

// tensorOf returns a picture or a mask as a PyTorch tensor.
func tensorOf(height, width, channels int, shape []int, at func(frame, y, x, channel int) float32) string {
	return python.Tensor{Shape: shape, Value: func(i int) float32 {
		pixel := i / channels
		return at(pixel/width/height, pixel/width%height, pixel%width, i%channels)
	}}.String(tensorEdge)
}

// soundText renders a sound in ComfyUI's form: a dictionary with a tensor.
func soundText(s *media.Sound) string {
	tensor := python.Tensor{Shape: []int{1, s.Channels(), s.Samples()}, Value: func(i int) float32 {
		return s.Channel(i / s.Samples())[i%s.Samples()]
	}}
	return fmt.Sprintf("{'waveform': %s, 'sample_rate': %d}", tensor.String(tensorEdge), s.Rate())
}

// layersText renders a stack of layers in ComfyUI's form: a dictionary, in which a layer has only what was set.
func layersText(s *layers.Stack) string {
	parts := make([]string, len(s.Layers))
	for i, l := range s.Layers {
		var b strings.Builder
		fmt.Fprintf(&b, "{'image': %s, 'type': 'raster', 'x': %d, 'y': %d, 'z_index': %d", pythonText(l.Image), l.X, l.Y, l.Z)
		set := func(given bool, key, value string) {
			if given {
				fmt.Fprintf(&b, ", '%s': %s", key, value)
			}
		}
		if l.Mask != nil {
			set(true, "mask", pythonText(l.Mask))
		}
		set(l.Name != "", "name", python.Repr(l.Name))
		set(l.Opacity != 1, "opacity", python.Float(l.Opacity))
		set(l.Mode != "normal", "blend_mode", python.Repr(l.Mode))
		set(l.Rotation != 0, "rotation", python.Float(l.Rotation))
		set(l.Width > 0, "w", strconv.Itoa(l.Width))
		set(l.Height > 0, "h", strconv.Itoa(l.Height))
		set(l.FlipH, "flip_h", "True")
		set(l.FlipV, "flip_v", "True")
		parts[i] = b.String() + "}"
	}
	text := "{'version': 1, 'layers': [" + strings.Join(parts, ", ") + "]"
	if s.Canvas.Width > 0 && s.Canvas.Height > 0 {
		text += fmt.Sprintf(", 'canvas': (%d, %d)", s.Canvas.Width, s.Canvas.Height)
	}
	return text + "}"
}

// number returns a number of a JSON document as a float.
func number(value any) (float64, bool) {
	switch v := value.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

// curveText renders a curve as the object that it is in ComfyUI, with its points from left to right. Other objects are not curves.
func curveText(curve map[string]any) (string, bool) {
	interpolation, is := curve["interpolation"].(string)
	raw, hasPoints := curve["points"].([]any)
	if !is || !hasPoints || len(curve) != 2 {
		return "", false
	}
	points := make([][2]float64, len(raw))
	for i, point := range raw {
		pair, ok := point.([]any)
		if !ok || len(pair) != 2 {
			return "", false
		}
		for j, value := range pair {
			if points[i][j], ok = number(value); !ok {
				return "", false
			}
		}
	}
	slices.SortStableFunc(points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	parts := make([]string, len(points))
	for i, p := range points {
		parts[i] = "(" + python.Float(p[0]) + ", " + python.Float(p[1]) + ")"
	}
	kind := "MonotoneCubicCurve"
	if interpolation == "linear" {
		kind = "LinearCurve"
	}
	return kind + "(points=[" + strings.Join(parts, ", ") + "])", true
}

// formatValue renders scalars as Python does and structures as indented JSON.
func formatValue(value node.Value) string {
	switch v := value.(type) {
	case nil, bool, int64, float64, string:
		return python.Str(v)
	case map[string]any:
		if text, is := curveText(v); is {
			return text
		}
		return python.JSON(v, 4, boxKeys...)
	case []any, python.Object:
		return python.JSON(v, 4, boxKeys...)
	default:
		return pythonText(v)
	}
}

// pythonText renders values other than scalars and structures: pictures, masks and sounds as PyTorch's tensors.
// Values that Python would show by their address are described.
func pythonText(value node.Value) string {
	switch v := value.(type) {
	case *raster.Image:
		return tensorOf(v.Height(), v.Width(), v.Channels(), []int{v.Frames(), v.Height(), v.Width(), v.Channels()}, v.At)
	case *raster.Mask:
		return tensorOf(v.Height(), v.Width(), 1, []int{v.Frames(), v.Height(), v.Width()}, v.At)
	case *media.Sound:
		return soundText(v)
	case *layers.Stack:
		return layersText(v)
	default:
		return node.Describe(v)
	}
}
