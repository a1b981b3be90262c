package image

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// ImageBlend mixes two images.
func ImageBlend() *node.Class {
	return &node.Class{
		Name: "ImageBlend", DisplayName: "Blend Images", Category: "image/filters", Module: modulePostProcessing,
		Essentials:  "Image Tools",
		Description: "Mixes a second image into a first; the second is brought to the size of the first.",
		Inputs: []node.Input{
			declare.Image("image1", "The image below."),
			declare.Image("image2", "The image above."),
			number("blend_factor", 0.5, 0.0, 1.0, 0.01, "The share of the mixed result."),
			declare.Choice("blend_mode", raster.BlendModes(), "The formula of the mix."),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(90),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			a, b := call.Image("image1"), call.Image("image2")
			factor, mode := call.Float("blend_factor"), call.String("blend_mode")
			return declare.One(engine(call).Blend(ctx, a, b, mode, factor))
		},
	}
}

// ImageCompositeMasked puts one image onto another.
func ImageCompositeMasked() *node.Class {
	return &node.Class{
		Name: "ImageCompositeMasked", DisplayName: "Image Composite Masked", Category: "image/compositing", Module: moduleMask,
		Description:   "Puts a source image onto a destination at a position, through a mask if there is one.",
		SearchAliases: []string{"overlay", "paste image", "layer"},
		Inputs: []node.Input{
			declare.Image("destination", "The image below."),
			declare.Image("source", "The image to put on top."),
			declare.Integer("x", 0, 0, maxSide, "The left edge of the source."),
			declare.Integer("y", 0, 0, maxSide, "The top edge of the source."),
			{Name: "resize_source", Type: node.Boolean, Default: false, Tooltip: "Stretch the source to the destination first."},
			{Name: "mask", Type: node.Mask, Section: node.Optional, Tooltip: "Where the source shows; stretched to the source."},
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(60),
		Run:     runComposite,
	}
}

func runComposite(ctx context.Context, call *node.Call) (node.Result, error) {
	destination, source := call.Image("destination"), call.Image("source")
	x, y, fill := call.Int("x"), call.Int("y"), call.Bool("resize_source")
	mask := node.Given(call, "mask", call.Mask, nil)
	return declare.One(engine(call).Composite(ctx, destination, source, mask, x, y, fill))
}

// ImageBatch puts the frames of two images into one batch.
func ImageBatch() *node.Class {
	return &node.Class{
		Name: "ImageBatch", DisplayName: "Batch Images (DEPRECATED)", Category: "image/batch", Module: moduleNodes,
		Description:   "Puts two images into one batch; the second is brought to the size of the first.",
		SearchAliases: []string{"combine images", "merge images", "stack images"},
		Deprecated:    true,
		Inputs:        []node.Input{declare.Image("image1", "The first images."), declare.Image("image2", "The images that follow.")},
		Outputs:       declare.Images(""),
		Cost:          declare.PerPixel(50),
		Pixels:        func(_ node.Args, upstream int64) int64 { return 2 * upstream },
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.One(engine(call).Batch(ctx, call.Image("image1"), call.Image("image2")))
		},
	}
}
