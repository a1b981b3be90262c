package media

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

// LoadAudio reads a file of sound, or the sound of a video.
func (f family) LoadAudio() *node.Class {
	return &node.Class{
		Name: "LoadAudio", DisplayName: "Load Audio", Category: "audio", Module: moduleAudio,
		Essentials:  "Audio",
		Description: "Reads a file of sound, or the sound of a video.", SearchAliases: []string{"import audio", "open audio", "audio file"},
		Inputs: []node.Input{{
			Name: "audio", Type: node.Combo, Folder: node.FolderInput, Tooltip: "The uploaded file to read.",
			Extra: map[string]any{"audio_upload": true},
		}},
		Outputs:     audioOut(),
		Cost:        fileCost,
		Check:       checkFile("audio", "audio"),
		Checked:     []string{"audio"},
		Fingerprint: fingerprintFile("audio"),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			name := call.String("audio")
			file, err := call.Files.Open(ctx, name)
			if err != nil {
				return node.Result{}, err
			}
			defer file.Close()
			sound, err := f.tool.Sound(ctx, file, ffmpeg.Part{}, maxSound(call))
			return declare.One(sound, unreadable(file, name, err))
		},
	}
}

// unreadable is image.Unreadable for a file of sound. A picture is readable, but has no sound.
func unreadable(file io.ReadSeeker, name string, err error) error {
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Kind != fault.Invalid {
		return err
	}
	if _, seek := file.Seek(0, io.SeekStart); seek == nil && refusal.Code == fault.CodeMediaUnusable {
		if _, isPicture := codec.Stat(raster.Engine{}, file); isPicture == nil {
			refusal = fault.New(fault.Invalid, fault.CodeNoSound, "%s is a picture", name)
		}
	}
	if refusal.Code == fault.CodeNoSound {
		return refusal.Raising("ValueError", "No audio stream found in the file.")
	}
	return image.Unreadable(refusal, name)
}

// audioFormat describes how a file of sound is written.
type audioFormat struct {
	suffix, contentType string
	options             ffmpeg.Format
}

func flac() audioFormat {
	return audioFormat{".flac", "audio/flac", ffmpeg.Format{
		Muxer: []string{"-f", "flac"},
		Audio: []string{"-c:a", "flac", "-sample_fmt", "s16"},
	}}
}

func mp3Qualities() []string { return []string{"V0", "128k", "320k"} }

func mp3(quality string) (audioFormat, bool) {
	rate, ok := map[string][]string{"V0": {"-q:a", "0"}, "128k": {"-b:a", "128k"}, "320k": {"-b:a", "320k"}}[quality]
	audio := append([]string{"-c:a", "libmp3lame"}, rate...)
	return audioFormat{".mp3", "audio/mpeg", ffmpeg.Format{Muxer: []string{"-f", "mp3"}, Audio: audio}}, ok
}

func opusQualities() []string { return []string{"64k", "96k", "128k", "192k", "320k"} }

// opusQuality is the default quality of Opus.
const opusQuality = "128k"

func opus(quality string) (audioFormat, bool) {
	audio := []string{"-c:a", "libopus", "-b:a", quality}
	return audioFormat{".opus", "audio/ogg", ffmpeg.Format{Muxer: []string{"-f", "opus"}, Audio: audio}},
		slices.Contains(opusQualities(), quality)
}

// SaveAudio writes FLAC files.
func (f family) SaveAudio() *node.Class {
	c := f.saving("SaveAudio", "Save Audio (FLAC) (DEPRECATED)", func(string) (audioFormat, bool) { return flac(), true })
	c.Description = "Writes the sound as a FLAC file into the output folder."
	c.Essentials, c.SearchAliases = "Audio", []string{"export flac"}
	return c
}

// SaveAudioMP3 writes MP3 files.
func (f family) SaveAudioMP3() *node.Class {
	c := f.saving("SaveAudioMP3", "Save Audio (MP3) (DEPRECATED)", mp3, mp3Qualities()...)
	c.Description = "Writes the sound as an MP3 file into the output folder."
	c.Essentials, c.SearchAliases = "Audio", []string{"export mp3"}
	return c
}

// SaveAudioOpus writes files with Opus in Ogg.
func (f family) SaveAudioOpus() *node.Class {
	c := f.saving("SaveAudioOpus", "Save Audio (Opus) (DEPRECATED)", opus, opusQualities()...)
	for i := range c.Inputs {
		if c.Inputs[i].Name == "quality" {
			c.Inputs[i].Default = opusQuality
		}
	}
	c.Description = "Writes the sound as an Opus file into the output folder."
	c.SearchAliases = []string{"export opus"}
	return c
}

// saving is a class that writes sound. Its format depends on the quality, if the class has that input.
func (f family) saving(name, display string, format func(quality string) (audioFormat, bool), qualities ...string) *node.Class {
	inputs := []node.Input{sounds("audio", "The sound to write."), prefix("audio/ComfyUI")}
	if len(qualities) > 0 {
		inputs = append(inputs, node.Input{
			Name: "quality", Type: node.Combo, Options: qualities, Default: qualities[0],
			Tooltip: "How much of the sound is kept.",
		})
	}
	return &node.Class{
		Name: name, DisplayName: display, Category: "audio", Module: moduleAudio,
		Inputs: append(inputs, image.HiddenMetadata()...), Outputs: savedOut(), OutputNode: true, Deprecated: true, Cost: fileCost,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			prefix, quality := call.String("filename_prefix"), ""
			if len(qualities) > 0 {
				quality = call.String("quality")
			}
			how, ok := format(quality)
			if !ok {
				return node.Result{}, fault.New(fault.Invalid, fault.CodeQuality, "unknown quality %q", quality)
			}
			return f.save(ctx, call, name, node.FolderOutput, node.ExpandName(prefix, 0, 0, call.SubmittedAt), how)
		},
	}
}

// PreviewAudio writes FLAC files to the temporary folder.
func (f family) PreviewAudio() *node.Class {
	return &node.Class{
		Name: "PreviewAudio", DisplayName: "Preview Audio", Category: "audio", Module: moduleAudio,
		Description: "Shows the sound without keeping it in the output folder.", SearchAliases: []string{"play audio", "listen"},
		Inputs:     append([]node.Input{sounds("audio", "The sound to show.")}, image.HiddenMetadata()...),
		Outputs:    savedOut(),
		OutputNode: true,
		Cost:       fileCost,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			return f.save(ctx, call, "PreviewAudio", node.FolderTemp, image.TemporaryPrefix(call), flac())
		},
	}
}

// save writes the sound of the input "audio" for a class.
func (f family) save(
	ctx context.Context, call *node.Call, class string, folder node.Folder, prefix string, how audioFormat,
) (node.Result, error) {
	sound := call.Sound("audio")
	if sound.Samples() == 0 {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeSoundEmpty, "an empty sound cannot be written").
			Raising("ValueError", "%s: input audio is None (source video may have no audio track).", class)
	}
	texts, err := tags(call)
	if err != nil {
		return node.Result{}, err
	}
	save := node.Save{Folder: folder, Prefix: prefix, Suffix: how.suffix, ContentType: how.contentType}
	file, err := call.Files.Save(ctx, save, func(w io.Writer) error {
		return f.tool.WriteSound(ctx, w, sound, how.options, texts)
	})
	if err != nil {
		return node.Result{}, err
	}
	return node.Result{Outputs: []node.Value{sound}, UI: map[string][]any{"audio": {file}}}, nil
}
