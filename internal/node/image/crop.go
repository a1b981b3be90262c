package image

import (
	"context"

	"github.com/millrace-dev/millrace/internal/node"
)

// ImageCrop cuts a rectangle out of images.
func ImageCrop() *node.Class {
	return &node.Class{
		Name: "ImageCrop", DisplayName: "Image Crop", Category: "image/transform", Module: moduleImages,
		Description: "Cuts a rectangle out of images. What lies outside is left away.",
		Deprecated:  true,
		Inputs: []node.Input{
			images("image", "The images to cut."),
			integer("width", 512, 1, maxSide, "The width of the rectangle."),
			integer("height", 512, 1, maxSide, "The height of the rectangle."),
			integer("x", 0, 0, maxSide, "The left edge."),
			integer("y", 0, 0, maxSide, "The top edge."),
		},
		Outputs: imageOut(),
		Cost:    perPixel(copyNanos),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			in := call.Args.Reader()
			im, w, h, x, y := in.Image("image"), in.Int("width"), in.Int("height"), in.Int("x"), in.Int("y")
			if err := in.Err(); err != nil {
				return node.Result{}, err
			}
			return one(engine(call).Crop(ctx, im, x, y, w, h))
		},
	}
}

// copyNanos is the cost of moving a pixel of four floats.
const copyNanos = 10
