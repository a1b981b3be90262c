package dataset

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/random"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

const (
	// maxEdge is the largest side that an input of these classes may ask for.
	maxEdge = 8192
	// resizeNanos is the cost of a pixel of the larger of input and output.
	resizeNanos = 50
	// assumedAspect is the ratio of sides that planning assumes.
	assumedAspect = 4
)

// ResizeImagesByShorterEdge resizes images so that the shorter side has the given length.
func ResizeImagesByShorterEdge() *node.Class {
	return byEdge("ResizeImagesByShorterEdge", "Resize Images by Shorter Edge (DEPRECATED)", "shorter_edge", 512,
		func(w, h int) bool { return w < h })
}

// ResizeImagesByLongerEdge resizes images so that the longer side has the given length.
func ResizeImagesByLongerEdge() *node.Class {
	return byEdge("ResizeImagesByLongerEdge", "Resize Images by Longer Edge (DEPRECATED)", "longer_edge", 1024,
		func(w, h int) bool { return w > h })
}

// byEdge is a class that resizes one side to a length; across reports whether this side is the width.
func byEdge(name, display, input string, def int, across func(w, h int) bool) *node.Class {
	return perImage(node.Class{
		Name: name, DisplayName: display, Category: "image/transform", Deprecated: true,
		Description: "Resizes images so that one side has the given length, and keeps the aspect ratio.",
		Inputs:      []node.Input{declare.Count(input, def, 1, maxEdge, "The length of that side.")},
		Cost:        declare.PerPixel(resizeNanos),
		Pixels: func(constants node.Args, upstream int64) int64 {
			edge, ok := constants[input].(int64)
			if !ok {
				edge = maxEdge
			}
			return max(upstream, edge*edge*assumedAspect)
		},
	}, func(ctx context.Context, call *node.Call, im *raster.Image) (*raster.Image, error) {
		edge := call.Int(input)
		w, h := edge, edge
		if across(im.Width(), im.Height()) {
			h = int(float64(im.Height()) * (float64(edge) / float64(im.Width())))
		} else {
			w = int(float64(im.Width()) * (float64(edge) / float64(im.Height())))
		}
		return declare.Engine(call).Resize(ctx, im.EightBit(), w, h, raster.Lanczos)
	})
}

func cropInputs() []node.Input {
	return []node.Input{
		declare.Count("width", 512, 1, maxEdge, "The width of the rectangle."),
		declare.Count("height", 512, 1, maxEdge, "The height of the rectangle."),
	}
}

// CenterCropImages cuts a rectangle out of the middle of images.
func CenterCropImages() *node.Class {
	return perImage(node.Class{
		Name: "CenterCropImages", DisplayName: "Crop Image (Center)", Category: "image/transform",
		Description: "Cuts a rectangle out of the middle of images.", SearchAliases: []string{"crop", "trim"},
		Inputs: cropInputs(),
	}, func(ctx context.Context, call *node.Call, im *raster.Image) (*raster.Image, error) {
		w, h := call.Int("width"), call.Int("height")
		return declare.Engine(call).Crop(ctx, im.EightBit(), max(0, (im.Width()-w)/2), max(0, (im.Height()-h)/2), w, h)
	})
}

// RandomCropImages cuts a rectangle out of images at a position that a seed chooses. All images of a batch are cut at
// the same position.
func RandomCropImages() *node.Class {
	return perImage(node.Class{
		Name: "RandomCropImages", DisplayName: "Crop Image (Random)", Category: "image/transform",
		Description: "Cuts a rectangle out of images at a place that the seed chooses.", SearchAliases: []string{"crop", "trim"},
		Inputs: append(cropInputs(), seed()),
	}, func(ctx context.Context, call *node.Call, im *raster.Image) (*raster.Image, error) {
		w, h, seed := call.Int("width"), call.Int("height"), call.Int("seed")
		r := random.ForNumPy(uint64(seed))
		x := r.Below(uint32(max(0, im.Width()-w)))
		y := r.Below(uint32(max(0, im.Height()-h)))
		return declare.Engine(call).Crop(ctx, im.EightBit(), int(x), int(y), w, h)
	})
}
