// Package image holds the native node classes that load, save, show, change and compare images. Definitions and results are those of
// ComfyUI's classes of the same names. Package raster does the work on pixels; package standard lists the classes of all
// families.
package image

import (
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// maxSide is the largest width or height that an input may ask for.
const maxSide = 16384

// The Python modules of ComfyUI that declare the classes; clients group classes by them.
const (
	moduleNodes          = "nodes"
	moduleImages         = "comfy_extras.nodes_images"
	modulePostProcessing = "comfy_extras.nodes_post_processing"
	moduleMask           = "comfy_extras.nodes_mask"
	moduleMorphology     = "comfy_extras.nodes_morphology"
	moduleCurve          = "comfy_extras.nodes_curve"
)

// Classes returns the classes of the package in the order of listings. lossy, which may be nil, writes WebP files with losses.
func Classes(lossy LossyWriter) []*node.Class {
	return []*node.Class{
		LoadImage(), LoadImageMask(), LoadImageOutput(), SaveImage(), PreviewImage(), SaveAnimatedPNG(), SaveAnimatedWEBP(lossy),
		EmptyImage(), GetImageSize(),
		ImageScale(), ImageScaleBy(), ImageScaleToTotalPixels(), ImageScaleToMaxDimension(), FluxKontextImageScale(), ResizeAndPadImage(),
		ImageCrop(), ImageCropV2(), ImageRotate(), ImageFlip(), ImageStitch(), ImagePadForOutpaint(),
		ImageFromBatch(), RepeatImageBatch(), ImageBatch(), BatchImagesNode(), RebatchImages(),
		ImageInvert(), ImageBlend(), ImageBlur(), ImageSharpen(), ImageQuantize(), Morphology(),
		ImageCompositeMasked(), PorterDuffImageComposite(), SplitImageWithAlpha(), JoinImageWithAlpha(),
		SaveImageWebsocket(), SaveImageAdvanced(), ImageCompare(), ResizeImageMaskNode(), BatchMasksNode(), ImageCropToMask(), CropByBBoxes(),
		SplitImageToTileList(), ImageMergeTileList(), ImageRGBToYUV(), ImageYUVToRGB(), ImageHistogram(), Canny(), ImageAddNoise(),
	}
}

// engine runs operations within the bounds of a call.
func engine(call *node.Call) raster.Engine {
	return raster.Engine{MaxPixels: call.MaxPixels, Progress: progress(call.Live)}
}

// progressSteps is the number of progress reports of a long operation: one for each percent.
const progressSteps = 100

// progress turns row counts into at most progressSteps reports.
func progress(live node.Live) func(done, total int) {
	if live == nil {
		return nil
	}
	last := 0
	return func(done, total int) {
		if step := done * progressSteps / max(1, total); step > last {
			last = step
			live.Progress(step, progressSteps)
		}
	}
}

// number declares a required float input.
func number(name string, def, least, most, step float64, tooltip string) node.Input {
	return node.Input{Name: name, Type: node.Float, Default: def, Min: least, Max: most, Step: step, Tooltip: tooltip}
}

// constInt returns a constant integer, or the value or if the input is linked or absent.
func constInt(constants node.Args, name string, or int64) int64 {
	if v, ok := constants[name].(int64); ok {
		return v
	}
	return or
}
