package media_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	classes "github.com/millrace-dev/millrace/internal/engine/node/media"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

func registry(t testing.TB) *node.Registry {
	t.Helper()
	tool, err := ffmpeg.Find("")
	require.NoError(t, err)
	if tool == nil {
		t.Skip("ffmpeg is not installed: apt-get install ffmpeg, or brew install ffmpeg")
	}
	r, err := node.NewRegistry(classes.Classes(tool)...)
	require.NoError(t, err)
	return r
}

func TestClassesConform(t *testing.T) {
	t.Parallel()
	mono, err := media.Silence(8000, 1, 4000)
	require.NoError(t, err)
	nodetest.Conform(t, registry(t), nodetest.Example{
		"EmptyAudio":        {"duration": 0.5, "sample_rate": int64(8000), "channels": int64(2)},
		"JoinAudioChannels": {"audio_left": mono, "audio_right": mono},
	})
}

// account holds files, and runs classes on them.
type account struct {
	t       *testing.T
	classes *node.Registry
	files   *nodetest.Files
}

func newAccount(t *testing.T) *account {
	t.Helper()
	return &account{t, registry(t), nodetest.NewFiles()}
}

func (a *account) try(name string, args node.Args) (node.Result, error) {
	a.t.Helper()
	class, ok := a.classes.Lookup(name)
	require.True(a.t, ok, name)
	return node.Invocation{Class: class, Inputs: args}.Run(a.t.Context(), node.Call{
		NodeID: "7", Prompt: []byte(`{"7": {}}`), SubmittedAt: time.Unix(1_700_000_000, 0).UTC(), Files: a.files,
	})
}

func (a *account) run(name string, args node.Args) node.Result {
	a.t.Helper()
	res, err := a.try(name, args)
	require.NoError(a.t, err)
	return res
}

// first returns the only output of a class.
func (a *account) first(name string, args node.Args) node.Value {
	a.t.Helper()
	return a.run(name, args).Outputs[0]
}

func TestASoundIsLoadedChangedAndSaved(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	loaded := a.first("LoadAudio", node.Args{"audio": nodetest.SoundName})
	require.InDelta(t, -10000.0/32768, loaded.(*media.Sound).Channel(0)[0], 1e-6)
	part := a.first("TrimAudioDuration", node.Args{"audio": loaded, "start_index": -0.25, "duration": 0.1})
	require.Equal(t, 800, part.(*media.Sound).Samples())
	require.Equal(t, loaded.(*media.Sound).Channel(1)[2000], part.(*media.Sound).Channel(1)[0])
	_, err := a.try("TrimAudioDuration", node.Args{"audio": loaded, "start_index": 0.5, "duration": 1.0})
	require.Equal(t, fault.Invalid, fault.KindOf(err))

	sides := a.run("SplitAudioChannels", node.Args{"audio": loaded}).Outputs
	require.Equal(t, loaded, a.first("JoinAudioChannels", node.Args{"audio_left": sides[0], "audio_right": sides[1]}))
	nothing, err := media.Silence(44100, 2, 0)
	require.NoError(t, err)
	for sentence, try := range map[string]func() error{
		"AudioJoin: Both input audios must be mono.\n": func() error {
			_, err := a.try("JoinAudioChannels", node.Args{"audio_left": sides[0], "audio_right": loaded})
			return err
		},
		"AudioSplit: Input audio must be stereo (2 channels), got 1 channel(s).\n": func() error {
			_, err := a.try("SplitAudioChannels", node.Args{"audio": sides[0]})
			return err
		},
		"PreviewAudio: input audio is None (source video may have no audio track).\n": func() error {
			_, err := a.try("PreviewAudio", node.Args{"audio": nothing})
			return err
		},
	} {
		require.ErrorContains(t, try(), sentence)
	}
	longer := a.first("AudioConcat", node.Args{"audio1": loaded, "audio2": sides[0], "direction": "before"}).(*media.Sound)
	require.Equal(t, [2]int{2, 8000}, [2]int{longer.Channels(), longer.Samples()})
	require.Equal(t, sides[0].(*media.Sound).Channel(0)[5], longer.Channel(1)[5])
	silent := a.first("AudioMerge", node.Args{"audio1": loaded, "audio2": loaded, "merge_method": "subtract"}).(*media.Sound)
	require.Zero(t, silent.Channel(0)[7])
	require.InDelta(t, 10*loaded.(*media.Sound).Channel(0)[0],
		a.first("AudioAdjustVolume", node.Args{"audio": loaded, "volume": int64(20)}).(*media.Sound).Channel(0)[0], 1e-5)

	for class, want := range map[string]struct{ name, begins, kind string }{
		"SaveAudio":     {"x/a_00001.flac", "fLaC", "audio/flac"},
		"SaveAudioMP3":  {"x/a_00001.mp3", "ID3", "audio/mpeg"},
		"SaveAudioOpus": {"x/a_00001.opus", "OggS", "audio/ogg"},
	} {
		args := node.Args{"audio": loaded, "filename_prefix": "x/a", "quality": "128k"}
		res := a.run(class, args)
		require.Equal(t, []any{node.File{Filename: want.name[2:], Subfolder: "x", Folder: node.FolderOutput}}, res.UI["audio"], class)
		require.True(t, bytes.HasPrefix(a.files.Saved[want.name], []byte(want.begins)), class)
		require.Contains(t, string(a.files.Saved[want.name]), `{"7": {}}`, "the graph is in the file")
		require.Equal(t, want.kind, a.files.Asked[len(a.files.Asked)-1].ContentType)
		again := a.first("LoadAudio", node.Args{"audio": want.name}).(*media.Sound)
		require.InDelta(t, 0.5, again.Seconds(), 0.2, class)
	}
	shown := a.run("PreviewAudio", node.Args{"audio": loaded})
	require.Equal(t, node.FolderTemp, shown.UI["audio"][0].(node.File).Folder)
}

