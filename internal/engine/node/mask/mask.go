// Package mask holds the native node classes that make and change masks. Their definitions and results are those of
// ComfyUI's classes of the same names. Package raster does the work on pixels.
package mask

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

const (
	category   = "image/mask"
	moduleMask = "comfy_extras.nodes_mask"
)

// Classes returns the classes of the package in the order of listings.
func Classes() []*node.Class {
	return []*node.Class{
		MaskToImage(), ImageToMask(), ImageColorToMask(), SolidMask(), InvertMask(), CropMask(),
		MaskComposite(), FeatherMask(), GrowMask(), ThresholdMask(), VOIDQuadmaskPreprocess(), MaskPreview(),
	}
}

func maskOut() []node.Output { return []node.Output{{Type: node.Mask}} }

// MaskToImage shows a mask as a grey image.
func MaskToImage() *node.Class {
	return &node.Class{
		Name: "MaskToImage", DisplayName: "Convert Mask to Image", Category: category, Module: moduleMask,
		Description: "Turns a mask into a grey image.",
		Inputs:      []node.Input{declare.Mask("mask", "The mask to show.")},
		Outputs:     []node.Output{{Type: node.Image}},
		Cost:        declare.PerPixel(12),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.One(greyOf(ctx, call, call.AnyMask("mask")))
		},
	}
}

// greyOf returns a mask as a grey image.
func greyOf(ctx context.Context, call *node.Call, m *raster.Mask) (*raster.Image, error) {
	if m.Empty() {
		refusal := fault.New(fault.Invalid, fault.CodeEmptyImage, "the mask of %d × %d × %d pixels is empty", m.Frames(), m.Width(), m.Height())
		return nil, refusal.Raising("RuntimeError", "cannot reshape tensor of 0 elements into shape [-1, 1, %d, %d] "+
			"because the unspecified dimension size -1 can be any value and is ambiguous", m.Height(), m.Width())
	}
	return declare.Engine(call).MaskImage(ctx, m)
}

// channels are the names of an image's channels in their order.
func channels() []string { return []string{"red", "green", "blue", "alpha"} }

// ImageToMask takes one channel of an image.
func ImageToMask() *node.Class {
	return &node.Class{
		Name: "ImageToMask", DisplayName: "Convert Image to Mask", Category: category, Module: moduleMask,
		Description: "Uses one channel of an image as a mask.",
		Inputs: []node.Input{
			{Name: "image", Type: node.Image, Tooltip: "The image to take the channel from."},
			{Name: "channel", Type: node.Combo, Options: channels(), Tooltip: "The channel to use."},
		},
		Outputs: maskOut(),
		Cost:    declare.PerPixel(12),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im, channel := call.Image("image"), call.String("channel")
			for i, name := range channels() {
				if name == channel {
					return declare.One(declare.Engine(call).Channel(ctx, im, i))
				}
			}
			return declare.One(declare.Engine(call).Channel(ctx, im, -1))
		},
	}
}

// InvertMask swaps the selected and the unselected area.
func InvertMask() *node.Class {
	return &node.Class{
		Name: "InvertMask", DisplayName: "Invert Mask", Category: category, Module: moduleMask,
		Description: "Swaps the selected and the unselected area.",
		Inputs:      []node.Input{declare.Mask("mask", "The mask to invert.")},
		Outputs:     maskOut(),
		Cost:        declare.PerPixel(6),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			m := call.AnyMask("mask")
			if m.Empty() {
				return declare.One(m, nil)
			}
			return declare.One(declare.Engine(call).InvertMask(ctx, m))
		},
	}
}
