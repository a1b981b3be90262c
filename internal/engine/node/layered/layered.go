// Package layered holds the node classes of layers: those that stack pictures, and the one that composes them.
// Results equal those of ComfyUI's classes of the same names within rounding. Mixing layers is left to package
// layers.
package layered

import (
	"context"
	"math"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/fault"
)

const module = "comfy_extras.nodes_compositor"

// Classes returns the package's classes.
func Classes() []*node.Class {
	return []*node.Class{ImageCompositor(), AddLayer(), LayersFromBoundingBoxes()}
}

func layersInput() node.Input {
	return node.Input{Name: "layers", Type: node.Layers, Section: node.Optional, Tooltip: "The layers before; none begin a new stack."}
}

func stacked() []node.Output { return []node.Output{{Type: node.Layers, Tooltip: "The layers."}} }

func sideInput(name, tooltip string) node.Input {
	return declare.Optional(declare.Count(name, 0, 0, layers.MaxSide, tooltip))
}

func flag(name string, def bool, tooltip string) node.Input {
	return node.Input{Name: name, Type: node.Boolean, Section: node.Optional, Default: def, Tooltip: tooltip}
}

// AddLayer puts pictures on a stack of layers.
func AddLayer() *node.Class {
	place := func(name, tooltip string) node.Input {
		return declare.Optional(declare.Count(name, 0, -layers.MaxSide, layers.MaxSide, tooltip))
	}
	return &node.Class{
		Name: "AddLayer", DisplayName: "Add Layer", Category: "image", Module: module, Experimental: true,
		Description: "Puts pictures on a stack of layers, with their place, their size, their turn and their way of mixing.",
		Inputs: []node.Input{
			layersInput(), declare.Image("image", "The pictures; each is a layer of its own."),
			declare.Optional(declare.Mask("mask", "Where it is 1 the layer is transparent.")),
			declare.Optional(declare.Preset(declare.Text("name", "What the layer is called."), "")),
			place("x", "How far to the right the layer begins."), place("y", "How far down the layer begins."),
			declare.Optional(declare.Stepped(declare.Number("opacity", 1, 0, 1, "0 hides the layer, 1 shows it whole."), 0.01)),
			declare.Optional(declare.Preset(declare.Choice("blend_mode", layers.Modes(), "How the layer is mixed with those below it."), "normal")),
			declare.Optional(declare.Stepped(declare.Number("rotation", 0, -360, 360, "By how many degrees the layer is turned clockwise."), 1.0)),
			sideInput("width", "The width; 0 is the picture's."), sideInput("height", "The height; 0 is the picture's."),
			declare.Optional(declare.Count("z_index", 0, -1000, 1000, "Layers of a lower number lie below those of a higher one.")),
			flag("flip_h", false, "Mirrors the layer left to right."), flag("flip_v", false, "Turns the layer upside down."),
		},
		Outputs: stacked(),
		Run:     runAdd,
	}
}

func runAdd(_ context.Context, call *node.Call) (node.Result, error) {
	layer := layers.Layer{
		Image: call.Image("image"), Mask: node.Given(call, "mask", call.Mask, nil), Name: node.Given(call, "name", call.String, ""),
		X: integer(call, "x"), Y: integer(call, "y"), Z: integer(call, "z_index"),
		Width: max(0, integer(call, "width")), Height: max(0, integer(call, "height")),
		Rotation: node.Given(call, "rotation", call.Float, 0) * (math.Pi / 180), Opacity: node.Given(call, "opacity", call.Float, 1),
		Mode:  node.Given(call, "blend_mode", call.String, "normal"),
		FlipH: node.Given(call, "flip_h", call.Bool, false), FlipV: node.Given(call, "flip_v", call.Bool, false),
	}
	if !slices.Contains(layers.Modes(), layer.Mode) {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeUnknownMode, "unknown blend mode %.64q", layer.Mode)
	}
	for name, v := range map[string]float64{"opacity": layer.Opacity, "rotation": layer.Rotation} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "input %s is %g", name, v)
		}
	}
	return declare.One(before(call).Over(call.MaxPixels, layer))
}

// before returns the stack to extend, or nil.
func before(call *node.Call) *layers.Stack { return node.Given(call, "layers", call.Layers, nil) }

// integer returns an optional integer, which is 0 if it is absent.
func integer(call *node.Call, name string) int { return node.Given(call, name, call.Int, 0) }
