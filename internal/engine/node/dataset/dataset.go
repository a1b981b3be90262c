// Package dataset holds the node classes with which ComfyUI prepares images and texts for training, except for those
// that need a folder of the server. Results equal those of the classes of the same names: pictures pass through eight
// bits and Pillow's Lanczos filter.
package dataset

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// module is the Python module of ComfyUI that declares the classes.
const module = "comfy_extras.nodes_dataset"

// ImageClasses returns the classes of images in the order of listings.
func ImageClasses() []*node.Class {
	return []*node.Class{
		ResizeImagesByShorterEdge(), ResizeImagesByLongerEdge(), CenterCropImages(), RandomCropImages(),
		NormalizeImages(), AdjustBrightness(), AdjustContrast(),
		ShuffleDataset(), ShuffleImageTextDataset(), ImageDeduplication(), ImageGrid(), MergeImageLists(),
	}
}

// VideoClasses returns the classes of videos in the order of listings.
func VideoClasses() []*node.Class {
	return []*node.Class{ShuffleVideoDataset(), ShuffleVideoTextDataset()}
}

// TextClasses returns the classes of texts in the order of listings.
func TextClasses() []*node.Class {
	return []*node.Class{
		TextToLowercase(), TextToUppercase(), TruncateText(), AddTextPrefix(), AddTextSuffix(), ReplaceText(), StripWhitespace(),
		MergeTextLists(),
	}
}

// perImage completes a class that changes images one by one.
func perImage(c node.Class, change func(ctx context.Context, call *node.Call, im *raster.Image) (*raster.Image, error)) *node.Class {
	c.Module, c.Experimental = module, true
	c.Inputs = append([]node.Input{declare.Image("images", "The images to change.")}, c.Inputs...)
	c.Outputs = declare.Images("images")
	if c.Cost == nil {
		c.Cost = declare.PerPixel(10)
	}
	c.Run = func(ctx context.Context, call *node.Call) (node.Result, error) {
		return declare.One(change(ctx, call, call.Image("images")))
	}
	return &c
}

// seed declares the input that determines random choices.
func seed() node.Input {
	return node.Input{
		Name: "seed", Type: node.Int, Default: 0, Min: 0, Max: uint64(1<<64 - 1),
		Tooltip: "The same seed makes the same choices.",
	}
}
