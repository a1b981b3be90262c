package ffmpeg

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Tag is a text in a file's container.
type Tag struct{ Key, Value string }

// Format holds ffmpeg's options for the container, the pictures and the sound of a file.
type Format struct {
	Muxer []string
	Video []string
	Crop  string // the filter of the pictures, "" = none
	Audio []string
	Alpha bool // of pictures with four channels is written

	// Keeps lists the codecs whose streams Rewrite copies without encoding them again, if it rewrites the whole file
	// and the file's container is Container (ffprobe's name).
	Keeps     []string
	Container string
}

// copied returns the format for a file that is rewritten as a whole.
func (f Format) copied(d description) Format {
	if f.Container == "" || !slices.Contains(strings.Split(d.Format.Name, ","), f.Container) {
		return f
	}
	if v, ok := d.first("video"); !ok || !slices.Contains(f.Keeps, v.Codec) {
		return f
	}
	f.Video, f.Crop = []string{"-c:v", "copy"}, ""
	if a, ok := d.first("audio"); ok && slices.Contains(f.Keeps, a.Codec) {
		f.Audio = []string{"-c:a", "copy"}
	}
	return f
}

// WriteSound writes a file of sound.
func (t *Tool) WriteSound(ctx context.Context, w io.Writer, s *media.Sound, f Format, tags []Tag) error {
	return within(func(dir string) error {
		args, err := soundInput(dir, s)
		if err != nil {
			return err
		}
		tagged, err := tagInput(dir, tags, 1)
		if err != nil {
			return err
		}
		args = append(append(args, tagged...), "-map", "0:a")
		return t.write(ctx, dir, nil, w, append(append(args, f.Audio...), f.Muxer...))
	})
}

// WriteVideo writes a file of frames and, if the video has one, sound. progress, which may be nil, is called with the
// number of frames done.
func (t *Tool) WriteVideo(ctx context.Context, w io.Writer, v *media.Video, f Format, tags []Tag, progress func(done, total int)) error {
	if !(v.FPS > 0) {
		return fault.New(fault.Invalid, fault.CodeFrameRate, "a video of %g frames per second cannot be written", v.FPS)
	}
	alpha, pixels := f.Alpha && v.Frames.Channels() == 4, "rgb24"
	if alpha {
		pixels = "rgba"
	}
	return within(func(dir string) error {
		args := []string{
			"-protocol_whitelist", "pipe", "-f", "rawvideo", "-pix_fmt", pixels,
			"-s", fmt.Sprintf("%dx%d", v.Frames.Width(), v.Frames.Height()), "-r", strconv.FormatFloat(v.FPS, 'f', -1, 64), "-i", "pipe:0",
		}
		inputs, maps := 1, []string{"-map", "0:v"}
		if v.Sound != nil {
			sound, err := soundInput(dir, v.Sound)
			if err != nil {
				return err
			}
			args, maps, inputs = append(args, sound...), append(maps, "-map", "1:a"), 2
			maps = append(maps, f.Audio...)
		}
		tagged, err := tagInput(dir, tags, inputs)
		if err != nil {
			return err
		}
		if f.Crop != "" {
			maps = append(maps, "-vf", f.Crop)
		}
		args = append(append(append(append(args, tagged...), maps...), f.Video...), f.Muxer...)
		return t.write(ctx, dir, &frameReader{ctx: ctx, image: v.Frames, alpha: alpha, progress: progress}, w, args)
	})
}

// Rewrite writes a part of a file in the format f.
func (t *Tool) Rewrite(ctx context.Context, w io.Writer, r io.Reader, part Part, f Format, tags []Tag) error {
	return within(func(dir string) error {
		if err := spool(dir, inputName, copyOf(ctx, r)); err != nil {
			return err
		}
		if part == (Part{}) && f.Container != "" {
			d, err := t.describe(ctx, dir)
			if err != nil {
				return err
			}
			f = f.copied(d)
		}
		args := append(append(part.options(), guarded()...), "-i", "file:"+inputName)
		tagged, err := tagInput(dir, tags, 1)
		if err != nil {
			return err
		}
		args = append(append(args, tagged...), "-map", "0:V:0", "-map", "0:a:0?")
		if f.Crop != "" { // the first picture is shown at once
			args = append(args, "-vf", part.filter("setpts=PTS-STARTPTS,"+f.Crop))
		}
		return t.write(ctx, dir, nil, w, append(append(append(args, f.Video...), f.Audio...), f.Muxer...))
	})
}

