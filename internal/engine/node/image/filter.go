package image

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/palette"
)

// ImageInvert inverts colours.
func ImageInvert() *node.Class {
	return &node.Class{
		Name: "ImageInvert", DisplayName: "Invert Image Colors", Category: "image/color", Module: moduleNodes,
		Essentials:    "Image Tools",
		Description:   "Replaces every value by one minus itself.",
		SearchAliases: []string{"reverse colors", "negative"},
		Inputs:        []node.Input{declare.Image("image", "The images to invert.")},
		Outputs:       declare.Images(""),
		Cost:          declare.PerPixel(10),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.One(engine(call).Invert(ctx, call.Image("image")))
		},
	}
}

// maxRadius is the largest radius of blur and sharpen.
const maxRadius = 31

// ImageBlur softens images.
func ImageBlur() *node.Class {
	return &node.Class{
		Name: "ImageBlur", DisplayName: "Blur Image", Category: "image/filters", Module: modulePostProcessing,
		Description: "Softens images with a Gaussian window.",
		Inputs: []node.Input{
			declare.Image("image", "The images to soften."),
			declare.Integer("blur_radius", 1, 1, maxRadius, "How many pixels to each side the window reaches."),
			number("sigma", 1.0, 0.1, 10.0, 0.1, "How flat the window is, relative to its radius."),
		},
		Outputs: declare.Images(""),
		Cost:    blurCost("blur_radius"),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.One(engine(call).Blur(ctx, call.Image("image"), call.Int("blur_radius"), call.Float("sigma")))
		},
	}
}

// blurCost is linear in the radius that the named input gives. A linked radius counts as the largest one.
func blurCost(input string) func(node.Args, int64) time.Duration {
	return func(constants node.Args, pixels int64) time.Duration {
		radius, ok := constants[input].(int64)
		if !ok || radius < 1 || radius > maxRadius {
			radius = maxRadius
		}
		return declare.PerPixel(20+6*radius)(nil, pixels)
	}
}

// ImageSharpen sharpens images.
func ImageSharpen() *node.Class {
	return &node.Class{
		Name: "ImageSharpen", DisplayName: "Sharpen Image", Category: "image/filters", Module: modulePostProcessing,
		Description: "Sharpens images by subtracting a blurred copy.",
		Inputs: []node.Input{
			declare.Image("image", "The images to sharpen."),
			declare.Advanced(declare.Integer("sharpen_radius", 1, 1, maxRadius, "How many pixels to each side the window reaches.")),
			declare.Advanced(number("sigma", 1.0, 0.1, 10.0, 0.01, "How flat the window is, relative to its radius.")),
			declare.Advanced(number("alpha", 1.0, 0.0, 5.0, 0.01, "How strong the effect is.")),
		},
		Outputs: declare.Images(""),
		Cost:    blurCost("sharpen_radius"),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im, radius := call.Image("image"), call.Int("sharpen_radius")
			sigma, alpha := call.Float("sigma"), call.Float("alpha")
			return declare.One(engine(call).Sharpen(ctx, im, radius, sigma, alpha))
		},
	}
}

// Morphology applies a morphological operation.
func Morphology() *node.Class {
	return &node.Class{
		Name: "Morphology", DisplayName: "Apply Morphology", Category: "image/filters", Module: moduleMorphology,
		Description:   "Shrinks or widens bright areas, or shows the difference such a step makes.",
		SearchAliases: []string{"erode", "dilate"},
		Inputs: []node.Input{
			declare.Image("image", "The images to change."),
			declare.Choice("operation", raster.Morphologies(), "The operation."),
			declare.Integer("kernel_size", 3, 3, 999, "The side of the square that each pixel sees."),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(1100),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.One(engine(call).Morph(ctx, call.Image("image"), call.String("operation"), call.Int("kernel_size")))
		},
	}
}

// ImageQuantize reduces images to a few colours.
func ImageQuantize() *node.Class {
	return &node.Class{
		Name: "ImageQuantize", DisplayName: "Quantize Image", Category: "image/filters", Module: modulePostProcessing,
		Description:   "Reduces each image to a palette of its own.",
		SearchAliases: []string{"posterize", "palette", "reduce colors"},
		Inputs: []node.Input{
			declare.Image("image", "The images to reduce."),
			declare.Integer("colors", 256, 1, 256, "The size of the palette."),
			declare.Choice("dither", palette.Dithers(), "How in-between colours are imitated."),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(quantizeNanos),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.One(palette.Quantize(ctx, engine(call), call.Image("image"), call.Int("colors"), call.String("dither")))
		},
	}
}

// quantizeNanos is the cost of a pixel of a picture in which every pixel has another colour: counting them dominates.
const quantizeNanos = 500
