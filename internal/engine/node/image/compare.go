package image

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
)

// ImageCompare shows two images beside each other.
func ImageCompare() *node.Class {
	return &node.Class{
		Name: "ImageCompare", DisplayName: "Compare Images", Category: "image", Essentials: "Image Tools",
		Module:      "comfy_extras.nodes_image_compare",
		Description: "Shows two images with a slider between them.", Experimental: true,
		Inputs: append([]node.Input{
			declare.Optional(declare.Image("image_a", "The one image.")),
			declare.Optional(declare.Image("image_b", "The other image.")),
			{Name: "compare_view", Type: "IMAGECOMPARE", Socketless: true, Tooltip: "The editor's view; its value does not matter."},
		}, HiddenMetadata()...),
		OutputNode: true,
		Cost: func(_ node.Args, pixels int64) time.Duration {
			return time.Duration(pixels*100) + 20*time.Millisecond
		},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			shown := map[string][]any{"a_images": {}, "b_images": {}}
			first := 0
			for _, side := range []string{"a", "b"} {
				if !call.Has("image_" + side) {
					continue
				}
				im := call.Image("image_" + side)
				files, err := ShowAs(ctx, call, im, "comfy.compare."+side, first)
				if err != nil {
					return node.Result{}, err
				}
				shown[side+"_images"], first = files, first+len(files)
			}
			return node.Result{Outputs: []node.Value{}, UI: shown}, nil
		},
	}
}
