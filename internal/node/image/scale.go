package image

import (
	"context"
	"math"

	"github.com/millrace-dev/millrace/internal/node"
	"github.com/millrace-dev/millrace/internal/raster"
)

// methods lists the resize methods in the order that graphs show.
func methods() []string {
	return []string{"nearest-exact", "bilinear", "area", "bicubic", "lanczos"}
}

// ImageScale resizes to a given size.
func ImageScale() *node.Class {
	return &node.Class{
		Name: "ImageScale", DisplayName: "Upscale Image", Category: "image/upscaling", Module: moduleNodes,
		Description:   "Resizes images to a width and height. A side of 0 follows from the other and the aspect ratio.",
		SearchAliases: []string{"resize", "resize image", "scale image", "image resize", "zoom"},
		Inputs: []node.Input{
			images("image", "The images to resize."),
			choice("upscale_method", methods(), "How new pixels are computed."),
			integer("width", 512, 0, maxSide, "The new width; 0 keeps the aspect ratio."),
			integer("height", 512, 0, maxSide, "The new height; 0 keeps the aspect ratio."),
			choice("crop", []string{"disabled", "center"}, "Whether to cut to the new aspect ratio instead of stretching."),
		},
		Outputs: imageOut(),
		Cost:    perPixel(scaleNanos),
		Pixels: func(constants node.Args, upstream int64) int64 {
			w, h := constInt(constants, "width", maxSide), constInt(constants, "height", maxSide)
			if w == 0 || h == 0 {
				return max(upstream, max(w, h)*max(w, h)*assumedAspect)
			}
			return max(upstream, w*h)
		},
		Run: runImageScale,
	}
}

// scaleNanos is the cost of a pixel of the larger of input and output; Lanczos is the slowest.
const scaleNanos = 50

// assumedAspect is the ratio of sides that planning allows for when one side is free.
// Planning also assumes a single frame; the engine's bound holds in any case.
const assumedAspect = 4

func runImageScale(ctx context.Context, call *node.Call) (node.Result, error) {
	in := call.Args.Reader()
	im, width, height := in.Image("image"), in.Int("width"), in.Int("height")
	name, crop := in.String("upscale_method"), in.String("crop")
	if err := in.Err(); err != nil {
		return node.Result{}, err
	}
	if width == 0 && height == 0 {
		return one(im, nil)
	}
	if width == 0 {
		width = max(1, round(float64(im.Width()*height)/float64(im.Height())))
	}
	if height == 0 {
		height = max(1, round(float64(im.Height()*width)/float64(im.Width())))
	}
	return resized(ctx, call, im, width, height, name, crop == "center")
}

// round rounds half to even.
func round(v float64) int { return int(math.RoundToEven(v)) }

func resized(ctx context.Context, call *node.Call, im *raster.Image, width, height int, method string, center bool) (node.Result, error) {
	m, err := raster.ParseMethod(method)
	if err != nil {
		return node.Result{}, err
	}
	if center {
		return one(engine(call).Cover(ctx, im, width, height, m))
	}
	return one(engine(call).Resize(ctx, im, width, height, m))
}

// ImageScaleBy resizes by a factor.
func ImageScaleBy() *node.Class {
	return &node.Class{
		Name: "ImageScaleBy", DisplayName: "Upscale Image By", Category: "image/upscaling", Module: moduleNodes,
		Description: "Resizes images by a factor on both sides.",
		Inputs: []node.Input{
			images("image", "The images to resize."),
			choice("upscale_method", methods(), "How new pixels are computed."),
			number("scale_by", 1.0, 0.01, 8.0, 0.01, "The factor for both sides."),
		},
		Outputs: imageOut(),
		Cost:    perPixel(scaleNanos),
		Pixels: func(constants node.Args, upstream int64) int64 {
			by, ok := constants["scale_by"].(float64)
			if !ok {
				by = 8
			}
			return max(upstream, int64(math.Ceil(float64(upstream)*by*by)))
		},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			in := call.Args.Reader()
			im, method, by := in.Image("image"), in.String("upscale_method"), in.Float("scale_by")
			if err := in.Err(); err != nil {
				return node.Result{}, err
			}
			width, height := round(float64(im.Width())*by), round(float64(im.Height())*by)
			return resized(ctx, call, im, width, height, method, false)
		},
	}
}