// write runs ffmpeg with a file as its output, because containers need to seek in their file, and then copies the
// file to w.
func (t *Tool) write(ctx context.Context, dir string, in io.Reader, w io.Writer, args []string) error {
	args = append(args, "-fflags", "+bitexact", "-flags:v", "+bitexact", "-flags:a", "+bitexact")
	var report strings.Builder
	args = append(args, "-progress", "pipe:1", "-stats_period", "86400", "file:"+outputName) // one report a day, and one at the end
	if err := t.run(ctx, dir, in, &report, args...); err != nil {
		return err
	}
	// If no picture lies in the requested part, ffmpeg succeeds with an empty stream. Reports on sound alone have no line of frames.
	if at := strings.LastIndex(report.String(), "frame="); at >= 0 && strings.HasPrefix(report.String()[at:], "frame=0\n") {
		return errNoPicture
	}
	out, err := os.Open(filepath.Join(dir, outputName))
	if err != nil {
		return fmt.Errorf("read the output of ffmpeg: %w", err)
	}
	return errors.Join(copyOf(ctx, out)(w), out.Close())
}

// soundInput writes samples to a file that ffmpeg reads.
func soundInput(dir string, s *media.Sound) ([]string, error) {
	err := spool(dir, soundName, func(w io.Writer) error { return interleave(w, s) })
	return []string{"-f", "f32le", "-ar", strconv.Itoa(s.Rate()), "-ac", strconv.Itoa(s.Channels()), "-i", "file:" + soundName}, err
}

// interleave writes samples interleaved by channel.
func interleave(w io.Writer, s *media.Sound) error {
	b := bufio.NewWriterSize(w, 1<<16)
	var sample [4]byte
	for i := range s.Samples() {
		for c := range s.Channels() {
			binary.LittleEndian.PutUint32(sample[:], math.Float32bits(s.Channel(c)[i]))
			if _, err := b.Write(sample[:]); err != nil {
				return err
			}
		}
	}
	return b.Flush()
}

// tagInput writes tags to a file that ffmpeg reads as input number n.
func tagInput(dir string, tags []Tag, n int) ([]string, error) {
	if len(tags) == 0 {
		return nil, nil
	}
	err := spool(dir, tagsName, func(w io.Writer) error {
		var b strings.Builder
		b.WriteString(";FFMETADATA1\n")
		for _, tag := range tags {
			b.WriteString(escapedTag(tag.Key) + "=" + escapedTag(tag.Value) + "\n")
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
	return []string{"-f", "ffmetadata", "-i", "file:" + tagsName, "-map_metadata", strconv.Itoa(n)}, err
}

// escapedTag escapes a text so that it cannot end its line or begin a section.
func escapedTag(text string) string {
	return strings.NewReplacer(`\`, `\\`, "=", `\=`, ";", `\;`, "#", `\#`, "[", `\[`, "\n", "\\\n", "\x00", "").Replace(text)
}

// frameReader reads the frames of an image one after the other, as 8-bit RGB.
type frameReader struct {
	ctx      context.Context //nolint:containedctx // lives for one call
	image    *raster.Image
	alpha    bool // rows are RGBA, like those of the image, instead of RGB
	progress func(done, total int)
	frame, y int
	buf      []byte // samples of a row of the image
	row      []byte // the unread part of a row
}

// Read implements io.Reader.
func (r *frameReader) Read(p []byte) (int, error) {
	if len(r.row) == 0 {
		if r.frame == r.image.Frames() {
			return 0, io.EOF
		}
		if r.ctx.Err() != nil {
			return 0, context.Cause(r.ctx)
		}
		r.next()
	}
	n := copy(p, r.row)
	r.row = r.row[n:]
	return n, nil
}

// next moves to the next row.
func (r *frameReader) next() {
	if r.buf == nil {
		r.buf = make([]byte, r.image.Width()*r.image.Channels())
	}
	r.row = r.image.Row8(r.buf, r.frame, r.y)
	if !r.alpha {
		r.row = asRGB(r.row, r.image.Channels())
	}
	if r.y++; r.y == r.image.Height() {
		r.y, r.frame = 0, r.frame+1
		if r.progress != nil {
			r.progress(r.frame, r.image.Frames())
		}
	}
}

// asRGB converts a row to RGB: alpha is dropped, grey is copied to all colours.
func asRGB(row []byte, channels int) []byte {
	if channels == 3 {
		return row
	}
	out := make([]byte, 0, len(row)/channels*3)
	for ; len(row) > 0; row = row[channels:] {
		if channels == 1 {
			out = append(out, row[0], row[0], row[0])
		} else {
			out = append(out, row[:3]...)
		}
	}
	return out
}
