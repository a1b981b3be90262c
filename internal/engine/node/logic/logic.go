// Package logic holds the native node classes for numbers, booleans and choices. Definitions and results are those of
// ComfyUI's classes of the same names, except for MillraceGate and MillraceRepeat, which are additions.
package logic

import (
	"context"
	"math"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
)

// The Python modules of ComfyUI that declare the classes; clients group classes by them.
const (
	modulePrimitive = "comfy_extras.nodes_primitive"
	moduleImages    = "comfy_extras.nodes_images"
	moduleLogic     = "comfy_extras.nodes_logic"
)

// Classes returns the classes of the package in the order of listings.
func Classes() []*node.Class {
	return []*node.Class{
		PrimitiveInt(), PrimitiveFloat(), PrimitiveBoolean(), PrimitiveBoundingBox(), Switch(), Not(), And(), Or(),
		MathExpression(), NumberConvert(), ResolutionSelector(), Repeat(), Gate(),
	}
}

// PrimitiveInt returns its integer.
func PrimitiveInt() *node.Class {
	return primitive("PrimitiveInt", "Int", node.Input{
		Type: node.Int, Min: -math.MaxInt64, Max: math.MaxInt64, Control: "fixed", Tooltip: "The number.",
	})
}

// PrimitiveFloat returns its number.
func PrimitiveFloat() *node.Class {
	return primitive("PrimitiveFloat", "Float", node.Input{
		Type: node.Float, Min: -math.MaxInt64, Max: math.MaxInt64, Step: 0.1, Tooltip: "The number.",
	})
}

// PrimitiveBoolean returns its truth value.
func PrimitiveBoolean() *node.Class {
	return primitive("PrimitiveBoolean", "Boolean", node.Input{Type: node.Boolean, Tooltip: "True or false."})
}

// maxSide bounds the numbers of a rectangle, as image inputs do.
const maxSide = 16384

// PrimitiveBoundingBox returns the rectangle that its numbers describe.
func PrimitiveBoundingBox() *node.Class {
	names := []string{"x", "y", "width", "height"}
	inputs := make([]node.Input, len(names))
	for i, name := range names {
		inputs[i] = node.Input{Name: name, Type: node.Int, Default: 0, Min: 0, Max: maxSide, Tooltip: "Of the rectangle, in pixels."}
		if i >= 2 {
			inputs[i].Default, inputs[i].Min = 512, 1
		}
	}
	return &node.Class{
		Name: "PrimitiveBoundingBox", DisplayName: "Bounding Box", Category: "utilities/primitive", Module: moduleImages,
		Description: "Yields a rectangle, for several inputs to share.",
		Inputs:      inputs,
		Outputs:     []node.Output{{Type: node.BoundingBox}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			box := map[string]any{}
			for _, name := range names {
				box[name] = asDeclared(call.Any(name), node.Int)
			}
			return declare.One(box, nil)
		},
	}
}

func primitive(name, display string, value node.Input) *node.Class {
	value.Name = "value"
	return &node.Class{
		Name: name, DisplayName: display, Category: "utilities/primitive", Module: modulePrimitive,
		Description: "Yields the value it holds, for several inputs to share.",
		Inputs:      []node.Input{value},
		Outputs:     []node.Output{{Type: value.Type}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			return declare.One(asDeclared(call.Any("value"), value.Type), nil)
		},
	}
}

// asDeclared makes a number that a prompt gives one of the declared type. A value of another type is passed on as it is, as ComfyUI does.
func asDeclared(value node.Value, declared node.Type) node.Value {
	switch v := value.(type) {
	case int64:
		if declared == node.Float {
			return float64(v)
		}
	case float64:
		if declared == node.Int && v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	}
	return value
}
