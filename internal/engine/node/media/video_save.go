package media

import (
	"context"
	"slices"
	"strconv"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/fault"
)

// automatic is the choice that lets the class decide.
const automatic = "auto"

// container is a kind of video file.
type container struct {
	name, suffix, contentType string
	codecs                    []string // the choices
	muxer                     []string
	probed                    string   // its name in ffprobe's description of a file
	keeps                     []string // codecs of streams that are copied without encoding them again
}

// pictureCodecs are the codecs of pictures whose streams are kept unless another is asked for.
var pictureCodecs = []string{"h264", "hevc", "av1", "vp9", "vp8", "mpeg4"}

func containers() []container {
	h264, any := []string{automatic, "h264", "av1"}, append([]string{"aac", "mp3", "opus", "vorbis", "flac", "ac3"}, pictureCodecs...)
	mp4 := []string{"-f", "mp4", "-movflags", "use_metadata_tags+faststart"}
	return []container{
		{automatic, "_.mp4", "video/mp4", h264, mp4, "mp4", any},
		{"mp4", "_.mp4", "video/mp4", h264, mp4, "mp4", any},
		{"mkv", "_.mkv", "video/x-matroska", h264, []string{"-f", "matroska"}, "matroska", any},
		{
			"webm", "_.webm", "video/webm",
			[]string{automatic, "av1"},
			[]string{"-f", "webm"},
			"webm",
			[]string{"av1", "vp9", "vp8", "opus", "vorbis"},
		},
	}
}

// SaveVideo writes a video file.
func (f family) SaveVideo() *node.Class {
	var formats node.Choices
	for _, c := range containers() {
		formats = append(formats, node.Choice{Key: c.name, Inputs: []node.Input{codecInput(c.codecs)}})
	}
	older := codecInput(containers()[0].codecs)
	older.Section = node.Optional
	older.Extra["hidden"] = true
	return &node.Class{
		Name: "SaveVideo", DisplayName: "Save Video", Category: "video", Module: moduleVideo, Essentials: "Basics", Version: 1,
		Description: "Writes the video as a file into the output folder. What is encoded as asked for in a whole file of that kind is kept " +
			"as it is.",
		SearchAliases: []string{"export video", "write video"},
		Inputs: append([]node.Input{
			{Name: "video", Type: node.Video, Tooltip: "The video to write."},
			prefix("video/ComfyUI"),
			{Name: "format", Type: node.DynamicComboType, Tooltip: "The kind of file.", Extra: map[string]any{"options": formats}},
			older,
		}, image.HiddenMetadata()...),
		Outputs:    []node.Output{{Type: node.Video, Name: "video"}},
		OutputNode: true,
		Cost:       framesCost,
		Run:        f.runSaveVideo,
	}
}

// codecInput declares the choice of a codec and its settings.
func codecInput(codecs []string) node.Input {
	choices := make(node.Choices, len(codecs))
	for i, codec := range codecs {
		choices[i] = node.Choice{Key: codec}
		if most, ok := map[string][2]float64{"h264": {23, 51}, "av1": {30, 63}}[codec]; ok {
			choices[i].Inputs = []node.Input{encodingInput(most[0], most[1])}
		}
	}
	return node.Input{
		Name: "codec", Type: node.DynamicComboType, Tooltip: "How pictures are encoded.", Extra: map[string]any{"options": choices},
	}
}

func encodingInput(crf, most float64) node.Input {
	return node.Input{
		Name: "encoding", Type: node.DynamicComboType, Section: node.Optional, DisplayName: "encoding mode",
		Tooltip: "Whether pictures are encoded anew in any case.",
		Extra: map[string]any{"options": node.Choices{{Key: automatic}, {Key: "re-encode", Inputs: []node.Input{
			{Name: "crf", Type: node.Float, Default: crf, Min: 0.0, Max: most, Step: 1.0, Tooltip: "Higher is smaller and worse."},
			{
				Name: "color_space", Type: node.Combo, Options: []string{automatic, "sRGB", "HDR", "HDR PQ"}, Default: automatic,
				DisplayName: "color space", Tooltip: "What the values of the pictures mean.",
			},
		}}}},
	}
}

