package ffmpeg

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Part is what is read of a file.
type Part struct {
	Start  float64 // seconds into the file
	Length float64 // seconds, 0 = to its end
}

func (p Part) options() []string {
	var out []string
	if p.Start > 0 {
		out = append(out, "-ss", seconds(p.Start))
	}
	if p.Length > 0 {
		out = append(out, "-t", seconds(p.Length))
	}
	return out
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 6, 64) }

// description is what ffprobe tells of a file.
type description struct {
	Streams []stream `json:"streams"`
	Format  struct {
		Name     string `json:"format_name"`
		Duration string `json:"duration"`
	} `json:"format"`
}

// described are the fields of a description. Others may be as long as the file: its tags.
const described = "stream=codec_type,codec_name,width,height,sample_rate,channels,avg_frame_rate,r_frame_rate" +
	":stream_side_data=rotation:stream_disposition=attached_pic:format=format_name,duration"

// maxDescription bounds a description in bytes: of the thousand streams that ffprobe reads at most.
const maxDescription = 1 << 20

type stream struct {
	Kind     string `json:"codec_type"`
	Codec    string `json:"codec_name"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`
	Rate     string `json:"sample_rate"`
	Channels int    `json:"channels"`
	FPS      string `json:"avg_frame_rate"`
	BaseFPS  string `json:"r_frame_rate"`
	Sides    []struct {
		Rotation float64 `json:"rotation"`
	} `json:"side_data_list"`
	Disposition struct {
		Picture int `json:"attached_pic"`
	} `json:"disposition"`
}

// first returns the first stream of a kind; the cover of a song is no video.
func (d description) first(kind string) (stream, bool) {
	for _, s := range d.Streams {
		if s.Kind == kind && s.Disposition.Picture == 0 {
			return s, true
		}
	}
	return stream{}, false
}

// size is that of the picture as it is shown.
func (s stream) size() (width, height int) {
	for _, side := range s.Sides {
		if math.Mod(math.Abs(side.Rotation), 180) == 90 {
			return s.Height, s.Width
		}
	}
	return s.Width, s.Height
}

// fps is the frame rate on average, or the one that the file's times suggest, where its length is not known. One
// that tells neither has one frame a second.
func (s stream) fps() float64 {
	for _, text := range []string{s.FPS, s.BaseFPS} {
		if r, ok := new(big.Rat).SetString(text); ok && r.Sign() > 0 {
			f, _ := r.Float64()
			return f
		}
	}
	return 1
}

// describe asks what is in the input of a working directory.
func (t *Tool) describe(ctx context.Context, dir string) (description, error) {
	var d description
	var out bytes.Buffer
	args := append([]string{"-v", "error", "-of", "json", "-show_entries", described}, guarded()...)
	kept := &bounded{left: maxDescription, take: func(p []byte) { out.Write(p) }}
	if err := execute(ctx, dir, t.ffprobe, nil, kept, append(args, "-i", "file:"+inputName)); err != nil {
		return d, err
	}
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		return d, fmt.Errorf("read what ffprobe says: %w", err)
	}
	return d, nil
}

// Length returns how long a file is, in seconds.
func (t *Tool) Length(ctx context.Context, r io.Reader) (length float64, err error) {
	err = within(func(dir string) error {
		if err := spool(dir, inputName, copyOf(ctx, r)); err != nil {
			return err
		}
		d, err := t.describe(ctx, dir)
		if err != nil {
			return err
		}
		if length, err = strconv.ParseFloat(d.Format.Duration, 64); err != nil {
			return fault.Wrap(err, fault.Invalid, "no_length", "the file does not say how long it is")
		}
		return nil
	})
	return length, err
}

// Sound reads the first sound of a file, of at most that many bytes once decoded.
func (t *Tool) Sound(ctx context.Context, r io.Reader, part Part, maxBytes int64) (s *media.Sound, err error) {
	err = within(func(dir string) error {
		if err := spool(dir, inputName, copyOf(ctx, r)); err != nil {
			return err
		}
		d, err := t.describe(ctx, dir)
		if err != nil {
			return err
		}
		s, err = t.sound(ctx, dir, d, part, maxBytes)
		if err == nil && s == nil {
			return fault.New(fault.Invalid, "no_sound", "the file has no sound")
		}
		return err
	})
	return s, err
}