func TestAVideoIsTakenApartAndMade(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	loaded := a.first("LoadVideo", node.Args{"file": nodetest.VideoName})
	parts := a.run("GetVideoComponents", node.Args{"video": loaded}).Outputs
	frames := parts[0].(*raster.Image)
	require.Equal(t, [3]int{5, 16, 12}, [3]int{frames.Frames(), frames.Width(), frames.Height()})
	require.InDelta(t, 150.0/255, frames.At(3, 6, 8, 0), 0.02)
	require.Zero(t, parts[1].(*media.Sound).Samples(), "a silent one")
	require.Equal(t, 10.0, parts[2])

	sound := a.first("EmptyAudio", node.Args{"duration": 0.5, "sample_rate": int64(44100), "channels": int64(2)})
	made := a.first("CreateVideo", node.Args{"images": frames, "fps": 10.0, "audio": sound})
	saved := a.run("SaveVideo", node.Args{"video": made, "filename_prefix": "clip", "format": "auto", "codec": "auto"})
	require.Equal(t, []any{true}, saved.UI["animated"])
	require.Equal(t, node.File{Filename: "clip_00001_.mp4", Folder: node.FolderOutput}, saved.UI["images"][0])
	require.Contains(t, string(a.files.Saved["clip_00001_.mp4"]), `{"7": {}}`)
	again := a.run("GetVideoComponents", node.Args{"video": a.first("LoadVideo", node.Args{"file": "clip_00001_.mp4"})}).Outputs
	require.Equal(t, 5, again[0].(*raster.Image).Frames())
	require.InDelta(t, 150.0/255, again[0].(*raster.Image).At(3, 6, 8, 0), 0.05)
	require.NotZero(t, again[1].(*media.Sound).Samples())

	a.run("SaveWEBM", node.Args{"images": frames, "filename_prefix": "web", "codec": "vp9", "fps": 10.0, "crf": 32.0})
	require.True(t, bytes.HasPrefix(a.files.Saved["web_00001_.webm"], []byte("\x1aE\xdf\xa3")))
	a.run("SaveVideo", node.Args{"video": loaded, "filename_prefix": "from", "format": "mp4", "codec": "h264"})
	require.Contains(t, string(a.files.Saved["from_00001_.mp4"][:32]), "ftyp")
}

