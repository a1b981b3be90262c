package ffmpeg_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

func find(t testing.TB) *ffmpeg.Tool {
	t.Helper()
	tool, err := ffmpeg.Find("")
	require.NoError(t, err)
	if tool == nil {
		t.Skip("ffmpeg is not installed: apt-get install ffmpeg, or brew install ffmpeg")
	}
	return tool
}

func tone(t testing.TB, rate int, channels int, seconds float64) *media.Sound {
	t.Helper()
	all := make([][]float32, channels)
	for c := range all {
		all[c] = make([]float32, int(seconds*float64(rate)))
		for i := range all[c] {
			all[c][i] = float32(0.5 * math.Sin(2*math.Pi*440*float64(c+1)*float64(i)/float64(rate)))
		}
	}
	s, err := media.NewSound(rate, all)
	require.NoError(t, err)
	return s
}

// frames are plain colours, each brighter than the one before.
func frames(t testing.TB, n, width, height, channels int) *raster.Image {
	t.Helper()
	pix := make([]byte, 0, n*width*height*channels)
	for i := range n {
		pix = append(pix, bytes.Repeat([]byte{byte(20 * i)}, width*height*channels)...)
	}
	im, err := raster.NewImage8(n, height, width, channels, pix)
	require.NoError(t, err)
	return im
}

var (
	flac = ffmpeg.Format{Muxer: []string{"-f", "flac"}, Audio: []string{"-c:a", "flac", "-sample_fmt", "s16"}}
	mp4  = ffmpeg.Format{
		Muxer: []string{"-f", "mp4", "-movflags", "use_metadata_tags"},
		Video: []string{"-c:v", "libx264", "-pix_fmt", "yuv420p"}, Audio: []string{"-c:a", "aac"},
	}
)

func TestSoundRoundTrip(t *testing.T) {
	t.Parallel()
	tool, want := find(t), tone(t, 22050, 2, 1.5)
	var file bytes.Buffer
	tags := []ffmpeg.Tag{{Key: "prompt", Value: "{\"a\": \"=;#\\\\ \\\"\"}\nsecond"}}
	require.NoError(t, tool.WriteSound(t.Context(), &file, want, flac, tags))
	require.Contains(t, file.String(), tags[0].Value, "tags are not changed")
	raw := bytes.Clone(file.Bytes())

	got, err := tool.Sound(t.Context(), &file, ffmpeg.Part{}, 1<<20)
	require.NoError(t, err)
	require.Equal(t, [3]int{22050, 2, want.Samples()}, [3]int{got.Rate(), got.Channels(), got.Samples()})
	for c := range 2 {
		require.InDeltaSlice(t, want.Channel(c), got.Channel(c), 1.0/16384, "sixteen bits")
	}
	part, err := tool.Sound(t.Context(), bytes.NewReader(raw), ffmpeg.Part{Start: 0.5, Length: 0.25}, 1<<20)
	require.NoError(t, err)
	require.InDelta(t, 0.25, part.Seconds(), 0.001)
	require.InDelta(t, want.Channel(1)[22050/2], part.Channel(1)[0], 0.001)

	_, err = tool.Sound(t.Context(), bytes.NewReader(raw), ffmpeg.Part{}, 1000)
	require.Equal(t, fault.CodeMediaTooLarge, fault.CodeOf(err))
	_, err = tool.Video(t.Context(), bytes.NewReader(raw), ffmpeg.Part{}, 1<<20)
	require.Equal(t, fault.CodeNoVideo, fault.CodeOf(err))
	length, err := tool.Length(t.Context(), bytes.NewReader(raw))
	require.NoError(t, err)
	require.InDelta(t, 1.5, length, 0.001)
}

