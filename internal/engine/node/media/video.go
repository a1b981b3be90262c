package media

import (
	"context"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/fault"
)

// LoadVideo returns a reference to a file, which nodes read if they need its content.
func (f family) LoadVideo() *node.Class {
	return &node.Class{
		Name: "LoadVideo", DisplayName: "Load Video", Category: "video", Module: moduleVideo,
		Essentials:  "Basics",
		Description: "Takes a video file.", SearchAliases: []string{"import video", "open video", "video file"},
		Inputs: []node.Input{{
			Name: "file", Type: node.Combo, Folder: node.FolderInput, Tooltip: "The uploaded file.",
			Extra: map[string]any{"video_upload": true},
		}},
		Outputs:     []node.Output{{Type: node.Video}},
		Cost:        soundCost,
		Check:       checkFile("file", "video"),
		Checked:     []string{"file"},
		Fingerprint: fingerprintFile("file"),
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			name := call.String("file")
			if _, err := call.Files.Stat(ctx, name); err != nil {
				return node.Result{}, err
			}
			return node.Result{Outputs: []node.Value{&media.Video{File: name}}}, nil
		},
	}
}

// CreateVideo makes a video of frames.
func (f family) CreateVideo() *node.Class {
	return &node.Class{
		Name: "CreateVideo", DisplayName: "Create Video", Category: "video", Module: moduleVideo,
		Essentials:  "Video Tools",
		Description: "Makes a video of images, and a sound if one is given.", SearchAliases: []string{"images to video"},
		Inputs: []node.Input{
			{Name: "images", Type: node.Image, Tooltip: "The frames."},
			{Name: "fps", Type: node.Float, Default: 30.0, Min: 1.0, Max: 120.0, Step: 1.0, Tooltip: "Frames per second."},
			{Name: "audio", Type: node.Audio, Section: node.Optional, Tooltip: "The sound."},
			{
				Name: "bit_depth", Type: node.Int, Section: node.Optional, Default: 8, Min: 8, Max: 10, Step: 2, Display: "number",
				Tooltip: "The bits of a value in the file.",
			},
		},
		Outputs: []node.Output{{Type: node.Video}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			video := &media.Video{
				Frames: call.Image("images"), FPS: call.Float("fps"),
				Sound: node.Given(call, "audio", call.Sound, nil), Depth: node.Given(call, "bit_depth", call.Int, 0),
			}
			if !(video.FPS >= 1 && video.FPS <= 120) { // linked values are not checked against the input's range
				return node.Result{}, fault.New(fault.Invalid, fault.CodeFrameRate, "%g frames per second are out of range; a video has from 1 to 120",
					video.FPS)
			}
			return node.Result{Outputs: []node.Value{video}}, nil
		},
	}
}

// GetVideoComponents returns the parts of a video.
func (f family) GetVideoComponents() *node.Class {
	return &node.Class{
		Name: "GetVideoComponents", DisplayName: "Get Video Components", Category: "video", Module: moduleVideo,
		Description: "Takes a video apart into its frames, its sound, its frame rate, the bits of a value and the colour space. " +
			"A silent one has a sound of no length.",
		SearchAliases: []string{"extract frames", "split video", "video to images", "demux"},
		Inputs:        []node.Input{{Name: "video", Type: node.Video, Tooltip: "The video."}},
		Outputs: []node.Output{
			{Type: node.Image, Name: "images"},
			{Type: node.Audio, Name: "audio"},
			{Type: node.Float, Name: "fps"},
			{Type: node.Int, Name: "bit_depth"},
			{Type: node.Combo, Name: "color_space"},
		},
		Cost:   framesCost,
		Pixels: videoPixels,
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			video, err := f.read(ctx, call)
			if err != nil {
				return node.Result{}, err
			}
			sound := video.Sound
			if sound == nil {
				if sound, err = media.Silence(44100, 2, 0); err != nil {
					return node.Result{}, err
				}
			}
			return node.Result{Outputs: []node.Value{video.Frames, sound, video.FPS, int64(video.Bits()), video.Colors()}}, nil
		},
	}
}

