package mask

import (
	"context"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// maxSide is the largest width, height or distance that an input may ask for.
const maxSide = 16384

func unit(name string, def float64, tooltip string) node.Input {
	return node.Input{Name: name, Type: node.Float, Default: def, Min: 0.0, Max: 1.0, Step: 0.01, Tooltip: tooltip}
}

// SolidMask makes a mask of one value.
func SolidMask() *node.Class {
	return &node.Class{
		Name: "SolidMask", DisplayName: "Create Solid Mask", Category: category, Module: moduleMask,
		Description: "Makes a mask with the same value everywhere.",
		Inputs: []node.Input{
			unit("value", 1.0, "The value."),
			declare.Integer("width", 512, 1, maxSide, "The width in pixels."),
			declare.Integer("height", 512, 1, maxSide, "The height in pixels."),
		},
		Outputs: maskOut(),
		Cost:    declare.PerPixel(4),
		Pixels: func(constants node.Args, _ int64) int64 {
			side := func(name string) int64 {
				if v, ok := constants[name].(int64); ok {
					return v
				}
				return maxSide
			}
			return side("width") * side("height")
		},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.One(declare.Engine(call).SolidMask(ctx, 1, call.Int("height"), call.Int("width"), float32(call.Float("value"))))
		},
	}
}

// CropMask cuts a rectangle out of masks.
func CropMask() *node.Class {
	return &node.Class{
		Name: "CropMask", DisplayName: "Crop Mask", Category: category, Module: moduleMask,
		Description: "Cuts a rectangle out of a mask; what lies outside makes the result smaller.",
		Inputs: []node.Input{
			declare.Mask("mask", "The mask to cut."),
			declare.Integer("x", 0, 0, maxSide, "The left edge."),
			declare.Integer("y", 0, 0, maxSide, "The top edge."),
			declare.Integer("width", 512, 1, maxSide, "The width of the rectangle."),
			declare.Integer("height", 512, 1, maxSide, "The height of the rectangle."),
		},
		Outputs: maskOut(),
		Cost:    declare.PerPixel(4),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			m, x, y, w, h := call.AnyMask("mask"), call.Int("x"), call.Int("y"), call.Int("width"), call.Int("height")
			x, w = span(x, w, m.Width())
			y, h = span(y, h, m.Height())
			if w == 0 || h == 0 {
				return declare.One(raster.EmptyMask(m.Frames(), h, w), nil)
			}
			return declare.One(declare.Engine(call).CropMask(ctx, m, x, y, w, h))
		},
	}
}

// span returns a part of a side of the given size as a slice does in Python: a negative edge counts from the end.
func span(from, length, size int) (start, count int) {
	index := func(i int) int {
		if i < 0 {
			i += size
		}
		return min(max(i, 0), size)
	}
	start = index(from)
	return start, max(0, index(from+length)-start)
}

// MaskComposite combines two masks.
func MaskComposite() *node.Class {
	return &node.Class{
		Name: "MaskComposite", DisplayName: "Combine Masks", Category: category, Module: moduleMask,
		Description: "Applies an operation where a source mask lies over a destination mask.",
		Inputs: []node.Input{
			declare.Mask("destination", "The mask below."),
			declare.Mask("source", "The mask above."),
			declare.Integer("x", 0, 0, maxSide, "The left edge of the source."),
			declare.Integer("y", 0, 0, maxSide, "The top edge of the source."),
			{Name: "operation", Type: node.Combo, Options: raster.MaskModes(), Tooltip: "The operation."},
		},
		Outputs: maskOut(),
		Cost:    declare.PerPixel(20),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			dst, src, mode := call.Mask("destination"), call.Mask("source"), call.String("operation")
			x, y := call.Int("x"), call.Int("y")
			return declare.One(declare.Engine(call).CombineMasks(ctx, dst, src, x, y, mode))
		},
	}
}

// FeatherMask fades a mask towards its edges.
func FeatherMask() *node.Class {
	return &node.Class{
		Name: "FeatherMask", DisplayName: "Feather Mask", Category: category, Module: moduleMask,
		Description: "Fades a mask towards its edges.",
		Inputs: []node.Input{
			declare.Mask("mask", "The mask to fade."),
			declare.Integer("left", 0, 0, maxSide, "How far the left edge fades."),
			declare.Integer("top", 0, 0, maxSide, "How far the top edge fades."),
			declare.Integer("right", 0, 0, maxSide, "How far the right edge fades."),
			declare.Integer("bottom", 0, 0, maxSide, "How far the bottom edge fades."),
		},
		Outputs: maskOut(),
		Cost:    declare.PerPixel(6),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			m := call.Mask("mask")
			edge := raster.Margins{Left: call.Int("left"), Top: call.Int("top"), Right: call.Int("right"), Bottom: call.Int("bottom")}
			return declare.One(declare.Engine(call).Feather(ctx, m, edge))
		},
	}
}

// GrowMask widens or narrows a mask.
func GrowMask() *node.Class {
	return &node.Class{
		Name: "GrowMask", DisplayName: "Grow Mask", Category: category, Module: moduleMask,
		Description:   "Widens a mask by some pixels, or narrows it when the number is negative.",
		SearchAliases: []string{"expand mask", "shrink mask"},
		Inputs: []node.Input{
			declare.Mask("mask", "The mask to change."),
			declare.Integer("expand", 0, -maxSide, maxSide, "By how many pixels."),
			{Name: "tapered_corners", Type: node.Boolean, Default: true, Advanced: true, Tooltip: "Leave diagonal neighbours out."},
		},
		Outputs: maskOut(),
		Cost:    growCost,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.One(declare.Engine(call).Grow(ctx, call.Mask("mask"), call.Int("expand"), call.Bool("tapered_corners")))
		},
	}
}