func TestVideoRoundTrip(t *testing.T) {
	t.Parallel()
	tool := find(t)
	for _, channels := range []int{1, 3, 4} {
		clip := &media.Video{Frames: frames(t, 10, 32, 16, channels), FPS: 12.5, Sound: tone(t, 48000, 2, 0.8)}
		var file bytes.Buffer
		var steps []int
		progress := func(done, total int) { steps = append(steps, done, total) }
		require.NoError(t, tool.WriteVideo(t.Context(), &file, clip, mp4, []ffmpeg.Tag{{Key: "prompt", Value: `{"1":{}}`}}, progress))
		require.Equal(t, []int{10, 10}, steps[len(steps)-2:])
		require.Contains(t, file.String(), `{"1":{}}`)
		raw := file.Bytes()

		got, err := tool.Video(t.Context(), bytes.NewReader(raw), ffmpeg.Part{}, 1<<20)
		require.NoError(t, err)
		require.Equal(t, 12.5, got.FPS)
		require.Equal(t, [3]int{10, 32, 16}, [3]int{got.Frames.Frames(), got.Frames.Width(), got.Frames.Height()})
		for i := range 10 {
			require.InDelta(t, float64(20*i)/255, got.Frames.At(i, 8, 16, 1), 0.03, "frame %d", i)
		}
		require.InDelta(t, 0.8, got.Sound.Seconds(), 0.05)

		part, err := tool.Video(t.Context(), bytes.NewReader(raw), ffmpeg.Part{Start: 0.4, Length: 0.16}, 1<<20)
		require.NoError(t, err)
		require.Equal(t, 2, part.Frames.Frames())
		require.InDelta(t, 100.0/255, part.Frames.At(0, 8, 16, 1), 0.03, "the fifth is at 0.4 s")
		_, err = tool.Video(t.Context(), bytes.NewReader(raw), ffmpeg.Part{}, 32*16*4)
		require.Equal(t, fault.Exhausted, fault.KindOf(err), "more than four frames")
		_, err = tool.Video(t.Context(), bytes.NewReader(raw), ffmpeg.Part{Start: 9}, 1<<20)
		require.Equal(t, fault.CodeVideoEmpty, fault.CodeOf(err))

		rewrite := mp4
		rewrite.Crop = "null"
		var rewritten bytes.Buffer
		require.NoError(t, tool.Rewrite(t.Context(), &rewritten, bytes.NewReader(raw), ffmpeg.Part{Start: 0.42, Length: 0.1}, rewrite, nil))
		require.NotEmpty(t, rewritten.Bytes())
		err = tool.Rewrite(t.Context(), io.Discard, bytes.NewReader(raw), ffmpeg.Part{Start: 0.42, Length: 0.02}, rewrite, nil)
		require.Equal(t, fault.CodeVideoEmpty, fault.CodeOf(err), "between two pictures: %v", err)
	}
}

// Given a playlist or a script, ffmpeg would read other files or the network.
func TestFilesThatReferToOthersAreRefused(t *testing.T) {
	t.Parallel()
	tool := find(t)
	secret := filepath.Join(t.TempDir(), "secret.flac")
	var file bytes.Buffer
	require.NoError(t, tool.WriteSound(t.Context(), &file, tone(t, 8000, 1, 0.1), flac, nil))
	require.NoError(t, os.WriteFile(secret, file.Bytes(), 0o600))
	for name, text := range map[string]string{
		"playlist":      "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n" + secret + "\n#EXT-X-ENDLIST\n",
		"remote":        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:1/x.ts\n#EXT-X-ENDLIST\n",
		"concatenation": "ffconcat version 1.0\nfile " + secret + "\n",
		"description":   "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 9 RTP/AVP 0\n",
		"no media":      "hello",
		"nothing":       "",
	} {
		_, err := tool.Sound(t.Context(), strings.NewReader(text), ffmpeg.Part{}, 1<<20)
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%s: %v", name, err)
		require.NotContains(t, err.Error(), "/tmp", name)
	}
}