// encoding is how pictures are encoded.
type encoding struct {
	codec string  // "" = as it is, or H.264
	asked bool    // for the codec: streams of others are not kept
	crf   float64 // < 0 = the default
	space string  // "" = as it is
}

// readEncoding reads the arguments below the codec of the given name.
func readEncoding(call *node.Call, name string) (encoding, error) {
	e := encoding{crf: -1}
	codec, _ := call.Args[name].(string)
	if codec != automatic {
		e.codec, e.asked = codec, codec != ""
	}
	if call.Args[name+".encoding"] != "re-encode" {
		return e, nil
	}
	e.crf = call.Float(name + ".encoding.crf")
	if e.space = call.String(name + ".encoding.color_space"); e.space == automatic {
		e.space = ""
	}
	if !(e.crf >= 0 && e.crf <= 63) {
		return e, fault.New(fault.Invalid, fault.CodeEncoding, "crf %g is out of range for this codec", e.crf)
	}
	return e, nil
}

func (f family) runSaveVideo(ctx context.Context, call *node.Call) (node.Result, error) {
	video, prefix, format := call.Video("video"), call.String("filename_prefix"), call.String("format")
	i := slices.IndexFunc(containers(), func(c container) bool { return c.name == format })
	if i < 0 {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeFormat, "unknown format %.64q", format)
	}
	codec := "format.codec"
	if !call.Has(codec) {
		codec = "codec"
	}
	e, err := readEncoding(call, codec)
	if err != nil {
		return node.Result{}, err
	}
	c := containers()[i]
	how, err := c.format(e, video)
	if err != nil {
		return node.Result{}, err
	}
	res, err := f.saveVideo(ctx, call, video, node.Save{Prefix: prefix, Suffix: c.suffix, ContentType: c.contentType}, how)
	if err != nil {
		return node.Result{}, err
	}
	res.Outputs = []node.Value{video}
	return res, nil
}

// format returns the options for a video in the container.
func (c container) format(e encoding, video *media.Video) (ffmpeg.Format, error) {
	if e.codec == "" {
		e.codec = c.codecs[1]
	} else if !slices.Contains(c.codecs, e.codec) {
		return ffmpeg.Format{}, fault.New(fault.Invalid, fault.CodeEncoding, "a %s file cannot contain codec %.64q", c.name, e.codec)
	}
	if e.space != "" && e.space != video.Colors() {
		return ffmpeg.Format{}, fault.New(fault.Invalid, fault.CodeEncoding,
			"the values of the pictures are %s; they are not converted to %s", video.Colors(), e.space)
	}
	keeps := c.keeps
	if e.asked {
		keeps = slices.DeleteFunc(slices.Clone(keeps), func(codec string) bool {
			return slices.Contains(pictureCodecs, codec) && codec != e.codec
		})
	}
	how := ffmpeg.Format{
		Muxer: c.muxer, Video: pictures(e, video.Bits()), Crop: evenSize,
		Audio: []string{"-c:a", "aac", "-b:a", "192k"}, Container: c.probed, Keeps: keeps,
	}
	if c.name == "webm" {
		how.Audio = []string{"-c:a", "libopus", "-b:a", "128k"}
	}
	if e.crf >= 0 {
		how.Container = "" // the streams are always encoded
	}
	return how, nil
}

// evenSize cuts off an odd row or column, because the encoders accept only even sizes.
const evenSize = "crop=trunc(iw/2)*2:trunc(ih/2)*2"

// pictures returns the options of an encoder.
func pictures(e encoding, bits int) []string {
	depth := "yuv420p"
	if bits >= 10 {
		depth = "yuv420p10le"
	}
	options := []string{"-c:v", "libx264"}
	if e.codec == "av1" {
		options = []string{"-c:v", "libaom-av1", "-cpu-used", "8", "-b:v", "0", "-crf", "30"}
	}
	if e.crf >= 0 {
		options = append(options, "-crf", strconv.Itoa(int(e.crf)))
	}
	return append(options, "-pix_fmt", depth)
}