// read returns the frames and the sound of the input "video".
func (f family) read(ctx context.Context, call *node.Call) (*media.Video, error) {
	video := call.Video("video")
	if video.Frames != nil {
		return video, nil
	}
	file, err := call.Files.Open(ctx, video.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return f.tool.Video(ctx, file, ffmpeg.Part{Start: video.Start, Length: video.Length}, pixelLimit(call))
}

// saveVideo writes a video in memory or a part of a file.
func (f family) saveVideo(ctx context.Context, call *node.Call, video *media.Video, save node.Save,
	how ffmpeg.Format,
) (node.Result, error) {
	texts, err := tags(call)
	if err != nil {
		return node.Result{}, err
	}
	width, height := 0, 0
	if video.Frames != nil {
		width, height = video.Frames.Width(), video.Frames.Height()
	}
	save.Folder, save.Prefix = node.FolderOutput, node.ExpandName(save.Prefix, width, height, call.SubmittedAt)
	file, err := call.Files.Save(ctx, save, func(w io.Writer) error {
		if video.Frames != nil {
			return f.tool.WriteVideo(ctx, w, video, how, texts, progress(call.Live))
		}
		return f.rewrite(ctx, call, w, video, how, texts)
	})
	if err != nil {
		return node.Result{}, err
	}
	return node.Result{UI: map[string][]any{"images": {file}, "animated": {true}}}, nil
}

func (f family) rewrite(ctx context.Context, call *node.Call, w io.Writer, video *media.Video, how ffmpeg.Format,
	texts []ffmpeg.Tag,
) error {
	file, err := call.Files.Open(ctx, video.File)
	if err != nil {
		return err
	}
	defer file.Close()
	return f.tool.Rewrite(ctx, w, file, ffmpeg.Part{Start: video.Start, Length: video.Length}, how, texts)
}

func progress(live node.Live) func(done, total int) {
	if live == nil {
		return nil
	}
	return live.Progress
}

// SaveWEBM writes frames as WebM.
func (f family) SaveWEBM() *node.Class {
	return &node.Class{
		Name: "SaveWEBM", DisplayName: "Save WEBM", Category: "video", Module: moduleVideo, Experimental: true, Version: 1,
		Description:   "Writes images as a WebM file without sound into the output folder. VP9 keeps their transparency.",
		SearchAliases: []string{"export webm"},
		Inputs: append([]node.Input{
			{Name: "images", Type: node.Image, Tooltip: "The frames."},
			prefix("ComfyUI"),
			{Name: "codec", Type: node.Combo, Options: []string{"vp9", "av1"}, Tooltip: "How pictures are encoded."},
			{Name: "fps", Type: node.Float, Default: 24.0, Min: 0.01, Max: 1000.0, Step: 0.01, Tooltip: "Frames per second."},
			{Name: "crf", Type: node.Float, Default: 32.0, Min: 0, Max: 63.0, Step: 1, Tooltip: "Higher is smaller and worse."},
		}, image.HiddenMetadata()...),
		Outputs:    []node.Output{{Type: node.Image, Name: "images"}},
		OutputNode: true,
		Cost:       func(c node.Args, pixels int64) time.Duration { return 4 * framesCost(c, pixels) },
		Run: func(ctx context.Context, call *node.Call) (node.Result, error) {
			video := &media.Video{Frames: call.Image("images"), FPS: call.Float("fps")}
			prefix, codec, crf := call.String("filename_prefix"), call.String("codec"), call.Float("crf")
			encoder, ok := map[string][]string{
				"vp9": {"-c:v", "libvpx-vp9", "-row-mt", "1"}, "av1": {"-c:v", "libaom-av1", "-cpu-used", "8"},
			}[codec]
			if !ok || !(crf >= 0 && crf <= 63) || !(video.FPS <= 1000) {
				return node.Result{}, fault.New(fault.Invalid, fault.CodeEncoding, "codec %q at crf %g and %g frames per second is not supported",
					codec, crf, video.FPS)
			}
			how := ffmpeg.Format{
				Muxer: []string{"-f", "webm"},
				Alpha: codec == "vp9" && video.Frames.Channels() == 4,
			}
			pixels := "yuv420p"
			switch {
			case codec == "av1":
				pixels = "yuv420p10le"
			case how.Alpha:
				pixels = "yuva420p"
			}
			how.Video = append(encoder, "-b:v", "0", "-crf", strconv.Itoa(int(crf)), "-pix_fmt", pixels)
			res, err := f.saveVideo(ctx, call, video, node.Save{Prefix: prefix, Suffix: "_.webm", ContentType: "video/webm"}, how)
			if err != nil {
				return node.Result{}, err
			}
			res.Outputs = []node.Value{video.Frames}
			return res, nil
		},
	}
}

// VideoSlice takes a part of a video.
func (f family) VideoSlice() *node.Class {
	return &node.Class{
		Name: "Video Slice", DisplayName: "Trim Video", Category: "video", Module: moduleVideo, Version: 1,
		Essentials:  "Video Tools",
		Description: "Takes a part of a video.", SearchAliases: []string{"trim video", "cut video", "video clip"},
		Inputs: []node.Input{
			{Name: "video", Type: node.Video, Tooltip: "The video."},
			{
				Name: "start_time", Type: node.Float, Default: 0.0, Min: -maxSeconds, Max: maxSeconds, Step: 0.001,
				Tooltip: "Where the part begins, in seconds.",
			},
			{
				Name: "duration", Type: node.Float, Default: 0.0, Min: 0.0, Step: 0.001,
				Tooltip: "The length of the part in seconds; 0 is to the end.",
			},
			{Name: "strict_duration", Type: node.Boolean, Default: false, Tooltip: "Whether a part that is shorter than asked for is an error."},
		},
		Outputs: []node.Output{{Type: node.Video}},
		Cost:    fileCost,
		Run:     f.runVideoSlice,
	}
}

func (f family) runVideoSlice(ctx context.Context, call *node.Call) (node.Result, error) {
	video, start, duration, strict := call.Video("video"), call.Float("start_time"), call.Float("duration"), call.Bool("strict_duration")
	whole, err := f.length(ctx, call, video)
	if err != nil {
		return node.Result{}, err
	}
	if start < 0 {
		start = max(0, whole+start)
	}
	length := whole - start
	if duration > 0 {
		length = min(length, duration)
	}
	if !(length > 0) || (strict || video.Frames != nil) && length < duration-1e-6 { // ComfyUI never shortens a part of frames
		return node.Result{}, fault.New(fault.Invalid, fault.CodeVideoPart,
			"the video is %.3f s long; it has no part of %.3f s that begins at %.3f s", whole, duration, start).
			Raising("ValueError", "Failed to slice video:")
	}
	return declare.One(cut(video, start, length))
}

// length returns the length of a video in seconds.
func (f family) length(ctx context.Context, call *node.Call, video *media.Video) (float64, error) {
	switch {
	case video.Frames != nil:
		return float64(video.Frames.Frames()) / video.FPS, nil
	case video.Length > 0:
		return video.Length, nil
	}
	file, err := call.Files.Open(ctx, video.File)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	whole, err := f.tool.Length(ctx, file)
	return whole - video.Start, err
}

// cut returns a part of a video. The video must contain the part.
func cut(video *media.Video, start, length float64) (*media.Video, error) {
	if video.Frames == nil {
		return &media.Video{File: video.File, Start: video.Start + start, Length: length}, nil
	}
	first, end := frameAt(start, video), frameAt(start+length, video)
	if first == end {
		return nil, fault.New(fault.Invalid, fault.CodeVideoEmpty, "there is no picture in that part of the video")
	}
	part := &media.Video{Frames: video.Frames.Slice(first, end-first), FPS: video.FPS}
	if video.Sound != nil {
		from := samplesOf(start, video.Sound.Rate())
		sound, err := video.Sound.Cut(from, from+samplesOf(length, video.Sound.Rate()))
		if err != nil && fault.CodeOf(err) != fault.CodeSoundEmpty { // the sound may be shorter than the pictures
			return nil, err
		}
		part.Sound = sound
	}
	return part, nil
}

// frameAt returns the number of the first frame at or after a time in seconds. A thousandth of a frame too late is in time,
// because the times of frames are rounded.
func frameAt(seconds float64, video *media.Video) int {
	return min(int(math.Ceil(seconds*video.FPS-1e-3)), video.Frames.Frames())
}