// Pictures that already have the requested format are not encoded again. A part of them is.
func TestASavedVideoLosesNothing(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	sound := a.first("EmptyAudio", node.Args{"duration": 0.5, "sample_rate": int64(44100), "channels": int64(2)})
	frames := a.run("GetVideoComponents", node.Args{"video": a.first("LoadVideo", node.Args{"file": nodetest.VideoName})}).Outputs[0]
	made := a.first("CreateVideo", node.Args{"images": frames, "fps": 10.0, "audio": sound})
	save := func(video node.Value, name string) {
		a.run("SaveVideo", node.Args{"video": video, "filename_prefix": name, "format": "auto", "codec": "auto"})
	}
	pictures := func(name string) *raster.Image {
		video := a.first("LoadVideo", node.Args{"file": name + "_00001_.mp4"})
		return a.run("GetVideoComponents", node.Args{"video": video}).Outputs[0].(*raster.Image)
	}
	save(made, "one")
	one := a.first("LoadVideo", node.Args{"file": "one_00001_.mp4"})
	save(one, "two")
	require.Equal(t, pictures("one"), pictures("two"))
	require.Contains(t, string(a.files.Saved["two_00001_.mp4"]), `{"7": {}}`)
	save(a.first("Video Slice", node.Args{"video": one, "start_time": 0.2, "duration": 0.2, "strict_duration": true}), "part")
	require.Equal(t, 2, pictures("part").Frames())
	require.Len(t, bytes.Split(a.files.Saved["two_00001_.mp4"], []byte("x264 - core")), 2, "written once")
	save(a.first("Video Slice", node.Args{"video": one, "start_time": 0.06, "duration": 0.23, "strict_duration": true}), "between")
	require.Equal(t, 2, pictures("between").Frames(), "those at 0.1 and 0.2 seconds")
}

// A saved video keeps the codec of its file, unless another is asked for.
func TestASavedVideoKeepsItsCodec(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	save := func(source, codec, name string) *raster.Image {
		video := a.first("LoadVideo", node.Args{"file": source})
		a.run("SaveVideo", node.Args{"video": video, "filename_prefix": name, "format": "mp4", "format.codec": codec})
		saved := a.first("LoadVideo", node.Args{"file": name + "_00001_.mp4"})
		return a.run("GetVideoComponents", node.Args{"video": saved}).Outputs[0].(*raster.Image)
	}
	isAV1 := func(name string) bool { return bytes.Contains(a.files.Saved[name+"_00001_.mp4"], []byte("av01")) }
	save(nodetest.VideoName, "h264", "h264")
	require.False(t, isAV1("h264"))
	pictures := save("h264_00001_.mp4", "av1", "av1")
	require.True(t, isAV1("av1"))
	require.Equal(t, pictures, save("av1_00001_.mp4", "auto", "kept"))
	require.True(t, isAV1("kept"))
	save("av1_00001_.mp4", "h264", "asked")
	require.False(t, isAV1("asked"))
}

// WebM files may have odd sizes. MP4 files may not, so a row and a column are cut off.
func TestOddSizes(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	frames, err := raster.NewImage8(2, 17, 33, 3, make([]byte, 2*17*33*3))
	require.NoError(t, err)
	a.run("SaveWEBM", node.Args{"images": frames, "filename_prefix": "odd", "codec": "vp9", "fps": 10.0, "crf": 32.0})
	video := a.first("CreateVideo", node.Args{"images": frames, "fps": 10.0})
	a.run("SaveVideo", node.Args{"video": video, "filename_prefix": "odd", "format": "auto", "codec": "auto"})
	for name, want := range map[string][2]int{"odd_00001_.webm": {33, 17}, "odd_00001_.mp4": {32, 16}} {
		got := a.run("GetVideoComponents", node.Args{"video": a.first("LoadVideo", node.Args{"file": name})}).Outputs[0].(*raster.Image)
		require.Equal(t, want, [2]int{got.Width(), got.Height()}, name)
	}
}

