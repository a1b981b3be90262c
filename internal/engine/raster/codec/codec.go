// Package codec reads and writes image files as raster values. A file gives the same pixels as in ComfyUI, with its rules
// for orientation, palettes, 16-bit samples, transparency and several frames. The size of a file is checked before any of
// its pixels are decoded. Where files are kept is left to others.
package codec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"io"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// maxSide bounds the width and height of a file, so that row buffers stay small.
const maxSide = 1 << 16

// Picture is a decoded file.
type Picture struct {
	Image *raster.Image // RGB, upright, with every frame of the file; with as many bits as the file has
	Mask  *raster.Mask  // 1 − alpha for each frame; nil when the file has no alpha

	// Clear says of a file without alpha that its kind of pixels could be transparent, such as those of a palette. ComfyUI
	// gives it an empty mask of its own size.
	Clear bool
}

// Info is what the headers of a file say.
type Info struct {
	Format Format
	Width  int // upright
	Height int
	Frames int
}

// Format is a kind of image file.
type Format string

// The formats that Decode reads.
const (
	PNG  Format = "png"
	JPEG Format = "jpeg"
	GIF  Format = "gif"
	WebP Format = "webp"
	BMP  Format = "bmp"
	TIFF Format = "tiff"
)

// layout is the result of scanning a file before any pixel is decoded.
type layout struct {
	width, height, frames int
	orientation           int // EXIF, 0 = none
	clear                 bool
	pixels                pixels
}

// decoder reads one format from the bytes of a file.
type decoder struct {
	format Format
	match  func(head []byte) bool
	scan   func(data []byte) (layout, error)
	decode func(ctx context.Context, data []byte, l layout) (*frames, error)
}

func decoders() []decoder {
	return []decoder{
		{PNG, prefixed("\x89PNG\r\n\x1a\n"), scanPNG, decodePNG},
		{JPEG, prefixed("\xff\xd8\xff"), scanJPEG, decodeJPEG},
		{GIF, prefixed("GIF8"), scanGIF, decodeGIF},
		{WebP, isWebP, scanWebP, decodeWebP},
		{BMP, prefixed("BM"), scanBMP, decodeBMP},
		{TIFF, prefixed("II*\x00", "MM\x00*"), scanTIFF, decodeTIFF},
	}
}

func prefixed(magics ...string) func([]byte) bool {
	return func(head []byte) bool {
		for _, m := range magics {
			if bytes.HasPrefix(head, []byte(m)) {
				return true
			}
		}
		return false
	}
}

// Decode reads a whole file. A file that is damaged or not an image is fault.Invalid. A file with more pixels (frames ×
// width × height) than the engine allows is fault.Exhausted; it is refused before decoding.
func Decode(ctx context.Context, e raster.Engine, r io.Reader) (*Picture, error) {
	return decode(ctx, e, r, nil)
}

// decode decodes a file, whose frames may be changed before they become a picture.
func decode(ctx context.Context, e raster.Engine, r io.Reader, change func(*frames, context.Context, layout) error) (*Picture, error) {
	d, data, l, err := open(e, r)
	if err != nil {
		return nil, err
	}
	f, err := d.decode(ctx, data, l)
	if err == nil && change != nil {
		err = change(f, ctx, l)
	}
	if err != nil {
		return nil, unreadable(ctx, d.format, err)
	}
	pic, err := f.picture(ctx, e, l.orientation)
	if err != nil {
		return nil, err
	}
	pic.Clear = l.clear && pic.Mask == nil
	return pic, nil
}

// Stat reads the headers of a file without decoding pixels.
func Stat(e raster.Engine, r io.Reader) (Info, error) {
	d, _, l, err := open(e, r)
	if err != nil {
		return Info{}, err
	}
	info := Info{d.format, l.width, l.height, l.frames}
	if l.orientation >= 5 && l.orientation <= 8 {
		info.Width, info.Height = l.height, l.width
	}
	return info, nil
}