// sound decodes the first sound, nil if there is none.
func (t *Tool) sound(ctx context.Context, dir string, d description, part Part, maxBytes int64) (*media.Sound, error) {
	found, ok := d.first("audio")
	if !ok {
		return nil, nil
	}
	rate, err := strconv.Atoi(found.Rate)
	if err != nil || rate < 1 || rate > media.MaxRate || found.Channels < 1 || found.Channels > media.MaxChannels {
		return nil, fault.New(fault.Invalid, "sound_format", "a sound of %d channels at %q Hz is not supported", found.Channels, found.Rate)
	}
	channels := make([][]float32, found.Channels)
	out := &bounded{left: maxBytes, take: planes(channels)}
	args := append(part.options(), guarded()...)
	args = append(args, "-i", "file:"+inputName, "-map", "0:a:0", "-f", "f32le", "-c:a", "pcm_f32le")
	args = append(args, "-ar", found.Rate, "-ac", strconv.Itoa(found.Channels), "pipe:1") // whatever else is in the stream
	if err := t.run(ctx, dir, nil, out, args...); err != nil {
		return nil, err
	}
	if len(channels[0]) == 0 {
		return nil, fault.New(fault.Invalid, "sound_empty", "there is no sound in that part of the file")
	}
	return media.NewSound(rate, channels)
}

// planes takes interleaved samples apart. Writes need not end between samples.
func planes(channels [][]float32) func([]byte) {
	var rest []byte
	frame := 4 * len(channels)
	return func(p []byte) {
		rest = append(rest, p...)
		whole := len(rest) / frame * frame
		for at := 0; at < whole; at += frame {
			for c := range channels {
				channels[c] = append(channels[c], math.Float32frombits(binary.LittleEndian.Uint32(rest[at+4*c:])))
			}
		}
		rest = append(rest[:0], rest[whole:]...)
	}
}

// Video reads frames and sound of a file, which together have at most maxPixels pixels, sixteen bytes of
// sound counting as one.
func (t *Tool) Video(ctx context.Context, r io.Reader, part Part, maxPixels int64) (v *media.Video, err error) {
	err = within(func(dir string) error {
		if err := spool(dir, inputName, copyOf(ctx, r)); err != nil {
			return err
		}
		d, err := t.describe(ctx, dir)
		if err != nil {
			return err
		}
		v, err = t.video(ctx, dir, d, part, maxPixels)
		return err
	})
	return v, err
}

func (t *Tool) video(ctx context.Context, dir string, d description, part Part, maxPixels int64) (*media.Video, error) {
	found, ok := d.first("video")
	if !ok {
		return nil, fault.New(fault.Invalid, "no_video", "the file has no video")
	}
	width, height := found.size()
	if width < 1 || height < 1 || int64(width)*int64(height) > min(maxPixels, maxFrame) {
		return nil, fault.New(fault.Exhausted, "pixel_limit", "frames of %d × %d are too large", width, height)
	}
	frames, err := t.frames(ctx, dir, part, width, height, maxPixels)
	if err != nil {
		return nil, err
	}
	sound, err := t.sound(ctx, dir, d, part, (maxPixels-frames.Pixels())*bytesPerPixel)
	if err != nil && fault.CodeOf(err) != "sound_empty" {
		return nil, err
	}
	return &media.Video{Frames: frames, FPS: found.fps(), Sound: sound}, nil
}

// bytesPerPixel is the memory of a pixel of the widest value: four floats.
const bytesPerPixel = 16

func (t *Tool) frames(ctx context.Context, dir string, part Part, width, height int, maxPixels int64) (*raster.Image, error) {
	var pix []byte
	out := &bounded{left: maxPixels * 3, take: func(p []byte) { pix = append(pix, p...) }}
	args := append(part.options(), guarded()...)
	args = append(args, "-i", "file:"+inputName, "-map", "0:V:0", "-fps_mode", "passthrough",
		"-f", "rawvideo", "-pix_fmt", "rgb24", "-s", fmt.Sprintf("%dx%d", width, height), "pipe:1")
	if err := t.run(ctx, dir, nil, out, args...); err != nil {
		return nil, err
	}
	size := width * height * 3
	if len(pix) < size {
		return nil, fault.New(fault.Invalid, "video_empty", "there is no picture in that part of the file")
	}
	n := len(pix) / size
	return raster.NewImage8(n, height, width, 3, pix[:n*size])
}

// bounded passes on what is written, up to a number of bytes.
type bounded struct {
	left int64
	take func([]byte)
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, fault.New(fault.Exhausted, "media_too_large", "what the file holds is larger than a value may be")
	}
	b.take(p)
	return len(p), nil
}