// VP9 keeps the transparency of pictures, and AV1 has ten bits.
func TestTheSamplesOfAWebM(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	clear, err := raster.NewImage8(2, 16, 32, 4, make([]byte, 2*16*32*4))
	require.NoError(t, err)
	opaque, err := raster.NewImage8(2, 16, 32, 3, make([]byte, 2*16*32*3))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		codec  string
		frames *raster.Image
		alpha  bool
		bits   int64
	}{
		"vp9 with alpha": {"vp9", clear, true, 8}, "vp9 without": {"vp9", opaque, false, 8}, "av1 with alpha": {"av1", clear, false, 10},
	} {
		a.files.Saved = map[string][]byte{}
		a.run("SaveWEBM", node.Args{"images": c.frames, "filename_prefix": "web", "codec": c.codec, "fps": 10.0, "crf": 32.0})
		alpha := bytes.Contains(a.files.Saved["web_00001_.webm"], []byte("\x53\xc0\x81\x01")) // the element AlphaMode
		require.Equal(t, c.alpha, alpha, name)
		parts := a.run("GetVideoComponents", node.Args{"video": a.first("LoadVideo", node.Args{"file": "web_00001_.webm"})}).Outputs
		require.Equal(t, c.bits, parts[3], name)
	}
}

// A silent video has a sound without samples, and a video made with this sound has no audio track.
func TestVideoWithoutSoundHasNoAudioTrack(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	parts := a.run("GetVideoComponents", node.Args{"video": a.first("LoadVideo", node.Args{"file": nodetest.VideoName})}).Outputs
	made := a.first("CreateVideo", node.Args{"images": parts[0], "fps": parts[2], "audio": parts[1]})
	a.run("SaveVideo", node.Args{"video": made, "filename_prefix": "silent", "format": "auto", "codec": "auto"})
	again := a.run("GetVideoComponents", node.Args{"video": a.first("LoadVideo", node.Args{"file": "silent_00001_.mp4"})}).Outputs
	require.Equal(t, 5, again[0].(*raster.Image).Frames())
	require.Zero(t, again[1].(*media.Sound).Samples())
}

// A part of a file, and the same part of its frames, have the same content.
func TestPartsOfAVideo(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	file := a.first("LoadVideo", node.Args{"file": nodetest.VideoName})
	parts := a.run("GetVideoComponents", node.Args{"video": file}).Outputs
	made := a.first("CreateVideo", node.Args{"images": parts[0], "fps": 10.0})
	cases := map[string]struct {
		start, duration float64
		strict          bool
		want            []float32 // brightness of the frames; nil = the class refuses the part
	}{
		"the middle":       {0.2, 0.2, true, []float32{100, 150}},
		"between frames":   {0.14, 0.2, true, []float32{100, 150}},
		"less at the end":  {0.06, 0.23, true, []float32{50, 100}},
		"to the end":       {0.3, 0, false, []float32{150, 200}},
		"from the end":     {-0.1, 0, false, []float32{200}},
		"more than is":     {0.3, 9, false, []float32{150, 200}},
		"strictly more":    {0.3, 9, true, nil},
		"behind the end":   {7, 0, false, nil},
		"before its start": {-7, 0.1, false, []float32{0}},
	}
	for name, video := range map[string]node.Value{"file": file, "frames": made} {
		for what, c := range cases {
			res, err := a.try("Video Slice", node.Args{"video": video, "start_time": c.start, "duration": c.duration, "strict_duration": c.strict})
			if c.want == nil || what == "more than is" && name == "frames" { // ComfyUI shortens only files
				require.ErrorContains(t, err, "Failed to slice video:", "%s of the %s", what, name)
				require.Equal(t, fault.Invalid, fault.KindOf(err), "%s of the %s", what, name)
				continue
			}
			require.NoError(t, err, "%s of the %s", what, name)
			frames := a.first("GetVideoComponents", node.Args{"video": res.Outputs[0]}).(*raster.Image)
			require.Equal(t, len(c.want), frames.Frames(), "%s of the %s", what, name)
			for i, v := range c.want {
				require.InDelta(t, v/255, frames.At(i, 6, 8, 0), 0.02, "%s of the %s", what, name)
			}
		}
	}
}

