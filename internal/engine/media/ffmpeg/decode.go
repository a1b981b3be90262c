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
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Part is the part of a file to read.
type Part struct {
	Start  float64 // seconds into the file
	Length float64 // length in seconds; 0 = to the end
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

// filter returns the filter of pictures before another one. The option -t counts from the first picture, which may be later than Start.
func (p Part) filter(then string) string {
	if p.Length > 0 {
		return "trim=end=" + seconds(p.Length) + "," + then
	}
	return then
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 6, 64) }

// description is the output of ffprobe for a file.
type description struct {
	Streams []stream `json:"streams"`
	Format  struct {
		Name     string `json:"format_name"`
		Duration string `json:"duration"`
	} `json:"format"`
}

// described lists the requested fields of a description. Other fields, such as tags, may be as long as the file.
const described = "stream=codec_type,codec_name,width,height,pix_fmt,color_transfer,sample_rate,channels,avg_frame_rate,r_frame_rate" +
	":stream_side_data=rotation:stream_disposition=attached_pic:format=format_name,duration"

// maxDescription bounds a description in bytes; ffprobe reads at most a thousand streams.
const maxDescription = 1 << 20

type stream struct {
	Kind     string `json:"codec_type"`
	Codec    string `json:"codec_name"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`
	Pixels   string `json:"pix_fmt"`
	Transfer string `json:"color_transfer"`
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

// first returns the first stream of a kind. The cover picture of a song does not count as video.
func (d description) first(kind string) (stream, bool) {
	for _, s := range d.Streams {
		if s.Kind == kind && s.Disposition.Picture == 0 {
			return s, true
		}
	}
	return stream{}, false
}

// size is the size of the displayed picture, after its rotation.
func (s stream) size() (width, height int) {
	for _, side := range s.Sides {
		if math.Mod(math.Abs(side.Rotation), 180) == 90 {
			return s.Height, s.Width
		}
	}
	return s.Width, s.Height
}

// fps returns the average frame rate. If that is unknown, it returns the rate that the file's timestamps suggest, or
// else 1.
func (s stream) fps() float64 {
	for _, text := range []string{s.FPS, s.BaseFPS} {
		if r, ok := new(big.Rat).SetString(text); ok && r.Sign() > 0 {
			f, _ := r.Float64()
			return f
		}
	}
	return 1
}

// spaces maps ffprobe's names of transfer functions to the names of the colour spaces that are not sRGB.
var spaces = map[string]string{"arib-std-b67": "HDR", "smpte2084": "HDR PQ"}

// depth returns the number of bits of a sample; 0 means 8.
func (s stream) depth() int {
	for _, bits := range []int{10, 12, 14, 16} {
		if strings.HasSuffix(strings.TrimRight(s.Pixels, "bel"), strconv.Itoa(bits)) {
			return bits
		}
	}
	return 0
}

// describe describes the input file of a working directory.
func (t *Tool) describe(ctx context.Context, dir string) (description, error) {
	var d description
	var out bytes.Buffer
	args := append([]string{"-v", "error", "-of", "json", "-show_entries", described}, guarded()...)
	kept := &bounded{left: maxDescription, take: func(p []byte) { out.Write(p) }}
	if err := execute(ctx, dir, t.ffprobe, nil, kept, append(args, "-i", "file:"+inputName)); err != nil {
		return d, err
	}
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		return d, fmt.Errorf("read the output of ffprobe: %w", err)
	}
	return d, nil
}

// inspect calls f with a working directory whose input file is r, and with the description of that file.
func (t *Tool) inspect(ctx context.Context, r io.Reader, f func(dir string, d description) error) error {
	return within(func(dir string) error {
		if err := spool(dir, inputName, copyOf(ctx, r)); err != nil {
			return err
		}
		d, err := t.describe(ctx, dir)
		if err != nil {
			return err
		}
		return f(dir, d)
	})
}

// Length returns the length of a file in seconds.
func (t *Tool) Length(ctx context.Context, r io.Reader) (length float64, err error) {
	err = t.inspect(ctx, r, func(dir string, d description) (err error) {
		if length, err = strconv.ParseFloat(d.Format.Duration, 64); err != nil {
			return fault.Wrap(err, fault.Invalid, fault.CodeNoLength, "the length of the file is unknown: its container does not contain it")
		}
		return nil
	})
	return length, err
}

// Sound reads the first sound of a file. maxBytes bounds the decoded sound.
func (t *Tool) Sound(ctx context.Context, r io.Reader, part Part, maxBytes int64) (s *media.Sound, err error) {
	err = t.inspect(ctx, r, func(dir string, d description) (err error) {
		s, err = t.sound(ctx, dir, d, part, maxBytes)
		if err == nil && s == nil {
			return fault.New(fault.Invalid, fault.CodeNoSound, "the file has no sound")
		}
		return err
	})
	return s, err
}

