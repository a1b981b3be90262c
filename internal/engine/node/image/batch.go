package image

import (
	"context"
	"fmt"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

const moduleRebatch = "comfy_extras.nodes_rebatch"

// ImageFromBatch takes frames out of a batch.
func ImageFromBatch() *node.Class {
	return &node.Class{
		Name: "ImageFromBatch", DisplayName: "Get Image from Batch", Category: "image/batch", Module: moduleImages,
		Description: "Takes consecutive images out of a batch. A negative index counts from the end.",
		Inputs: []node.Input{
			declare.Image("image", "The batch."),
			declare.Count("batch_index", 0, -maxSide, maxSide, "The first image to take."),
			declare.Count("length", 1, 1, maxBatch, "How many images to take."),
		},
		Outputs: declare.Images(""),
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			im, first, length := call.Image("image"), call.Int("batch_index"), call.Int("length")
			if first < 0 {
				first += im.Frames()
			}
			first = min(max(first, 0), im.Frames()-1)
			length = min(max(length, 1), im.Frames()-first)
			return declare.One(im.Slice(first, length), nil)
		},
	}
}

// RepeatImageBatch repeats a batch.
func RepeatImageBatch() *node.Class {
	return &node.Class{
		Name: "RepeatImageBatch", DisplayName: "Repeat Image Batch", Category: "image/batch", Module: moduleImages,
		Description: "Repeats all images of a batch.",
		Inputs: []node.Input{
			declare.Image("image", "The batch."),
			declare.Count("amount", 1, 1, maxBatch, "How often the batch appears in the result."),
		},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(copyNanos),
		Pixels: func(constants node.Args, upstream int64) int64 {
			return upstream * max(1, constInt(constants, "amount", maxBatch))
		},
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return declare.One(engine(call).Repeat(ctx, call.Image("image"), call.Int("amount")))
		},
	}
}

// maxBatched is the largest number of images or masks that one class puts into a batch.
const maxBatched = 50

// BatchImagesNode puts up to maxBatched images into one batch. Its arguments are "images.image0" to "images.image49".
func BatchImagesNode() *node.Class {
	return &node.Class{
		Name: "BatchImagesNode", DisplayName: "Batch Images", Category: "image/batch", Module: modulePostProcessing,
		Essentials:    "Image Tools",
		Description:   "Puts images into one batch; all are brought to the size of the first.",
		SearchAliases: []string{"batch", "image batch", "combine images", "merge images"},
		Inputs: []node.Input{{
			Name: "images", Type: node.AutogrowType, Tooltip: "The images to batch.",
			Extra: map[string]any{"template": node.Autogrow{
				Each: node.Input{Name: "image", Type: node.Image}, Prefix: "image", Min: 1, Max: maxBatched,
			}},
		}},
		Outputs: declare.Images(""),
		Cost:    declare.PerPixel(50),
		Pixels:  func(_ node.Args, upstream int64) int64 { return upstream * maxBatched },
		Run:     runBatchImages,
	}
}

func runBatchImages(ctx context.Context, call *node.Call) (node.Result, error) {
	var parts []*raster.Image
	for i := range maxBatched {
		if name := fmt.Sprintf("images.image%d", i); call.Has(name) {
			parts = append(parts, call.Image(name))
		}
	}
	if len(parts) == 0 {
		call.Image("images.image0")
	}
	channels := 0
	for _, im := range parts {
		channels = max(channels, im.Channels())
	}
	for i, im := range parts {
		im = im.WithChannels(channels)
		if first := parts[0]; im.Width() != first.Width() || im.Height() != first.Height() {
			var err error
			if im, err = engine(call).Cover(ctx, im, first.Width(), first.Height(), raster.Bilinear); err != nil {
				return node.Result{}, err
			}
		}
		parts[i] = im
	}
	return declare.One(engine(call).Join(ctx, parts...))
}

// RebatchImages cuts a list of batches into batches of equal length.
func RebatchImages() *node.Class {
	return &node.Class{
		Name: "RebatchImages", DisplayName: "Rebatch Images", Category: "image/batch", Module: moduleRebatch,
		Description: "Collects all images of a list and hands them on in batches of a given length.",
		InputIsList: true,
		Inputs: []node.Input{
			declare.Image("images", "The images to collect."),
			declare.Count("batch_size", 1, 1, maxBatch, "The length of each batch; the last may be shorter."),
		},
		Outputs: []node.Output{{Type: node.Image, IsList: true}},
		Cost:    declare.PerPixel(copyNanos),
		Run:     runRebatch,
	}
}

func runRebatch(ctx context.Context, call *node.Call) (node.Result, error) {
	length, frames := call.Int("batch_size"), call.Frames("images")
	if length < 1 {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeEmptyBatch, "batches of %d images are empty", length)
	}
	out := node.List{}
	for at := 0; at < len(frames); at += length {
		im, err := engine(call).Join(ctx, frames[at:min(at+length, len(frames))]...)
		if err != nil {
			return node.Result{}, err
		}
		out = append(out, im)
	}
	return node.Result{Outputs: []node.Value{out}}, nil
}
