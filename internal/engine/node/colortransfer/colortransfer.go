// Package colortransfer holds the node class ColorTransfer, which gives images the colours of other images. Its
// results equal those of ComfyUI's class of that name within rounding: this package sums in 64 bits, ComfyUI in 32.
package colortransfer

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The ways to transfer colours, and the images whose colours are the baseline.
const (
	reinhard  = "reinhard_lab"
	mkl       = "mkl_lab"
	histogram = "histogram"

	perFrame    = "per_frame"
	uniform     = "uniform"
	targetFrame = "target_frame"
)

// Classes returns the package's class.
func Classes() []*node.Class { return []*node.Class{ColorTransfer()} }

// ColorTransfer matches the colours of images to those of others.
func ColorTransfer() *node.Class {
	return &node.Class{
		Name: "ColorTransfer", DisplayName: "Transfer Color", Category: "image/filters", Module: "comfy_extras.nodes_post_processing",
		Description:   "Gives images the colours of other images: their mean and spread in Lab, their covariance in Lab, or their histograms.",
		SearchAliases: []string{"color match", "color grading", "match colors", "reinhard", "histogram"},
		Inputs: []node.Input{
			declare.Image("image_target", "The images to change."),
			declare.Image("image_ref", "The images whose colours are wanted."),
			declare.Choice("method", []string{reinhard, mkl, histogram}, "How colours are matched."),
			declare.Choices("source_stats", "Whose colours are the baseline: each image's own, those of all images, or those of one image.",
				node.Choices{
					{Key: perFrame},
					{Key: uniform},
					{Key: targetFrame, Inputs: []node.Input{declare.Count("target_index", 0, 0, 10000, "The image whose colours are the baseline.")}},
				}),
			declare.Stepped(declare.Number("strength", 1, 0, 10, "0 changes nothing, 1 matches."), 0.01),
		},
		Outputs: declare.Images("image"),
		Cost:    declare.PerPixel(900),
		Run:     run,
	}
}

// transfer holds the arguments of one run.
type transfer struct {
	target, ref      []frame
	method, baseline string
	index            int
	strength         float64
}

// frame is an image as floats, channel after channel in each pixel.
type frame struct {
	pix      []float32
	channels int
}

func (f frame) pixels() int { return len(f.pix) / f.channels }

func run(ctx context.Context, call *node.Call) (node.Result, error) {
	target, ref := call.Image("image_target"), call.Image("image_ref")
	t := transfer{method: call.String("method"), baseline: call.String("source_stats"), strength: call.Float("strength")}
	if t.baseline == targetFrame {
		t.index = call.Int("source_stats.target_index")
	}
	if t.strength == 0 {
		return declare.One(target, nil)
	}
	if target.Channels() != ref.Channels() || t.method != histogram && target.Channels() != 3 {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType,
			"colours of images of %d channels cannot be given to images of %d", ref.Channels(), target.Channels())
	}
	t.target, t.ref, t.index = framesOf(target), framesOf(ref), min(t.index, target.Frames()-1)
	change := t.byHistogram
	if t.method != histogram {
		change = t.byLab
	}
	out, err := change(ctx)
	if err != nil {
		return node.Result{}, err
	}
	return declare.One(raster.NewImage(target.Frames(), target.Height(), target.Width(), target.Channels(), out))
}

func framesOf(im *raster.Image) []frame {
	frames := make([]frame, im.Frames())
	for i := range frames {
		f := frame{channels: im.Channels()}
		for y := range im.Height() {
			f.pix = append(f.pix, im.Row(nil, i, y)...)
		}
		frames[i] = f
	}
	return frames
}

// one returns the frame of a batch that belongs to frame i of another batch: the last frame if the batch is too
// short.
func one(frames []frame, i int) []frame {
	i = min(i, len(frames)-1)
	return frames[i : i+1]
}

// source returns the frames whose colours are the baseline for frame i.
func (t transfer) source(i int) []frame {
	switch t.baseline {
	case perFrame:
		return t.target[i : i+1]
	case targetFrame:
		return t.target[t.index : t.index+1]
	default:
		return t.target
	}
}

// mixed returns the value that lies the given share of the way from one value to another, clamped to 0..1.
func (t transfer) mixed(from, to float64) float32 {
	return float32(min(max(from+t.strength*(to-from), 0), 1))
}
