// Package media holds the node classes of sound and video. Definitions and results are those of ComfyUI's classes of the same
// names. The classes are available if ffmpeg is installed, which reads and writes all files; package engine/media operates on
// sounds.
package media

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The Python modules of ComfyUI that declare the classes; clients group classes by them.
const (
	moduleAudio = "comfy_extras.nodes_audio"
	moduleVideo = "comfy_extras.nodes_video"
)

// family makes the classes for one installation of ffmpeg.
type family struct{ tool *ffmpeg.Tool }

// Classes returns the classes of the package in the order of listings.
func Classes(tool *ffmpeg.Tool) []*node.Class {
	f := family{tool}
	return []*node.Class{
		f.LoadAudio(), f.SaveAudio(), f.SaveAudioMP3(), f.SaveAudioOpus(), f.SaveAudioAdvanced(), f.PreviewAudio(), EmptyAudio(),
		TrimAudioDuration(), SplitAudioChannels(), JoinAudioChannels(), AudioConcat(), AudioMerge(), AudioAdjustVolume(), AudioEqualizer3Band(),
		f.LoadVideo(), f.CreateVideo(), f.GetVideoComponents(), f.VideoSlice(), f.SaveVideo(), f.SaveWEBM(), f.VideoFrameSample(),
		f.VideoTemporalCrop(), f.VideoRandomTemporalCrop(),
	}
}

// maxSeconds is the largest time that an input may name.
const maxSeconds = 1e5

// fileCost is the assumed cost of a file whose length the planner does not know.
func fileCost(node.Args, int64) time.Duration { return 5 * time.Second }

// soundCost is the assumed cost of a sound whose length the planner does not know.
func soundCost(node.Args, int64) time.Duration { return 500 * time.Millisecond }

// videoPixels is the assumed size of a video whose length the planner does not know.
func videoPixels(node.Args, int64) int64 { return 1 << 28 }

// framesCost is the cost of encoding, at a few million pixels a second.
func framesCost(_ node.Args, pixels int64) time.Duration {
	return time.Duration(pixels*300) + 500*time.Millisecond
}

func sounds(name, tooltip string) node.Input {
	return node.Input{Name: name, Type: node.Audio, Tooltip: tooltip}
}

func prefix(def string) node.Input {
	return node.Input{
		Name: "filename_prefix", Type: node.String, Default: def,
		Tooltip: "How the file name begins. May hold a folder and tokens such as %year%.",
	}
}

// pixelLimit returns the bound on the pixels of a value of the call.
func pixelLimit(call *node.Call) int64 {
	if call.MaxPixels > 0 {
		return call.MaxPixels
	}
	return raster.DefaultMaxPixels
}

// bytesPerPixel is the memory of a pixel of the widest value: four floats.
const bytesPerPixel = 16

// maxSound returns the bound on the bytes of a sound of the call.
func maxSound(call *node.Call) int64 { return pixelLimit(call) * bytesPerPixel }

// checkFile refuses a constant that does not name a file of the account. what is "audio" or "video".
func checkFile(input, what string) func(context.Context, node.Files, node.Args) error {
	return func(ctx context.Context, files node.Files, constants node.Args) error {
		value, given := constants[input]
		if !given {
			return nil // linked
		}
		name, ok := value.(string)
		if !ok {
			return fault.New(fault.Invalid, "", "Invalid %s file: the value is not a file name", what).
				Raising("AttributeError", "'%s' object has no attribute 'endswith'", python.TypeName(value))
		}
		_, err := files.Stat(ctx, name)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
			return fault.Wrap(err, fault.Invalid, "", "Invalid %s file: %s", what, name)
		}
		return err
	}
}

// fingerprintFile makes the file's content part of the cache key.
func fingerprintFile(input string) func(context.Context, node.Files, node.Args) (string, error) {
	return func(ctx context.Context, files node.Files, constants node.Args) (string, error) {
		name, ok := constants[input].(string)
		if !ok {
			return "", nil
		}
		info, err := files.Stat(ctx, name)
		return info.Hash, err
	}
}

// tags returns the tags of a saved file: the graph, and the caller's extra keys.
func tags(call *node.Call) ([]ffmpeg.Tag, error) {
	texts, err := image.Metadata(call)
	if err != nil {
		return nil, err
	}
	out := make([]ffmpeg.Tag, len(texts))
	for i, t := range texts {
		out[i] = ffmpeg.Tag{Key: t.Key, Value: t.Value}
	}
	return out, nil
}

// savedOut is the output list of classes that name their sound.
func savedOut() []node.Output { return []node.Output{{Type: node.Audio, Name: "audio"}} }

// audioOut is the output list of most classes.
func audioOut() []node.Output { return []node.Output{{Type: node.Audio}} }
