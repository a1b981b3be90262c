// Package picture holds native node classes for images beyond those of package image: sending and saving images in
// other ways, resizing images and masks, tiles, colours and edges. Definitions and results are those of ComfyUI's
// classes of the same names.
package picture

import (
	"github.com/millrace-dev/millrace/internal/engine/node"
)

// The Python modules of ComfyUI that declare the classes; clients group classes by them.
const (
	moduleImages         = "comfy_extras.nodes_images"
	modulePostProcessing = "comfy_extras.nodes_post_processing"
	moduleMorphology     = "comfy_extras.nodes_morphology"
	moduleCurve          = "comfy_extras.nodes_curve"
)

// Classes returns the classes of the package in the order of listings.
func Classes() []*node.Class {
	return []*node.Class{
		SaveImageWebsocket(), SaveImageAdvanced(), ImageCompare(), ResizeImageMaskNode(), BatchMasksNode(), ImageCropToMask(), CropByBBoxes(),
		SplitImageToTileList(), ImageMergeTileList(), ImageRGBToYUV(), ImageYUVToRGB(), ImageHistogram(), Canny(), ImageAddNoise(),
	}
}
