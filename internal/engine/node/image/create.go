package image

import (
	"context"
	"fmt"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
)

// maxBatch is the largest number of frames that an input may ask for.
const maxBatch = 4096

// EmptyImage makes frames of one colour.
func EmptyImage() *node.Class {
	color := declare.Integer("color", 0, 0, 0xFFFFFF, "The colour as 0xRRGGBB.")
	color.Display = "color"
	return &node.Class{
		Name: "EmptyImage", DisplayName: "Empty Image", Category: "image", Module: moduleNodes,
		Description: "Makes images of a single colour.",
		Inputs: []node.Input{
			declare.Integer("width", 512, 1, maxSide, "The width in pixels."),
			declare.Integer("height", 512, 1, maxSide, "The height in pixels."),
			declare.Count("batch_size", 1, 1, maxBatch, "How many images to make."),
			color,
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(4),
		Pixels: func(constants node.Args, _ int64) int64 {
			return constInt(constants, "width", maxSide) * constInt(constants, "height", maxSide) *
				constInt(constants, "batch_size", maxBatch)
		},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			w, h, n, c := call.Int("width"), call.Int("height"), call.Int("batch_size"), call.Int("color")
			return declare.One(engine(call).Solid(ctx, n, h, w, []uint8{uint8(c >> 16), uint8(c >> 8), uint8(c)}))
		},
	}
}

// GetImageSize returns an image's size as values, and sends it as a text to clients that watch the job.
func GetImageSize() *node.Class {
	return &node.Class{
		Name: "GetImageSize", DisplayName: "Get Image Size", Category: "image", Module: moduleImages,
		Description:   "Returns the width, height and number of images; the images pass through elsewhere.",
		SearchAliases: []string{"dimensions", "resolution", "image info"},
		Inputs: []node.Input{
			declare.Image("image", "The images to measure."),
			{Name: "unique_id", Type: "UNIQUE_ID", Section: node.Hidden},
		},
		Outputs: []node.Output{
			{Type: node.Int, Name: "width"}, {Type: node.Int, Name: "height"}, {Type: node.Int, Name: "batch_size"},
		},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			im := call.Image("image")
			w, h, n := im.Width(), im.Height(), im.Frames()
			if call.Live != nil {
				call.Live.Text(fmt.Sprintf("width: %d, height: %d\n batch size: %d", w, h, n))
			}
			return node.Result{Outputs: []node.Value{int64(w), int64(h), int64(n)}}, nil
		},
	}
}