func TestFilesAreCheckedBeforeTheRun(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for class, input := range map[string]string{"LoadAudio": "audio", "LoadVideo": "file"} {
		c, _ := a.classes.Lookup(class)
		check := func(v node.Value) error { return c.Check(context.Background(), a.files, node.Args{input: v}) }
		require.NoError(t, check(nodetest.SoundName))
		require.ErrorContains(t, check("nothing.mp3"), "file: nothing.mp3")
		require.ErrorContains(t, check(int64(3)), "the value is not a file name")
		one, err := c.Fingerprint(t.Context(), a.files, node.Args{input: nodetest.SoundName})
		require.NoError(t, err)
		two, err := c.Fingerprint(t.Context(), a.files, node.Args{input: nodetest.VideoName})
		require.NoError(t, err)
		require.NotEqual(t, one, two, "what is in the file decides")
	}
	_, err := a.try("EmptyAudio", node.Args{"duration": 1e5, "sample_rate": int64(192000), "channels": int64(2)})
	require.Equal(t, fault.Exhausted, fault.KindOf(err))
}

// The exceptions are those of ComfyUI 0.26 for the same files.
func TestFilesWithoutSoundFailAsInComfyUI(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.files.Saved["text.wav"] = []byte("no sound")
	for name, want := range map[string]string{
		"text.wav":           "av.error.InvalidDataError: [Errno 1094995529] Invalid data found when processing input: 'text.wav'",
		nodetest.PictureName: "ValueError: No audio stream found in the file.",
		nodetest.VideoName:   "ValueError: No audio stream found in the file.",
	} {
		_, err := a.try("LoadAudio", node.Args{"audio": name})
		var refusal *fault.Error
		require.ErrorAs(t, err, &refusal, name)
		sentence, _, _ := strings.Cut(refusal.Message, "\n")
		require.Equal(t, want, refusal.Exception+": "+sentence, name)
	}
}

// The choice below the format determines the content of a file. A video of ten bits stays one of ten bits.
func TestASavedVideoIsOfTheChosenKind(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	frames, err := raster.NewImage8(2, 16, 32, 3, make([]byte, 2*16*32*3))
	require.NoError(t, err)
	video := a.first("CreateVideo", node.Args{"images": frames, "fps": 10.0, "bit_depth": int64(10)})
	for format, begins := range map[string]string{"mkv": "\x1aE\xdf\xa3", "webm": "\x1aE\xdf\xa3", "mp4": "\x00\x00\x00"} {
		saved := a.run("SaveVideo", node.Args{"video": video, "filename_prefix": "kind", "format": format, "format.codec": "auto"})
		require.Equal(t, video, saved.Outputs[0])
		name := saved.UI["images"][0].(node.File).Filename
		require.Equal(t, "kind_00001_."+format, name)
		require.True(t, bytes.HasPrefix(a.files.Saved[name], []byte(begins)), name)
		parts := a.run("GetVideoComponents", node.Args{"video": a.first("LoadVideo", node.Args{"file": name})}).Outputs
		require.Equal(t, []node.Value{int64(10), "sRGB"}, parts[3:], name)
	}
	size := func(crf float64) int {
		noise := make([]byte, 2*64*64*3)
		for i := range noise {
			noise[i] = byte(i * i >> 3)
		}
		frames, err := raster.NewImage8(2, 64, 64, 3, noise)
		require.NoError(t, err)
		a.run("SaveVideo", node.Args{
			"video": a.first("CreateVideo", node.Args{"images": frames, "fps": 10.0}), "filename_prefix": "crf", "format": "mp4",
			"format.codec": "h264", "format.codec.encoding": "re-encode", "format.codec.encoding.crf": crf,
			"format.codec.encoding.color_space": "auto",
		})
		return len(a.files.Saved["crf_00001_.mp4"])
	}
	require.Less(t, size(50), size(5))
	_, err = a.try("SaveVideo", node.Args{"video": video, "filename_prefix": "x", "format": "webm", "format.codec": "h264"})
	require.Equal(t, fault.Invalid, fault.KindOf(err), "the format does not hold it")
}

