package image

import (
	"context"
	"io"
	"math"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

// LossyWriter writes the frames of an image as one animated, lossy WebP file of a quality from 0 to 100.
type LossyWriter func(ctx context.Context, w io.Writer, im *raster.Image, fps float64, quality int, method string) error

// SaveAnimatedWEBP writes a batch as one animated file. Lossy files need a writer; without one, the class refuses
// them.
func SaveAnimatedWEBP(lossy LossyWriter) *node.Class {
	return &node.Class{
		Name: "SaveAnimatedWEBP", DisplayName: "Save Animated WEBP", Category: "image", Module: moduleImages,
		Description: "Writes the images of a batch as the frames of one animated WebP file. " +
			"A file with losses is written by ffmpeg, without the graph that made it.",
		Inputs: append([]node.Input{
			declare.Image("images", "The frames."),
			{Name: "filename_prefix", Type: node.String, Default: "ComfyUI", Tooltip: "How the file name begins."},
			number("fps", 6.0, 0.01, 1000.0, 0.01, "Frames per second."),
			{Name: "lossless", Type: node.Boolean, Default: true, Tooltip: "Whether every pixel is kept."},
			declare.Count("quality", 80, 0, 100, "How good a file with losses is."),
			declare.Choice("method", []string{"default", "fastest", "slowest"}, "How hard to compress."),
		}, HiddenMetadata()...),
		Outputs:    savedOut(),
		OutputNode: true,
		Cost:       webpCost,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return runSaveWebP(ctx, call, lossy)
		},
	}
}

// webpCost is the cost of lossless compression of one frame after the other.
func webpCost(_ node.Args, pixels int64) time.Duration {
	return time.Duration(pixels*700) + 20*time.Millisecond
}

// maxWebPMillis is the longest duration of a frame in the format.
const maxWebPMillis = 1<<24 - 1

func runSaveWebP(ctx context.Context, call *node.Call, lossy LossyWriter) (node.Result, error) {
	im, prefix, fps := call.Image("images"), call.String("filename_prefix"), call.Float("fps")
	lossless, quality, method := call.Bool("lossless"), call.Int("quality"), call.String("method")
	if !(fps > 0) { // a linked value is not checked against the input's range
		return node.Result{}, fault.New(fault.Invalid, fault.CodeAnimation, "%g frames per second cannot be written", fps)
	}
	if !lossless && lossy == nil {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType,
			"a lossy WebP file needs ffmpeg, which is not installed; set lossless to true")
	}
	text, err := Metadata(call)
	if err != nil {
		return node.Result{}, err
	}
	save := node.Save{
		Folder: node.FolderOutput, Suffix: "_.webp", ContentType: "image/webp", Width: im.Width(), Height: im.Height(),
		Prefix: node.ExpandName(prefix, im.Width(), im.Height(), call.SubmittedAt),
	}
	o := codec.WebPAnimation{FrameMillis: int(min(math.Trunc(1000/fps), maxWebPMillis)), Metadata: text}
	file, err := call.Files.Save(ctx, save, func(w io.Writer) error {
		if !lossless {
			return lossy(ctx, w, im, fps, quality, method)
		}
		return codec.EncodeWebP(ctx, w, im, o)
	})
	if err != nil {
		return node.Result{}, err
	}
	return animated(im, file), nil
}