// growCost is 10 ns a pixel for each step, twice the measured cost. If the steps are not known, it assumes 128; more
// are rare, and each step can be cancelled.
func growCost(constants node.Args, pixels int64) time.Duration {
	steps := int64(128)
	if n, ok := constants["expand"].(int64); ok {
		steps = max(n, -n)
	}
	return time.Duration(min(pixels*10, maxCost/max(steps, 1))*steps) + time.Millisecond
}

// maxCost is a day in nanoseconds. It keeps estimates of extreme numbers of steps and sizes from overflowing.
const maxCost = int64(24 * time.Hour)

// ThresholdMask makes a mask black and white.
func ThresholdMask() *node.Class {
	return &node.Class{
		Name: "ThresholdMask", DisplayName: "Threshold Mask", Category: category, Module: moduleMask,
		Description:   "Selects fully what is above a value and nothing else.",
		SearchAliases: []string{"binary mask"},
		Inputs:        []node.Input{declare.Mask("mask", "The mask to change."), unit("value", 0.5, "The value to be above.")},
		Outputs:       maskOut(),
		Cost:          declare.PerPixel(6),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			m, value := call.AnyMask("mask"), call.Float("value")
			if m.Empty() {
				return declare.One(m, nil)
			}
			return declare.One(declare.Engine(call).Threshold(ctx, m, value))
		},
	}
}

// ImageColorToMask selects the pixels of one colour.
func ImageColorToMask() *node.Class {
	color := declare.Integer("color", 0, 0, 0xFFFFFF, "The colour as 0xRRGGBB.")
	color.Display = "number"
	return &node.Class{
		Name: "ImageColorToMask", DisplayName: "Convert Image Color to Mask", Category: category, Module: moduleMask,
		Description:   "Selects the pixels that have exactly one colour.",
		SearchAliases: []string{"color keying", "chroma key"},
		Inputs:        []node.Input{{Name: "image", Type: node.Image, Tooltip: "The image to look at."}, color},
		Outputs:       maskOut(),
		Cost:          declare.PerPixel(12),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.One(declare.Engine(call).MatchColor(ctx, call.Image("image"), call.Int("color")))
		},
	}
}

// MaskPreview shows masks as grey images.
func MaskPreview() *node.Class {
	preview := image.PreviewImage()
	return &node.Class{
		Name: "MaskPreview", DisplayName: "Preview Mask", Category: category, Module: moduleMask,
		Description:   "Shows masks without keeping them in the output folder.",
		SearchAliases: []string{"show mask", "view mask", "inspect mask"},
		Inputs:        append([]node.Input{declare.Mask("mask", "The masks to show.")}, preview.Inputs[1:]...),
		Outputs:       []node.Output{{Type: node.Mask, Name: "mask"}},
		OutputNode:    true,
		Cost:          preview.Cost,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			m := call.AnyMask("mask")
			im, err := greyOf(ctx, call, m)
			if err != nil {
				return node.Result{}, err
			}
			res, err := image.ShowFrames(ctx, call, im)
			if err != nil {
				return node.Result{}, err
			}
			return node.Result{Outputs: []node.Value{m}, UI: res.UI}, nil
		},
	}
}

// VOIDQuadmaskPreprocess reduces masks of videos to four levels and inverts them.
func VOIDQuadmaskPreprocess() *node.Class {
	return &node.Class{
		Name: "VOIDQuadmaskPreprocess", DisplayName: "VOID Quadmask Preprocessor", Category: category, Module: "comfy_extras.nodes_void",
		Description: "Brings a mask to the four levels remove, overlap, affected and keep, inverted.",
		Inputs: []node.Input{
			declare.Mask("mask", "The mask, from 0 to 1 or to 255."),
			declare.Integer("dilate_width", 0, 0, 50, "By how many pixels what is removed becomes wider."),
		},
		Outputs: []node.Output{{Type: node.Mask, Name: "quadmask"}},
		Cost:    declare.PerPixel(60),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.One(quadmask(ctx, declare.Engine(call), call.Mask("mask"), call.Int("dilate_width")))
		},
	}
}

// quadmask treats values below 128 as the part to remove.
func quadmask(ctx context.Context, e raster.Engine, m *raster.Mask, wider int) (*raster.Mask, error) {
	values := make([]float32, 0, m.Pixels())
	for i := range m.Frames() * m.Height() {
		values = append(values, m.Row(nil, i/m.Height(), i%m.Height())...)
	}
	removed := make([]float32, len(values))
	if slices.Max(values) <= 1 {
		for i := range values {
			values[i] *= 255
		}
	}
	for i, v := range values {
		if v < 128 {
			removed[i] = 1
		}
	}
	area, err := raster.NewMask(m.Frames(), m.Height(), m.Width(), removed)
	if err == nil && wider > 0 {
		area, err = e.Grow(ctx, area, wider, false)
	}
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		at, x := i/m.Width(), i%m.Width()
		if wider > 0 && area.At(at/m.Height(), at%m.Height(), x, 0) > 0.5 {
			v = 0
		}
		values[i] = (255 - level(v)) / 255
	}
	return raster.NewMask(m.Frames(), m.Height(), m.Width(), values)
}

// level returns the nearest of the four levels.
func level(v float32) float32 {
	switch {
	case v <= 31:
		return 0
	case v <= 95:
		return 63
	case v <= 191:
		return 127
	}
	return 255
}
