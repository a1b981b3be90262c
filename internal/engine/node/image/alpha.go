package image

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

const moduleCompositing = "comfy_extras.nodes_compositing"

// SplitImageWithAlpha separates colours and transparency.
func SplitImageWithAlpha() *node.Class {
	return &node.Class{
		Name: "SplitImageWithAlpha", DisplayName: "Split Image with Alpha", Category: "image/compositing", Module: moduleCompositing,
		Description:   "Separates an image into colours and a mask that is 1 where it is transparent.",
		SearchAliases: []string{"extract alpha", "separate transparency", "remove alpha"},
		Inputs:        []node.Input{declare.Image("image", "The images to separate.")},
		Outputs:       []node.Output{{Type: node.Image}, {Type: node.Mask}},
		Cost:          declare.PerPixel(3 * copyNanos),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.Two(engine(call).SplitAlpha(ctx, call.Image("image")))
		},
	}
}

// JoinImageWithAlpha adds transparency to colours.
func JoinImageWithAlpha() *node.Class {
	return &node.Class{
		Name: "JoinImageWithAlpha", DisplayName: "Join Image with Alpha", Category: "image/compositing", Module: moduleCompositing,
		Description:   "Makes images transparent where a mask is 1.",
		SearchAliases: []string{"add transparency", "apply alpha", "composite alpha", "RGBA"},
		Inputs: []node.Input{
			declare.Image("image", "The colours."),
			{Name: "alpha", Type: node.Mask, Tooltip: "What becomes transparent; stretched to the image."},
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(25),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.One(engine(call).JoinAlpha(ctx, call.Image("image"), call.Mask("alpha")))
		},
	}
}

// PorterDuffImageComposite composes two images with transparency.
func PorterDuffImageComposite() *node.Class {
	mode := declare.Choice("mode", raster.DuffModes(), "The operation.")
	mode.Default = "DST"
	return &node.Class{
		Name: "PorterDuffImageComposite", DisplayName: "Porter-Duff Image Composite", Category: "image/compositing", Module: moduleCompositing,
		Description:   "Composes a source with a destination by one of the Porter-Duff operations. Masks are 1 where transparent.",
		SearchAliases: []string{"alpha composite", "blend modes", "layer blend", "transparency blend"},
		Inputs: []node.Input{
			declare.Image("source", "The image above."),
			{Name: "source_alpha", Type: node.Mask, Tooltip: "Where the source is transparent."},
			declare.Image("destination", "The image below."),
			{Name: "destination_alpha", Type: node.Mask, Tooltip: "Where the destination is transparent."},
			mode,
		},
		Outputs: []node.Output{{Type: node.Image}, {Type: node.Mask}},
		Cost:    declare.PerPixel(60),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			src := raster.Layer{Image: call.Image("source"), Mask: call.Mask("source_alpha")}
			dst := raster.Layer{Image: call.Image("destination"), Mask: call.Mask("destination_alpha")}
			mode := call.String("mode")
			return declare.Two(engine(call).PorterDuff(ctx, src, dst, mode))
		},
	}
}
