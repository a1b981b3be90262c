package media

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/fault"
)

// SaveAudioAdvanced writes sound in the chosen format.
func (f family) SaveAudioAdvanced() *node.Class {
	quality := func(options []string, def string) []node.Input {
		return []node.Input{declare.Preset(declare.Choice("quality", options, "How much of the sound is kept."), def)}
	}
	return &node.Class{
		Name: "SaveAudioAdvanced", DisplayName: "Save Audio (Advanced)", Category: "audio", Module: moduleAudio,
		Description: "Writes the sound as a FLAC, MP3 or Opus file into the output folder.", SearchAliases: []string{"export audio"},
		Inputs: append([]node.Input{
			sounds("audio", "The sound to write."), prefix("audio/ComfyUI"),
			declare.Choices("format", "The kind of file.", node.Choices{
				{Key: "flac"}, {Key: "mp3", Inputs: quality(mp3Qualities(), "V0")}, {Key: "opus", Inputs: quality(opusQualities(), opusQuality)},
			}),
		}, image.HiddenMetadata()...),
		Outputs:    savedOut(),
		OutputNode: true,
		Cost:       fileCost,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			prefix, format := call.String("filename_prefix"), call.String("format")
			quality := node.Given(call, "format.quality", call.String, "")
			how, ok := flac(), format == "flac"
			switch format {
			case "mp3":
				how, ok = mp3(quality)
			case "opus":
				how, ok = opus(quality)
			}
			if !ok {
				return node.Result{}, fault.New(fault.Invalid, fault.CodeQuality, "format %.64q with quality %.64q does not exist", format, quality)
			}
			return f.save(ctx, call, "SaveAudioAdvanced", node.FolderOutput, node.ExpandName(prefix, 0, 0, call.SubmittedAt), how)
		},
	}
}
