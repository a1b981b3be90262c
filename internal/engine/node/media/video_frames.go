package media

import (
	"context"
	"math"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/random"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

const moduleDataset = "comfy_extras.nodes_dataset"

// maxFrame is the largest number of frames that an input may name.
const maxFrame = 99999

// The ways to choose frames.
const (
	sampleUniform = "uniform"
	sampleHead    = "head"
	sampleTail    = "tail"
	sampleRandom  = "random"
)

// VideoTemporalCrop keeps consecutive frames.
func (f family) VideoTemporalCrop() *node.Class {
	return &node.Class{
		Name: "VideoTemporalCrop", DisplayName: "Crop Video (Temporal)", Category: "video/transform", Module: moduleDataset, Experimental: true,
		Description: "Keeps consecutive frames of a video.", SearchAliases: []string{"crop video", "truncate video"},
		Inputs: []node.Input{
			{Name: "video", Type: node.Video, Tooltip: "The video."},
			declare.Count("start_frame", 0, 0, maxFrame, "The first frame to keep."),
			declare.Count("length", 16, 1, maxFrame, "How many frames to keep."),
		},
		Outputs: []node.Output{{Type: node.Video, Name: "video"}},
		Cost:    framesCost,
		Pixels:  videoPixels,
		Run: f.trim(func(call *node.Call, total int) (start, length int) {
			start = min(call.Int("start_frame"), total-1)
			return start, min(call.Int("length"), total-start)
		}),
	}
}

// VideoRandomTemporalCrop keeps consecutive frames; a seed chooses the first of them.
func (f family) VideoRandomTemporalCrop() *node.Class {
	return &node.Class{
		Name: "VideoRandomTemporalCrop", DisplayName: "Crop Video (Temporal Random)", Category: "video/transform", Module: moduleDataset,
		Experimental:  true,
		Description:   "Keeps consecutive frames of a video, from one on that the seed chooses.",
		SearchAliases: []string{"crop video", "random crop"},
		Inputs: []node.Input{
			{Name: "video", Type: node.Video, Tooltip: "The video."},
			declare.Count("length", 16, 1, maxFrame, "How many frames to keep."),
			{Name: "seed", Type: node.Int, Default: 0, Min: 0, Max: uint64(math.MaxUint64), Tooltip: "Chooses the first frame."},
		},
		Outputs: []node.Output{{Type: node.Video, Name: "video"}},
		Cost:    framesCost,
		Pixels:  videoPixels,
		Run: f.trim(func(call *node.Call, total int) (start, length int) {
			length = min(call.Int("length"), total)
			return int(random.ForNumPy(uint64(call.Int("seed"))).Below(uint32(max(0, total-length)))), length
		}),
	}
}

// trim runs a class that keeps consecutive frames of a video; part names them.
func (f family) trim(part func(call *node.Call, total int) (start, length int)) func(context.Context, *node.Call) (node.Result, error) {
	return func(ctx context.Context, call *node.Call) (node.Result, error) {
		video, err := f.read(ctx, call)
		if err != nil {
			return node.Result{}, err
		}
		start, length := part(call, video.Frames.Frames())
		return consecutive(video, start, length)
	}
}

// consecutive returns a part of a video, with its sound.
func consecutive(video *media.Video, start, length int) (node.Result, error) {
	if start < 0 || length < 1 { // linked values are not checked against the input's range
		return node.Result{}, fault.New(fault.Invalid, fault.CodeVideoPart, "the video does not have %d frames from frame %d on", length, start)
	}
	return declare.One(cut(video, float64(start)/video.FPS, float64(length)/video.FPS))
}

// VideoFrameSample keeps some frames.
func (f family) VideoFrameSample() *node.Class {
	return &node.Class{
		Name: "VideoFrameSample", DisplayName: "Sample Video Frame", Category: "video", Module: moduleDataset, Experimental: true,
		Description:   "Keeps a number of frames of a video: evenly spaced, the first, the last, or some that the seed chooses.",
		SearchAliases: []string{"sample frames"},
		Inputs: []node.Input{
			{Name: "video", Type: node.Video, Tooltip: "The video."},
			declare.Count("num_frames", 16, 1, 9999, "How many frames to keep."),
			declare.Preset(declare.Choice("strategy", []string{sampleUniform, sampleHead, sampleTail, sampleRandom}, "Which frames are kept."),
				sampleUniform),
			{Name: "seed", Type: node.Int, Default: 0, Min: 0, Max: uint64(math.MaxUint64), Tooltip: "Chooses the frames of the strategy random."},
		},
		Outputs: []node.Output{{Type: node.Video, Name: "video"}},
		Cost:    framesCost,
		Pixels:  videoPixels,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			count, strategy, seed := call.Int("num_frames"), call.String("strategy"), call.Int("seed")
			video, err := f.read(ctx, call)
			if err != nil {
				return node.Result{}, err
			}
			total := video.Frames.Frames()
			count = min(count, total)
			switch strategy {
			case sampleHead:
				return consecutive(video, 0, count)
			case sampleTail:
				return consecutive(video, total-count, count)
			}
			chosen, err := sampled(strategy, total, count, seed)
			if err != nil {
				return node.Result{}, err
			}
			frames := make([]*raster.Image, len(chosen))
			for i, at := range chosen {
				frames[i] = video.Frames.Frame(at)
			}
			joined, err := declare.Engine(call).Join(ctx, frames...)
			if err != nil {
				return node.Result{}, err
			}
			return node.Result{Outputs: []node.Value{&media.Video{Frames: joined, FPS: video.FPS}}}, nil
		},
	}
}

// sampled returns the numbers of the frames that are kept, in order.
func sampled(strategy string, total, count, seed int) ([]int, error) {
	if count < 1 || strategy != sampleUniform && strategy != sampleRandom { // linked values are not checked against the input's range
		return nil, fault.New(fault.Invalid, fault.CodeVideoPart, "%d frames cannot be chosen with strategy %.64q", count, strategy)
	}
	if strategy == sampleRandom {
		return slices.Sorted(slices.Values(random.ForNumPy(uint64(seed)).Permutation(total)[:count])), nil
	}
	if count == 1 {
		return []int{total / 2}, nil
	}
	chosen := make([]int, count)
	for i := range chosen {
		chosen[i] = int(math.RoundToEven(float64(i*(total-1)) / float64(count-1)))
	}
	return chosen, nil
}