func TestADamagedFileIsAnError(t *testing.T) {
	t.Parallel()
	tool := find(t)
	var file bytes.Buffer
	require.NoError(t, tool.WriteVideo(t.Context(), &file, &media.Video{Frames: frames(t, 4, 16, 16, 3), FPS: 4}, mp4, nil, nil))
	_, err := tool.Video(t.Context(), bytes.NewReader(file.Bytes()[:file.Len()/2]), ffmpeg.Part{}, 1<<20)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

// A stream may change its rate and channels, but a sound has one rate and one number of channels.
func TestAStreamThatChangesIsOneSound(t *testing.T) {
	t.Parallel()
	tool := find(t)
	var file bytes.Buffer
	for _, s := range []*media.Sound{tone(t, 44100, 2, 1), tone(t, 24000, 1, 1)} {
		how := ffmpeg.Format{Muxer: []string{"-f", "mp3", "-id3v2_version", "0", "-write_xing", "0"}, Audio: []string{"-c:a", "libmp3lame"}}
		require.NoError(t, tool.WriteSound(t.Context(), &file, s, how, nil))
	}
	got, err := tool.Sound(t.Context(), &file, ffmpeg.Part{}, 1<<20)
	require.NoError(t, err)
	require.InDelta(t, 2, got.Seconds(), 0.25, "%d channels at %d Hz", got.Channels(), got.Rate())
}

// Decoding a large frame takes more memory than the resulting value, so frames have a bound of their own.
func TestFramesBeyondTheBoundAreRefused(t *testing.T) {
	t.Parallel()
	tool := find(t)
	var file bytes.Buffer
	how := ffmpeg.Format{Muxer: []string{"-f", "matroska"}, Video: []string{"-vf", "scale=8200:4100", "-c:v", "png"}}
	require.NoError(t, tool.WriteVideo(t.Context(), &file, &media.Video{Frames: frames(t, 1, 16, 16, 3), FPS: 1}, how, nil, nil))
	_, err := tool.Video(t.Context(), bytes.NewReader(file.Bytes()), ffmpeg.Part{}, 1<<40)
	require.Equal(t, fault.Exhausted, fault.KindOf(err))
	err = tool.Rewrite(t.Context(), io.Discard, &file, ffmpeg.Part{}, mp4, nil)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

// Tags come from the caller: no tag may end the list of tags.
func TestTagsCannotOpenSections(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	tags := []ffmpeg.Tag{
		{Key: "[STREAM]", Value: "a"},
		{Key: "[CHAPTER]", Value: "b"},
		{Key: "x\x00", Value: "c\x00"},
		{Key: "workflow", Value: "{}"},
	}
	require.NoError(t, find(t).WriteSound(t.Context(), &file, tone(t, 8000, 1, 0.1), flac, tags))
	for _, want := range []string{"[STREAM]=a", "[CHAPTER]=b", "x=c", "workflow={}"} {
		require.Contains(t, file.String(), want)
	}
}

func TestAnEndedContextEndsTheProgram(t *testing.T) {
	t.Parallel()
	tool := find(t)
	ctx, cancel := context.WithCancel(t.Context())
	progress := func(done, _ int) {
		if done == 2 {
			cancel()
		}
	}
	err := tool.WriteVideo(ctx, io.Discard, &media.Video{Frames: frames(t, 12, 640, 480, 3), FPS: 4}, mp4, nil, progress)
	require.ErrorIs(t, err, context.Canceled)
}

// An ffmpeg in the path without ffprobe is as none, so that the service starts.
func TestFFmpegWithoutFFprobeIsNotUsed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ffmpeg"), []byte("#!/bin/sh\n"), 0o700))
	t.Setenv("PATH", dir)
	tool, err := ffmpeg.Find("")
	require.NoError(t, err)
	require.Nil(t, tool)
	_, err = ffmpeg.Find(filepath.Join(dir, "ffmpeg"))
	require.ErrorContains(t, err, "find ffprobe", "the operator names it")
}

func TestFindReportsAMissingProgram(t *testing.T) {
	t.Parallel()
	tool, err := ffmpeg.Find(ffmpeg.None)
	require.NoError(t, err)
	require.Nil(t, tool)
	_, err = ffmpeg.Find("/nowhere/ffmpeg")
	require.ErrorContains(t, err, "find ffmpeg")
}