// sound decodes the first sound. It returns nil if the file has no sound.
func (t *Tool) sound(ctx context.Context, dir string, d description, part Part, maxBytes int64) (*media.Sound, error) {
	found, ok := d.first("audio")
	if !ok {
		return nil, nil
	}
	rate, err := strconv.Atoi(found.Rate)
	if err != nil || rate < 1 || rate > media.MaxRate || found.Channels < 1 || found.Channels > media.MaxChannels {
		return nil, fault.New(fault.Invalid, fault.CodeSoundFormat, "a sound with %d channels at %q Hz is not supported", found.Channels,
			found.Rate)
	}
	channels := make([][]float32, found.Channels)
	out := &bounded{left: maxBytes, take: planes(channels)}
	args := append(part.options(), guarded()...)
	args = append(args, "-i", "file:"+inputName, "-map", "0:a:0", "-f", "f32le", "-c:a", "pcm_f32le")
	// keeps one rate and one number of channels if the stream changes them
	args = append(args, "-ar", found.Rate, "-ac", strconv.Itoa(found.Channels), "pipe:1")
	if err := t.run(ctx, dir, nil, out, args...); err != nil {
		return nil, err
	}
	if len(channels[0]) == 0 {
		return nil, fault.New(fault.Invalid, fault.CodeSoundEmpty, "there is no sound in that part of the file")
	}
	return media.NewSound(rate, channels)
}

// planes splits interleaved samples into channels. A write may end within a sample.
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

// Video reads the frames and the sound of a file. Together they may have maxPixels pixels; sixteen bytes of sound count as
// one pixel.
func (t *Tool) Video(ctx context.Context, r io.Reader, part Part, maxPixels int64) (v *media.Video, err error) {
	err = t.inspect(ctx, r, func(dir string, d description) (err error) {
		v, err = t.video(ctx, dir, d, part, maxPixels)
		return err
	})
	return v, err
}

func (t *Tool) video(ctx context.Context, dir string, d description, part Part, maxPixels int64) (*media.Video, error) {
	found, ok := d.first("video")
	if !ok {
		return nil, fault.New(fault.Invalid, fault.CodeNoVideo, "the file has no video")
	}
	width, height := found.size()
	if width < 1 || height < 1 || int64(width)*int64(height) > min(maxPixels, maxFrame) {
		return nil, fault.New(fault.Exhausted, fault.CodePixelLimit, "the frames of the video are too large: %d × %d pixels", width, height)
	}
	frames, err := t.frames(ctx, dir, part, found, maxPixels)
	if err != nil {
		return nil, err
	}
	sound, err := t.sound(ctx, dir, d, part, (maxPixels-frames.Pixels())*bytesPerPixel)
	if err != nil && fault.CodeOf(err) != fault.CodeSoundEmpty {
		return nil, err
	}
	return &media.Video{Frames: frames, FPS: found.fps(), Sound: sound, Depth: found.depth(), Space: spaces[found.Transfer]}, nil
}

var errNoPicture = fault.New(fault.Invalid, fault.CodeVideoEmpty, "there is no picture in that part of the file")

// bytesPerPixel is the memory of a pixel of the widest value: four floats.
const bytesPerPixel = 16

// frames reads the pictures as ComfyUI does: those with the full range of values as 8 bits, others as floats, from which it cuts 8 bits
// when it writes a file. Their samples of colour lie at the left of the pixels that they stand for.
func (t *Tool) frames(ctx context.Context, dir string, part Part, found stream, maxPixels int64) (*raster.Image, error) {
	width, height := found.size()
	var pix []byte
	out := &bounded{left: maxPixels * 3, take: func(p []byte) { pix = append(pix, p...) }}
	format, filter := "rgb24", fmt.Sprintf("scale=%d:%d", width, height)
	if !strings.HasPrefix(found.Pixels, "yuvj") && !slices.Contains([]string{"rgb24", "rgba", "pal8"}, found.Pixels) {
		format, filter = "gbrpf32le", filter+":in_h_chr_pos=0:flags=bilinear"
		planes := planar{frame: make([]byte, 0, width*height*12), take: out.take}
		out.left, out.take = maxPixels*12, planes.write
	}
	args := append(part.options(), guarded()...)
	args = append(args, "-i", "file:"+inputName, "-map", "0:V:0", "-fps_mode", "passthrough",
		"-f", "rawvideo", "-pix_fmt", format, "-vf", part.filter(filter), "pipe:1")
	if err := t.run(ctx, dir, nil, out, args...); err != nil {
		return nil, err
	}
	size := width * height * 3
	if len(pix) < size {
		return nil, errNoPicture
	}
	n := len(pix) / size
	return raster.NewImage8(n, height, width, 3, pix[:n*size])
}

// bounded passes writes on to take, up to a number of bytes in total.
type bounded struct {
	left int64
	take func([]byte)
}

// planar makes pixels of 8 bits of frames whose planes are floats of green, blue and red.
type planar struct {
	frame []byte // what has come of a frame; its capacity is that of a frame
	take  func([]byte)
}

func (f *planar) write(p []byte) {
	for len(p) > 0 {
		n := min(len(p), cap(f.frame)-len(f.frame))
		if f.frame, p = append(f.frame, p[:n]...), p[n:]; len(f.frame) < cap(f.frame) {
			return
		}
		plane := len(f.frame) / 3
		row := make([]byte, 0, plane/4*3)
		for i := 0; i < plane; i += 4 {
			for _, start := range [3]int{2 * plane, 0, plane} {
				v := math.Float32frombits(binary.LittleEndian.Uint32(f.frame[start+i:]))
				row = append(row, byte(255*min(max(v, 0), 1)))
			}
		}
		f.take(row)
		f.frame = f.frame[:0]
	}
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, fault.New(fault.Exhausted, fault.CodeMediaTooLarge, "the decoded file is larger than a value may be")
	}
	b.take(p)
	return len(p), nil
}
