package image

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/random"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// ImageAddNoise adds normal noise.
func ImageAddNoise() *node.Class {
	return &node.Class{
		Name: "ImageAddNoise", DisplayName: "Add Noise to Image", Category: "image/filters", Module: moduleImages,
		Description: "Adds noise to images. A seed gives the noise that PyTorch makes of it on a CPU.", SearchAliases: []string{"film grain"},
		Inputs: []node.Input{
			declare.Image("image", "The images."),
			{
				Name: "seed", Type: node.Int, Default: 0, Min: 0, Max: uint64(1<<64 - 1), Control: true,
				Tooltip: "The same seed makes the same noise.",
			},
			declare.Stepped(declare.Number("strength", 0.5, 0, 1, "How strong the noise is."), 0.01),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(400),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			im, seed, strength := call.Image("image"), call.Int("seed"), float32(call.Float("strength"))
			noise := make([]float32, im.Pixels()*int64(im.Channels()))
			random.New(uint32(seed)).Normal(noise)
			at := 0
			for f := range im.Frames() {
				for y := range im.Height() {
					if ctx.Err() != nil {
						return node.Result{}, context.Cause(ctx)
					}
					for _, v := range im.Row(nil, f, y) {
						noise[at] = unit(v + strength*noise[at])
						at++
					}
				}
			}
			return declare.One(raster.NewImage(im.Frames(), im.Height(), im.Width(), im.Channels(), noise))
		},
	}
}
