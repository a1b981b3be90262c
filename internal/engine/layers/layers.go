// Package layers holds stacks of pictures that lie over each other, and composes them: each layer is mirrored,
// resized and rotated as Pillow does, then mixed with the layers below in linear light or in sRGB, depending on its
// mode. Composition promises the values of ComfyUI's compositor within rounding. Documents that describe a
// composition are left to the node classes.
package layers

import (
	"context"
	"math"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// MaxLayers bounds the pictures of a composition.
const MaxLayers = 50

// Size is a width and a height in pixels. The zero Size means no size.
type Size struct{ Width, Height int }

// Layer is a batch of pictures at one position of a canvas. Each frame becomes a layer of its own.
type Layer struct {
	Image         *raster.Image
	Mask          *raster.Mask // 1 = transparent; a nil mask makes nothing transparent
	Name          string       // "" = none
	X, Y          int
	Width, Height int // 0 = the size of the image
	Z             int // layers are stacked in the order of Z
	Rotation      float64
	Opacity       float64
	Mode          string
	FlipH, FlipV  bool
}

// Stack is a value that edges carry: layers and the size of their canvas. Layers of equal Z are in order, the lowest
// first. A Stack is immutable once returned.
type Stack struct {
	Canvas Size
	Layers []Layer
}

// Pixels returns the pixels of all layers.
func (s *Stack) Pixels() int64 {
	var sum int64
	for _, l := range s.Layers {
		sum += l.Image.Pixels()
	}
	return sum
}

// Bytes estimates the memory of all layers.
func (s *Stack) Bytes() int64 {
	var sum int64
	for _, l := range s.Layers {
		sum += l.Image.EncodedSize()
		if l.Mask != nil {
			sum += l.Mask.EncodedSize()
		}
	}
	return sum
}

// Frames returns the number of pictures of all layers.
func (s *Stack) Frames() int {
	n := 0
	for _, l := range s.Layers {
		n += l.Image.Frames()
	}
	return n
}

// Over returns a stack with more layers on top of those of s, which may be nil. More than maxPixels pixels in all are
// fault.Exhausted.
func (s *Stack) Over(maxPixels int64, more ...Layer) (*Stack, error) {
	out := &Stack{}
	if s != nil {
		out.Canvas, out.Layers = s.Canvas, append(out.Layers, s.Layers...)
	}
	out.Layers = append(out.Layers, more...)
	if maxPixels <= 0 {
		maxPixels = raster.DefaultMaxPixels
	}
	if n := out.Pixels(); n > maxPixels {
		return nil, fault.New(fault.Exhausted, fault.CodePixelLimit, "layers of %d pixels in all exceed the limit of %d pixels", n, maxPixels)
	}
	return out, nil
}

// MaskFrame returns the frame of a mask for frame i of an image: the only frame, or the frame with that number. It
// returns nil if the mask has no such frame.
func MaskFrame(ctx context.Context, mask *raster.Mask, i int) (*raster.Mask, error) {
	switch {
	case mask == nil || mask.Frames() == 1:
		return mask, ctx.Err()
	case i >= mask.Frames():
		return nil, ctx.Err()
	}
	pix := make([]float32, 0, mask.Height()*mask.Width())
	for y := range mask.Height() {
		pix = append(pix, mask.Row(nil, i, y)...)
	}
	return raster.NewMask(1, mask.Height(), mask.Width(), pix)
}

// Shown returns one frame with the mask as alpha. An alpha of the frame is multiplied with that of the mask; without
// either, the result has no alpha.
func Shown(ctx context.Context, e raster.Engine, frame *raster.Image, mask *raster.Mask) (*raster.Image, error) {
	if frame.Channels() == 1 {
		return nil, fault.New(fault.Invalid, fault.CodeInputType, "a layer of one channel cannot be composed: it needs three or four channels")
	}
	if mask == nil {
		return frame, ctx.Err()
	}
	mask, err := e.ResizeMask(ctx, mask, frame.Width(), frame.Height(), raster.Bilinear)
	if err != nil {
		return nil, err
	}
	pix := make([]float32, 0, frame.Pixels()*4)
	for y := range frame.Height() {
		row, hidden := frame.Row(nil, 0, y), mask.Row(nil, 0, y)
		for x, m := range hidden {
			p := row[x*frame.Channels():]
			alpha := min(max(1-m, 0), 1)
			if frame.Channels() == 4 {
				alpha *= p[3]
			}
			pix = append(pix, p[0], p[1], p[2], alpha)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return raster.NewImage(1, frame.Height(), frame.Width(), 4, pix)
}

// Rounded returns one frame in 8 bits, each value rounded to the nearest. Files, in contrast, have the next lower
// value.
func Rounded(frame *raster.Image) (*raster.Image, error) {
	pix := make([]uint8, 0, int(frame.Pixels())*frame.Channels())
	for y := range frame.Height() {
		for _, v := range frame.Row(nil, 0, y) {
			pix = append(pix, uint8(min(max(math.RoundToEven(float64(v*255)), 0), 255)))
		}
	}
	return raster.NewImage8(1, frame.Height(), frame.Width(), frame.Channels(), pix)
}