// Quality determines the size of a lossy file. The file has all frames.
func TestWebPWithLosses(t *testing.T) {
	t.Parallel()
	tool, err := ffmpeg.Find("")
	require.NoError(t, err)
	if tool == nil {
		t.Skip("ffmpeg is not installed: apt-get install ffmpeg, or brew install ffmpeg")
	}
	noise := make([]byte, 3*64*64*3)
	for i := range noise {
		noise[i] = byte(i*i>>3 + 40*(i/(64*64*3)))
	}
	frames, err := raster.NewImage8(3, 64, 64, 3, noise)
	require.NoError(t, err)
	sizes := map[int]int{}
	for _, quality := range []int{5, 95} {
		var b bytes.Buffer
		require.NoError(t, classes.LossyWebP(tool)(t.Context(), &b, frames, 10, quality, "default"))
		pic, err := codec.Decode(t.Context(), raster.Engine{}, bytes.NewReader(b.Bytes()))
		require.NoError(t, err)
		require.Equal(t, [3]int{3, 64, 64}, [3]int{pic.Image.Frames(), pic.Image.Width(), pic.Image.Height()})
		sizes[quality] = b.Len()
	}
	require.Less(t, sizes[5], sizes[95])
	require.Error(t, classes.LossyWebP(tool)(t.Context(), &bytes.Buffer{}, frames, 10, 101, "default"))

	for i := range noise[:2*64*64*4] {
		noise[i] = map[bool]byte{true: 128, false: 200}[i%4 == 3]
	}
	glass, err := raster.NewImage8(2, 64, 64, 4, noise[:2*64*64*4])
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, classes.LossyWebP(tool)(t.Context(), &b, glass, 10, 80, "default"))
	pic, err := codec.Decode(t.Context(), raster.Engine{}, bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	require.NotNil(t, pic.Mask, "transparency is kept")
	require.InDelta(t, 1-128.0/255, pic.Mask.At(0, 9, 9, 0), 0.02)
}

// NumPy chooses which frames are kept: for 16 of 30 frames, RandomState(7).randint(0, 15) is 4, and that of
// RandomState(0) is 12.
func TestConsecutiveFramesAreKept(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	pix := make([]uint8, 30*4*4*3)
	for i := range pix {
		pix[i] = uint8(i / 48)
	}
	im, err := raster.NewImage8(30, 4, 4, 3, pix)
	require.NoError(t, err)
	video := &media.Video{Frames: im, FPS: 10}
	first := func(class string, args node.Args) (number, frames int) {
		args["video"] = video
		cut := a.first(class, args).(*media.Video)
		parts := a.run("GetVideoComponents", node.Args{"video": cut}).Outputs[0].(*raster.Image)
		return int(parts.At(0, 0, 0, 0)*255 + 0.5), parts.Frames()
	}
	for name, c := range map[string]struct {
		class         string
		args          node.Args
		start, length int
	}{
		"from one on":           {"VideoTemporalCrop", node.Args{"start_frame": int64(5), "length": int64(10)}, 5, 10},
		"by seed 7":             {"VideoRandomTemporalCrop", node.Args{"length": int64(16), "seed": int64(7)}, 4, 16},
		"by seed 0":             {"VideoRandomTemporalCrop", node.Args{"length": int64(16), "seed": int64(0)}, 12, 16},
		"more than there are":   {"VideoRandomTemporalCrop", node.Args{"length": int64(99), "seed": int64(7)}, 0, 30},
		"the first ones":        {"VideoFrameSample", node.Args{"num_frames": int64(3), "strategy": "head", "seed": int64(0)}, 0, 3},
		"evenly from the first": {"VideoFrameSample", node.Args{"num_frames": int64(4), "strategy": "uniform", "seed": int64(0)}, 0, 4},
	} {
		number, frames := first(c.class, c.args)
		require.Equal(t, [2]int{c.start, c.length}, [2]int{number, frames}, name)
	}
}
