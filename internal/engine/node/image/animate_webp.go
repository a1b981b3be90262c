package image

import (
	"context"
	"io"
	"math"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

// SaveAnimatedWEBP writes a batch as one animated file, always without loss. Where a lossy file is asked for, the result is
// larger than needed, but no pixel is worse.
func SaveAnimatedWEBP() *node.Class {
	return &node.Class{
		Name: "SaveAnimatedWEBP", DisplayName: "Save Animated WEBP", Category: "image", Module: moduleImages,
		Description: "Writes the images of a batch as the frames of one animated WebP file, always without loss: " +
			"quality and method are taken and change nothing.",
		Inputs: append([]node.Input{
			images("images", "The frames."),
			{Name: "filename_prefix", Type: node.String, Default: "ComfyUI", Tooltip: "How the file name begins."},
			number("fps", 6.0, 0.01, 1000.0, 0.01, "Frames per second."),
			{Name: "lossless", Type: node.Boolean, Default: true, Tooltip: "Whether every pixel is kept; they are in any case."},
			count("quality", 80, 0, 100, "How good a file with losses would be."),
			choice("method", []string{"default", "fastest", "slowest"}, "How hard to compress."),
		}, HiddenMetadata()...),
		Outputs:    savedOut(),
		OutputNode: true,
		Cost:       webpCost,
		Run:        runSaveWebP,
	}
}

// webpCost is lossless compression, one frame behind the other.
func webpCost(_ node.Args, pixels int64) time.Duration {
	return time.Duration(pixels*700) + 20*time.Millisecond
}

// maxWebPMillis is the longest that the format lets a frame show.
const maxWebPMillis = 1<<24 - 1

func runSaveWebP(ctx context.Context, call *node.Call) (node.Result, error) {
	in := call.Args.Reader()
	im, prefix, fps := in.Image("images"), in.String("filename_prefix"), in.Float("fps")
	if err := in.Err(); err != nil {
		return node.Result{}, err
	}
	if !(fps > 0) { // a linked value is in no range
		return node.Result{}, fault.New(fault.Invalid, fault.CodeAnimation, "%g frames per second cannot be written", fps)
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
	file, err := call.Files.Save(ctx, save, func(w io.Writer) error { return codec.EncodeWebP(ctx, w, im, o) })
	if err != nil {
		return node.Result{}, err
	}
	return animated(im, file), nil
}
