// Package declare holds parts that declarations of node classes share: inputs of the usual kinds, costs, and results
// of one value. It promises only brevity; the behaviour of a class stays with the class.
package declare

import (
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// MaxSide is the largest width or height that an input may ask for.
const MaxSide = 16384

// Image declares a required image.
func Image(name, tooltip string) node.Input {
	return node.Input{Name: name, Type: node.Image, Tooltip: tooltip}
}

// Mask declares a required mask.
func Mask(name, tooltip string) node.Input {
	return node.Input{Name: name, Type: node.Mask, Tooltip: tooltip}
}

// Text declares a required text of one line, without a default.
func Text(name, tooltip string) node.Input {
	return node.Input{Name: name, Type: node.String, Tooltip: tooltip}
}

// Integer declares a required integer in steps of one.
func Integer(name string, def, least, most int, tooltip string) node.Input {
	in := Count(name, def, least, most, tooltip)
	in.Step = 1
	return in
}

// Count declares a required integer without a step.
func Count(name string, def, least, most int, tooltip string) node.Input {
	return node.Input{Name: name, Type: node.Int, Default: def, Min: least, Max: most, Tooltip: tooltip}
}

// Number declares a required float without a step.
func Number(name string, def, least, most float64, tooltip string) node.Input {
	return node.Input{Name: name, Type: node.Float, Default: def, Min: least, Max: most, Tooltip: tooltip}
}

// Stepped gives an input a step.
func Stepped(in node.Input, step any) node.Input {
	in.Step = step
	return in
}

// Choice declares a required combo.
func Choice(name string, options []string, tooltip string) node.Input {
	return node.Input{Name: name, Type: node.Combo, Options: options, Tooltip: tooltip}
}

// Preset gives an input a default.
func Preset(in node.Input, def any) node.Input {
	in.Default = def
	return in
}

// Advanced marks an input as one that the editor shows only on demand.
func Advanced(in node.Input) node.Input {
	in.Advanced = true
	return in
}

// Optional makes an input optional.
func Optional(in node.Input) node.Input {
	in.Section = node.Optional
	return in
}

// Choices declares an input that chooses a set of inputs.
func Choices(name, tooltip string, choices node.Choices) node.Input {
	return node.Input{Name: name, Type: node.DynamicComboType, Tooltip: tooltip, Extra: map[string]any{"options": choices}}
}

// Images returns the output list of a class with one image; name may be empty.
func Images(name string) []node.Output { return []node.Output{{Type: node.Image, Name: name}} }

// PerPixel returns a cost of the given nanoseconds a pixel on one slow core.
func PerPixel(nanoseconds int64) func(node.Args, int64) time.Duration {
	return func(_ node.Args, pixels int64) time.Duration {
		return time.Duration(pixels*nanoseconds) + time.Millisecond
	}
}

// Engine returns an engine that keeps the bounds of a call.
func Engine(call *node.Call) raster.Engine { return raster.Engine{MaxPixels: call.MaxPixels} }

// One returns the result of a class with a single output.
func One(value node.Value, err error) (node.Result, error) {
	if err != nil {
		return node.Result{}, err
	}
	return node.Result{Outputs: []node.Value{value}}, nil
}

// Two returns the result of a class with two outputs.
func Two[A, B node.Value](a A, b B, err error) (node.Result, error) {
	if err != nil {
		return node.Result{}, err
	}
	return node.Result{Outputs: []node.Value{a, b}}, nil
}
