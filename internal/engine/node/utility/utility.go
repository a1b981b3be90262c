// Package utility holds native node classes that pass values on: lists, choices, seeds, colours and curves.
// Definitions and results are those of ComfyUI's classes of the same names.
package utility

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Classes returns the classes of the package in the order of listings.
func Classes() []*node.Class {
	return []*node.Class{CreateList(), CustomCombo(), SeedNode(), ColorToRGBInt(), CurveEditor()}
}

// matched is the type of inputs and outputs that share one type, which their links determine.
const matched node.Type = "COMFY_MATCHTYPE_V3"

// maxListed is the largest number of inputs of CreateList.
const maxListed = 10

// CreateList makes one list of all its inputs.
func CreateList() *node.Class {
	each := node.Input{Name: "input", Type: matched, MatchTemplate: "type"}
	return &node.Class{
		Name: "CreateList", DisplayName: "Create List", Category: "utilities", Module: "comfy_extras.nodes_toolkit", InputIsList: true,
		Description: "Makes one list of all that is connected; nodes that read it run for each element.", SearchAliases: []string{"iterator"},
		Inputs: []node.Input{{
			Name: "inputs", Type: node.AutogrowType, MatchTemplate: "", Tooltip: "The elements.",
			Extra: map[string]any{"template": node.Autogrow{Each: each, Prefix: "input", Min: 1, Max: maxListed}},
		}},
		Outputs: []node.Output{{Type: matched, Name: "list", IsList: true, MatchTemplate: "type"}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			list := node.List{}
			given := false
			for i := range maxListed {
				elements, ok := call.Lists["inputs.input"+strconv.Itoa(i)]
				list, given = append(list, elements...), given || ok
			}
			if !given {
				return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "input inputs.input0 is missing")
			}
			return node.Result{Outputs: []node.Value{list}}, nil
		},
	}
}

// CustomCombo returns a choice whose options the user of the editor has written.
func CustomCombo() *node.Class {
	return &node.Class{
		Name: "CustomCombo", DisplayName: "Custom Combo", Category: "utilities", Module: "comfy_extras.nodes_logic", Experimental: true,
		Description: "Yields a choice and its number. The choices are written in the editor.",
		Inputs: []node.Input{
			{Name: "choice", Type: node.Combo, Tooltip: "The choice."},
			{Name: "index", Type: node.Int, Section: node.Undeclared, Tooltip: "The number of the choice, which the editor gives."},
		},
		Outputs: []node.Output{{Type: node.String, Name: "STRING"}, {Type: node.Int, Name: "INDEX"}},
		Check:   func(context.Context, node.Files, node.Args) error { return nil }, // any text is a choice
		Checked: []string{"choice"},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			return declare.Two(call.String("choice"), int64(node.Given(call, "index", call.Int, 0)), nil)
		},
	}
}

// SeedNode returns a number for several inputs to share.
func SeedNode() *node.Class {
	return &node.Class{
		Name: "SeedNode", DisplayName: "Seed", Category: "utilities", Module: "comfy_extras.nodes_seed",
		Description: "Yields a seed, for several inputs to share.", SearchAliases: []string{"random"},
		Inputs:  []node.Input{{Name: "seed", Type: node.Int, Min: 0, Max: math.MaxInt64, Control: "fixed", Tooltip: "The number."}},
		Outputs: []node.Output{{Type: node.Int, Name: "seed"}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			return declare.One(int64(call.Int("seed")), nil)
		},
	}
}

// ColorToRGBInt returns the channels of a colour.
func ColorToRGBInt() *node.Class {
	return &node.Class{
		Name: "ColorToRGBInt", DisplayName: "Color Picker", Category: "utilities", Module: "comfy_extras.nodes_color",
		Description: "Yields a colour as a number, as #rrggbb, and its opacity.",
		Inputs: []node.Input{{
			Name: "color", Type: node.Color, Default: "#ffffff", Socketless: true,
			Tooltip: "The colour, #rrggbb or #rrggbbaa.",
		}},
		Outputs: []node.Output{{Type: node.Int, Name: "rgb_int"}, {Type: node.Color, Name: "hex"}, {Type: node.Float, Name: "alpha"}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			text := call.String("color")
			digits, hash := strings.CutPrefix(text, "#")
			v, err := strconv.ParseUint(digits, 16, 64)
			switch {
			case err != nil || !hash || len(digits) != 6 && len(digits) != 8:
				return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "Color must be in format #RRGGBB or #RRGGBBAA")
			case len(digits) == 6:
				return node.Result{Outputs: []node.Value{int64(v), text, 1.0}}, nil
			}
			return node.Result{Outputs: []node.Value{int64(v >> 8), text[:7], float64(v&0xff) / 255}}, nil
		},
	}
}

// CurveEditor returns the curve that is drawn in the editor, with a histogram as background.
func CurveEditor() *node.Class {
	return &node.Class{
		Name: "CurveEditor", DisplayName: "Curve Editor", Category: "utilities", Module: "comfy_extras.nodes_curve", Intermediate: true,
		Description: "Yields a curve, and shows a histogram behind it if one is connected.",
		Inputs: []node.Input{
			{Name: "curve", Type: "CURVE", Socketless: true, Tooltip: "The points of the curve.", Default: map[string]any{
				"points": []any{[]any{node.Number(0), node.Number(0)}, []any{node.Number(1), node.Number(1)}}, "interpolation": "monotone_cubic",
			}},
			{Name: "histogram", Type: "HISTOGRAM", Section: node.Optional, Tooltip: "What is shown behind the curve."},
		},
		Outputs: []node.Output{{Type: "CURVE", Name: "curve"}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			curve, err := curveOf(call.Args["curve"])
			if err != nil {
				return node.Result{}, err
			}
			res := node.Result{Outputs: []node.Value{curve}}
			if shown, ok := call.Args["histogram"].([]any); ok {
				res.UI = map[string][]any{"histogram": slices.Clone(shown)}
			}
			return res, nil
		},
	}
}

// curveOf reads a curve: an object, or the list of its points.
func curveOf(value node.Value) (map[string]any, error) {
	curve := map[string]any{"interpolation": "monotone_cubic"}
	switch v := value.(type) {
	case map[string]any:
		maps.Copy(curve, v)
	case []any:
		curve["points"] = v
	}
	points, ok := curve["points"].([]any)
	if !ok || len(points) < 2 {
		return nil, fault.New(fault.Invalid, fault.CodeInputType, "input curve must have at least two points")
	}
	return curve, nil
}
