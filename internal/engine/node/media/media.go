// Package media holds the node classes of sound and video (node graph semantics, section 5.8). They
// exist where ffmpeg does. Operations on sounds are done by package media above, files by ffmpeg.
package media

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The modules in which the original classes stand; clients group by them.
const (
	moduleAudio = "comfy_extras.nodes_audio"
	moduleVideo = "comfy_extras.nodes_video"
)

// family makes the classes over one installation of ffmpeg.
type family struct{ tool *ffmpeg.Tool }

// Classes returns the family's classes in the order in which they are listed.
func Classes(tool *ffmpeg.Tool) []*node.Class {
	f := family{tool}
	return []*node.Class{
		f.LoadAudio(), f.SaveAudio(), f.SaveAudioMP3(), f.SaveAudioOpus(), f.PreviewAudio(), EmptyAudio(),
		TrimAudioDuration(), SplitAudioChannels(), JoinAudioChannels(), AudioConcat(), AudioMerge(), AudioAdjustVolume(), AudioEqualizer3Band(),
		f.LoadVideo(), f.CreateVideo(), f.GetVideoComponents(), f.VideoSlice(), f.SaveVideo(), f.SaveWEBM(),
	}
}

// maxSeconds is the largest time that an input may name.
const maxSeconds = 1e5

// fileCost stands for the work on a file of a length that the planner does not know.
func fileCost(node.Args, int64) time.Duration { return 5 * time.Second }

// soundCost stands for the work on a sound of a length that the planner does not know.
func soundCost(node.Args, int64) time.Duration { return 500 * time.Millisecond }

// videoPixels stands for a video of a length that the planner does not know.
func videoPixels(node.Args, int64) int64 { return 1 << 28 }

// framesCost is encoding, at a few million pixels a second.
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

// most is how many pixels a value of a call may have.
func most(call *node.Call) int64 {
	if call.MaxPixels > 0 {
		return call.MaxPixels
	}
	return raster.DefaultMaxPixels
}

// bytesPerPixel is the memory of a pixel of the widest value: four floats.
const bytesPerPixel = 16

// mostSound is how many bytes a sound of a call may take.
func mostSound(call *node.Call) int64 { return most(call) * bytesPerPixel }

// checkFile refuses a constant that names no file of the account. What says "audio" or "video".
func checkFile(input, what string) func(context.Context, node.Files, node.Args) error {
	return func(ctx context.Context, files node.Files, constants node.Args) error {
		value, given := constants[input]
		if !given {
			return nil // linked
		}
		name, ok := value.(string)
		if !ok {
			return fault.New(fault.Invalid, "", "Invalid %s file: it is no name", what)
		}
		_, err := files.Stat(ctx, name)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
			return fault.Wrap(err, fault.Invalid, "", "Invalid %s file: %s", what, name)
		}
		return err
	}
}

// fingerprintFile makes the file's content part of the cache signature.
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

// tags are the graph that made a file, and the caller's extra keys.
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

// one is the result of a class with a single output.
func one(s *media.Sound, err error) (node.Result, error) {
	if err != nil {
		return node.Result{}, err
	}
	return node.Result{Outputs: []node.Value{s}}, nil
}

// audioOut is the output list of most classes.
func audioOut() []node.Output { return []node.Output{{Type: node.Audio}} }
