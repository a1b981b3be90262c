package image

import (
	"context"
	"io"
	"math"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

// SaveAnimatedPNG writes a batch as one animated file.
func SaveAnimatedPNG() *node.Class {
	return &node.Class{
		Name: "SaveAnimatedPNG", DisplayName: "Save Animated PNG", Category: "image", Module: moduleImages, Version: 1,
		Description: "Writes the images of a batch as the frames of one animated PNG file.",
		Inputs: append([]node.Input{
			declare.Image("images", "The frames."),
			{Name: "filename_prefix", Type: node.String, Default: "ComfyUI", Tooltip: "How the file name begins."},
			number("fps", 6.0, 0.01, 1000.0, 0.01, "Frames per second."),
			declare.Advanced(declare.Count("compress_level", 4, 0, 9, "How hard to compress.")),
		}, HiddenMetadata()...),
		Outputs:    savedOut(),
		OutputNode: true,
		Cost:       encodeCost,
		Run:        runSaveAnimated,
	}
}

func runSaveAnimated(ctx context.Context, call *node.Call) (node.Result, error) {
	im, prefix := call.Image("images"), call.String("filename_prefix")
	fps, level := call.Float("fps"), call.Int("compress_level")
	if !(fps > 0) || level < 0 || level > 9 { // linked values are not checked against the input's range
		return node.Result{}, fault.New(fault.Invalid, fault.CodeAnimation, "%g frames per second at compression %d cannot be written", fps,
			level)
	}
	text, err := Metadata(call)
	if err != nil {
		return node.Result{}, err
	}
	save := node.Save{
		Folder: node.FolderOutput, Suffix: "_.png", ContentType: "image/png", Width: im.Width(), Height: im.Height(),
		Prefix: node.ExpandName(prefix, im.Width(), im.Height(), call.SubmittedAt),
	}
	// The format allows at most 65.5 s a frame.
	o := codec.Animation{Level: level, FrameMillis: int(min(1000/fps, math.MaxUint16)), Metadata: text}
	file, err := call.Files.Save(ctx, save, func(w io.Writer) error {
		return codec.EncodeAnimation(ctx, w, im, o)
	})
	if err != nil {
		return node.Result{}, err
	}
	return animated(im, file), nil
}

// animated returns the result of a class that saved a batch as one file. A file of one frame is not animated.
func animated(im *raster.Image, file node.File) node.Result {
	shown := map[string][]any{"images": {file}}
	if im.Frames() > 1 {
		shown["animated"] = []any{true}
	}
	return node.Result{Outputs: []node.Value{im}, UI: shown}
}