// open reads and scans the bytes of a file, whose number the caller has bounded.
func open(e raster.Engine, r io.Reader) (decoder, []byte, layout, error) {
	data, err := readAll(r)
	if err != nil {
		return decoder{}, nil, layout{}, fmt.Errorf("read image file: %w", err)
	}
	for _, d := range decoders() {
		if !d.match(data) {
			continue
		}
		l, err := d.scan(data)
		if err != nil {
			return d, nil, l, unreadable(context.Background(), d.format, err)
		}
		if l.width > maxSide || l.height > maxSide {
			return d, nil, l, fault.New(fault.Exhausted, fault.CodePixelLimit,
				"an image of %d × %d exceeds %d pixels a side", l.width, l.height, maxSide)
		}
		return d, data, l, e.Fit(l.frames, l.height, l.width)
	}
	return decoder{}, nil, layout{}, fault.New(fault.Invalid, fault.CodeImageFormat, "not an image in a known format")
}

// readAll reads the rest of r, in one buffer of the right size when r can tell it.
func readAll(r io.Reader) ([]byte, error) {
	s, ok := r.(io.Seeker)
	if !ok {
		return io.ReadAll(r)
	}
	at, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	end, err := s.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if _, err := s.Seek(at, io.SeekStart); err != nil {
		return nil, err
	}
	data := make([]byte, max(0, end-at))
	_, err = io.ReadFull(r, data)
	return data, err
}

// unreadable classifies what a decoder reported.
func unreadable(ctx context.Context, f Format, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	return fault.Wrap(err, fault.Invalid, fault.CodeImageDamaged, "the %s image is damaged or of an unsupported kind", f)
}

// frames are decoded frames of equal size, before their orientation is applied.
type frames struct {
	width, height int
	rgb           []uint8 // n frames
	alpha         []uint8 // n frames, or nil

	// of more than eight bits, in place of those above
	deepRGB, deepAlpha []float32

	planes *image.YCbCr // of a single frame that the file has as YUV, or nil
}

func newFrames(l layout, alpha bool) *frames {
	size := l.frames * l.width * l.height
	f := &frames{width: l.width, height: l.height, rgb: make([]uint8, 3*size)}
	if alpha {
		f.alpha = make([]uint8, size)
	}
	return f
}

func (f *frames) picture(ctx context.Context, e raster.Engine, orientation int) (*Picture, error) {
	if f.deepRGB != nil {
		return f.deepPicture(ctx, e, orientation)
	}
	n := len(f.rgb) / (3 * f.width * f.height)
	im, err := raster.NewImage8(n, f.height, f.width, 3, f.rgb)
	if err != nil {
		return nil, err
	}
	if im, err = e.Oriented(ctx, im, orientation); err != nil {
		return nil, err
	}
	if f.alpha == nil {
		return &Picture{Image: im}, nil
	}
	a, err := raster.NewImage8(n, f.height, f.width, 1, f.alpha)
	if err != nil {
		return nil, err
	}
	if a, err = e.Oriented(ctx, a, orientation); err != nil {
		return nil, err
	}
	return masked(ctx, e, im, a)
}

// masked is a picture with its alpha.
func masked(ctx context.Context, e raster.Engine, im, alpha *raster.Image) (*Picture, error) {
	mask, err := e.Channel(ctx, alpha, 0)
	if err != nil {
		return nil, err
	}
	if mask, err = e.InvertMask(ctx, mask); err != nil {
		return nil, err
	}
	return &Picture{Image: im, Mask: mask}, nil
}

// deepPicture is a picture of more than eight bits.
func (f *frames) deepPicture(ctx context.Context, e raster.Engine, orientation int) (*Picture, error) {
	n := len(f.deepRGB) / (3 * f.width * f.height)
	im, err := raster.NewImage(n, f.height, f.width, 3, f.deepRGB)
	if err != nil {
		return nil, err
	}
	if im, err = e.Oriented(ctx, im, orientation); err != nil || f.deepAlpha == nil {
		return &Picture{Image: im}, err
	}
	a, err := raster.NewImage(n, f.height, f.width, 1, f.deepAlpha)
	if err != nil {
		return nil, err
	}
	if a, err = e.Oriented(ctx, a, orientation); err != nil {
		return nil, err
	}
	return masked(ctx, e, im, a)
}
