package image

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// methods lists the resize methods in the order that graphs show.
func methods() []string {
	return []string{"nearest-exact", "bilinear", "area", "bicubic", "lanczos"}
}

// ImageScale resizes to a given size.
func ImageScale() *node.Class {
	return &node.Class{
		Name: "ImageScale", DisplayName: "Upscale Image", Category: "image/upscaling", Module: moduleNodes,
		Essentials:    "Image Tools",
		Description:   "Resizes images to a width and height. A side of 0 follows from the other and the aspect ratio.",
		SearchAliases: []string{"resize", "resize image", "scale image", "image resize", "zoom"},
		Inputs: []node.Input{
			declare.Image("image", "The images to resize."),
			declare.Choice("upscale_method", methods(), "How new pixels are computed."),
			declare.Integer("width", 512, 0, maxSide, "The new width; 0 keeps the aspect ratio."),
			declare.Integer("height", 512, 0, maxSide, "The new height; 0 keeps the aspect ratio."),
			declare.Choice("crop", []string{"disabled", "center"}, "Whether to cut to the new aspect ratio instead of stretching."),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(scaleNanos),
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

// scaleNanos is the cost of a pixel of the larger of input and output, for Lanczos, the slowest method.
const scaleNanos = 50

// assumedAspect is the ratio of sides that planning assumes if one side is free. Planning also assumes a single
// frame; the engine checks the actual bound.
const assumedAspect = 4

func runImageScale(ctx context.Context, call *node.Call) (node.Result, error) {
	im, width, height := call.Image("image"), call.Int("width"), call.Int("height")
	name, crop := call.String("upscale_method"), call.String("crop")
	if width == 0 && height == 0 {
		return declare.One(im, nil)
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
		return declare.One(engine(call).Cover(ctx, im, width, height, m))
	}
	return declare.One(engine(call).Resize(ctx, im, width, height, m))
}

// ImageScaleBy resizes by a factor.
func ImageScaleBy() *node.Class {
	return &node.Class{
		Name: "ImageScaleBy", DisplayName: "Upscale Image By", Category: "image/upscaling", Module: moduleNodes,
		Essentials:  "Image Tools",
		Description: "Resizes images by a factor on both sides.",
		Inputs: []node.Input{
			declare.Image("image", "The images to resize."),
			declare.Choice("upscale_method", methods(), "How new pixels are computed."),
			number("scale_by", 1.0, 0.01, 8.0, 0.01, "The factor for both sides."),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(scaleNanos),
		Pixels: func(constants node.Args, upstream int64) int64 {
			by, ok := constants["scale_by"].(float64)
			if !ok {
				by = 8
			}
			return max(upstream, int64(math.Ceil(float64(upstream)*by*by)))
		},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im, method, by := call.Image("image"), call.String("upscale_method"), call.Float("scale_by")
			width, height := round(float64(im.Width())*by), round(float64(im.Height())*by)
			return resized(ctx, call, im, width, height, method, false)
		},
	}
}

// ImageScaleToTotalPixels resizes to a number of pixels.
func ImageScaleToTotalPixels() *node.Class {
	return &node.Class{
		Name: "ImageScaleToTotalPixels", DisplayName: "Scale Image to Total Pixels", Category: "image/upscaling",
		Module:      modulePostProcessing,
		Description: "Resizes images to about so many megapixels (of 1024 × 1024) and keeps the aspect ratio.",
		Inputs: []node.Input{
			declare.Image("image", "The images to resize."),
			declare.Choice("upscale_method", methods(), "How new pixels are computed."),
			number("megapixels", 1.0, 0.01, 16.0, 0.01, "The size to reach."),
			declare.Advanced(declare.Count("resolution_steps", 1, 1, 256, "Both sides become multiples of this.")),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(scaleNanos),
		Pixels: func(constants node.Args, upstream int64) int64 {
			mp, ok := constants["megapixels"].(float64)
			if !ok {
				mp = 16
			}
			return max(upstream, int64(mp*megapixel*assumedAspect))
		},
		Run: runTotalPixels,
	}
}

// megapixel is a megapixel as these classes count it.
const megapixel = 1024 * 1024

func runTotalPixels(ctx context.Context, call *node.Call) (node.Result, error) {
	im, method := call.Image("image"), call.String("upscale_method")
	mp, steps := call.Float("megapixels"), call.Int("resolution_steps")
	by := math.Sqrt(mp * megapixel / (float64(im.Width()) * float64(im.Height())))
	side := func(n int) int { return round(float64(n)*by/float64(steps)) * steps }
	return resized(ctx, call, im, side(im.Width()), side(im.Height()), method, false)
}

// ImageScaleToMaxDimension resizes so that the longer side has a given length.
func ImageScaleToMaxDimension() *node.Class {
	return &node.Class{
		Name: "ImageScaleToMaxDimension", DisplayName: "Scale Image to Max Dimension", Category: "image/upscaling",
		Module:      moduleImages,
		Description: "Resizes images so that the longer side has the given length.",
		Inputs: []node.Input{
			declare.Image("image", "The images to resize."),
			declare.Choice("upscale_method", []string{"area", "lanczos", "bilinear", "nearest-exact", "bilinear", "bicubic"},
				"How new pixels are computed."),
			declare.Integer("largest_size", 512, 0, maxSide, "The length of the longer side."),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(scaleNanos),
		Pixels: func(constants node.Args, upstream int64) int64 {
			side := constInt(constants, "largest_size", maxSide)
			return max(upstream, side*side)
		},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im, method, side := call.Image("image"), call.String("upscale_method"), call.Int("largest_size")
			width, height := side, side
			if im.Height() > im.Width() {
				width = round(float64(im.Width()) / float64(im.Height()) * float64(side))
			} else if im.Width() > im.Height() {
				height = round(float64(im.Height()) / float64(im.Width()) * float64(side))
			}
			return resized(ctx, call, im, width, height, method, false)
		},
	}
}

// ResizeAndPadImage fits images into a frame.
func ResizeAndPadImage() *node.Class {
	return &node.Class{
		Name: "ResizeAndPadImage", DisplayName: "Resize And Pad Image", Category: "image/transform", Module: moduleImages,
		Description:   "Fits images into a width and height without cutting and fills the rest with a colour.",
		SearchAliases: []string{"fit to size", "letterbox"},
		Inputs: []node.Input{
			declare.Image("image", "The images to fit in."),
			declare.Integer("target_width", 512, 1, maxSide, "The width of the result."),
			declare.Integer("target_height", 512, 1, maxSide, "The height of the result."),
			declare.Advanced(declare.Choice("padding_color", []string{"white", "black"}, "The colour of the rest.")),
			declare.Advanced(declare.Choice("interpolation", []string{"area", "bicubic", "nearest-exact", "bilinear", "lanczos"},
				"How new pixels are computed.")),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(scaleNanos + copyNanos),
		Pixels: func(constants node.Args, upstream int64) int64 {
			return max(upstream, constInt(constants, "target_width", maxSide)*constInt(constants, "target_height", maxSide))
		},
		Run: runResizeAndPad,
	}
}

// bytesOf returns 8-bit samples of a colour whose channels are 0 or 1.
func bytesOf(color []float32) []uint8 {
	out := make([]uint8, len(color))
	for i, v := range color {
		out[i] = uint8(v * 255)
	}
	return out
}

func runResizeAndPad(ctx context.Context, call *node.Call) (node.Result, error) {
	im, width, height := call.Image("image"), call.Int("target_width"), call.Int("target_height")
	color, method := call.String("padding_color"), call.String("interpolation")
	m, err := raster.ParseMethod(method)
	if err != nil {
		return node.Result{}, err
	}
	by := min(float64(width)/float64(im.Width()), float64(height)/float64(im.Height()))
	w, h := int(float64(im.Width())*by), int(float64(im.Height())*by)
	fill := fillColor(color, im.Channels(), colors()[color][0])
	if m == raster.Area && (w == 0 || h == 0) { // there are no pixels to average: the frame stays empty
		return declare.One(engine(call).Solid(ctx, im.Frames(), height, width, bytesOf(fill)))
	}
	if im, err = engine(call).Resize(ctx, im, w, h, m); err != nil {
		return node.Result{}, err
	}
	return declare.One(engine(call).Place(ctx, im, (width-w)/2, (height-h)/2, width, height, fill))
}

// kontextSizes are the sizes with which the Kontext models of Flux were trained, narrow ones first.
var kontextSizes = [][2]int{
	{672, 1568},
	{688, 1504},
	{720, 1456},
	{752, 1392},
	{800, 1328},
	{832, 1248},
	{880, 1184},
	{944, 1104},
	{1024, 1024},
	{1104, 944},
	{1184, 880},
	{1248, 832},
	{1328, 800},
	{1392, 752},
	{1456, 720},
	{1504, 688},
	{1568, 672},
}

// FluxKontextImageScale resizes to the size of kontextSizes with the nearest aspect ratio.
func FluxKontextImageScale() *node.Class {
	return &node.Class{
		Name: "FluxKontextImageScale", Category: "model/conditioning/flux", Module: "comfy_extras.nodes_flux",
		Description: "Cuts and resizes images to the size, of those that Flux Kontext knows, whose aspect ratio is nearest.",
		Inputs:      []node.Input{declare.Image("image", "The images to resize.")},
		Outputs:     declare.Images(""),
		Cost:        declare.PerPixel(scaleNanos),
		Pixels:      func(_ node.Args, upstream int64) int64 { return max(upstream, megapixel+megapixel/16) },
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im := call.Image("image")
			ratio := float64(im.Width()) / float64(im.Height())
			far := func(size [2]int) float64 { return math.Abs(ratio - float64(size[0])/float64(size[1])) }
			size := slices.MinFunc(kontextSizes, func(a, b [2]int) int { return cmp.Compare(far(a), far(b)) })
			return declare.One(engine(call).Cover(ctx, im, size[0], size[1], raster.Lanczos))
		},
	}
}
