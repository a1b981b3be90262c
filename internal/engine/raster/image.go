// Package raster holds images and masks, which node classes exchange, and the operations on them: batches of float32
// frames, with ComfyUI's conversions, filters and resampling, bit for bit where 8-bit results are compared. Values are
// immutable once returned and safe for concurrent reads. Files (PNG, JPEG, …) are read and written by package codec.
package raster

import (
	"fmt"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Image is a batch of frames of equal size, row by row, with interleaved channels (RGB, RGBA or grey). Samples are
// nominally in 0..1. An image from an 8-bit source keeps its 8-bit samples until an operation needs floats; readers see
// no difference.
type Image struct{ grid }

// Mask is a batch of single-channel float frames; 1 marks the selected area.
type Mask struct{ grid }

// grid is the storage shared by Image and Mask. Exactly one of u8 and f32 is set.
type grid struct {
	n, h, w, c int
	u8         []uint8
	f32        []float32
}

// NewImage8 returns an image of 8-bit samples and takes ownership of pix. A sample v stands for v/255.
func NewImage8(frames, height, width, channels int, pix []uint8) (*Image, error) {
	g := grid{n: frames, h: height, w: width, c: channels, u8: pix}
	return imageOf(g, len(pix))
}

// NewImage returns an image of float samples and takes ownership of pix.
func NewImage(frames, height, width, channels int, pix []float32) (*Image, error) {
	g := grid{n: frames, h: height, w: width, c: channels, f32: pix}
	return imageOf(g, len(pix))
}

// NewMask returns a mask of float samples and takes ownership of pix.
func NewMask(frames, height, width int, pix []float32) (*Mask, error) {
	g := grid{n: frames, h: height, w: width, c: 1, f32: pix}
	return asMask(g, g.validate(len(pix)))
}

// EmptyMask returns a mask without pixels, whose height or width is zero, such as a crop outside a mask gives.
// Operations do not accept it.
func EmptyMask(frames, height, width int) *Mask {
	return &Mask{grid{n: frames, h: height, w: width, c: 1, f32: []float32{}}}
}

// Empty reports whether the mask has no pixel.
func (m *Mask) Empty() bool { return m.h == 0 || m.w == 0 }

func imageOf(g grid, samples int) (*Image, error) {
	if g.c != 1 && g.c != 3 && g.c != 4 {
		return nil, fmt.Errorf("image of %d channels", g.c)
	}
	return asImage(g, g.validate(samples))
}

// asImage returns the result of an operation as an image.
func asImage(g grid, err error) (*Image, error) {
	if err != nil {
		return nil, err
	}
	return &Image{g}, nil
}

// asMask returns the result of an operation as a mask.
func asMask(g grid, err error) (*Mask, error) {
	if err != nil {
		return nil, err
	}
	return &Mask{g}, nil
}

func (g *grid) validate(samples int) error {
	if g.n < 1 || g.h < 1 || g.w < 1 {
		return fault.New(fault.Invalid, fault.CodeEmptyImage, "an image of %d × %d × %d pixels is empty", g.n, g.w, g.h)
	}
	if samples != g.n*g.h*g.w*g.c {
		return fmt.Errorf("%d samples for %d×%d×%d×%d", samples, g.n, g.h, g.w, g.c)
	}
	return nil
}

// Frames returns the number of frames in the batch, at least 1.
func (g *grid) Frames() int { return g.n }

// Height returns the rows of a frame.
func (g *grid) Height() int { return g.h }

// Width returns the pixels of a row.
func (g *grid) Width() int { return g.w }

// Channels returns the samples of a pixel: 1, 3 or 4.
func (g *grid) Channels() int { return g.c }

// Pixels returns frames × height × width.
func (g *grid) Pixels() int64 { return int64(g.n) * int64(g.h) * int64(g.w) }

// Is8Bit reports whether the image still has the samples of an 8-bit source.
func (g *grid) Is8Bit() bool { return g.u8 != nil }

// At returns one sample, for tests and single look-ups.
func (g *grid) At(frame, y, x, channel int) float32 {
	i := ((frame*g.h+y)*g.w+x)*g.c + channel
	if g.u8 != nil {
		return unit[g.u8[i]]
	}
	return g.f32[i]
}

// Row returns the samples of a row as floats, either as a view or converted into buf if that is large enough. Callers
// must not change them.
func (g *grid) Row(buf []float32, frame, y int) []float32 {
	return g.row(buf, frame*g.h+y)
}

// Row8 returns a row as 8-bit samples, clipped and truncated as when saving, either as a view or converted into buf if
// that is large enough. Callers must not change them.
func (g *grid) Row8(buf []uint8, frame, y int) []uint8 {
	return g.row8(buf, frame*g.h+y)
}

// stride is the number of samples in a row.
func (g *grid) stride() int { return g.w * g.c }

// rows is the number of rows of all frames.
func (g *grid) rows() int { return g.n * g.h }

// row returns row i counted over all frames.
func (g *grid) row(buf []float32, i int) []float32 {
	s := g.stride()
	if g.f32 != nil {
		return g.f32[i*s : (i+1)*s : (i+1)*s]
	}
	buf = sized(buf, s)
	expand(buf, g.u8[i*s:(i+1)*s])
	return buf
}

// row8 returns row i counted over all frames, quantised.
func (g *grid) row8(buf []uint8, i int) []uint8 {
	s := g.stride()
	if g.u8 != nil {
		return g.u8[i*s : (i+1)*s : (i+1)*s]
	}
	buf = sized(buf, s)
	quantize(buf, g.f32[i*s:(i+1)*s])
	return buf
}

// like returns a float grid of the same shape.
func (g *grid) like() grid {
	return floatGrid(g.n, g.h, g.w, g.c)
}

func floatGrid(n, h, w, c int) grid {
	return grid{n: n, h: h, w: w, c: c, f32: make([]float32, n*h*w*c)}
}

func byteGrid(n, h, w, c int) grid {
	return grid{n: n, h: h, w: w, c: c, u8: make([]uint8, n*h*w*c)}
}

// sameDepth returns a zeroed grid in the sample form of g.
func (g *grid) sameDepth(n, h, w int) grid {
	if g.u8 != nil {
		return byteGrid(n, h, w, g.c)
	}
	return floatGrid(n, h, w, g.c)
}

func sized[T any](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n)
	}
	return buf[:n]
}
