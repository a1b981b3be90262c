package raster

import (
	"context"

	"github.com/millrace-dev/millrace/internal/fault"
)

// mapRows returns a float grid of the shape of g, made by applying fn to each row. src is valid only during the call.
func (e Engine) mapRows(ctx context.Context, g *grid, channels int, fn func(dst, src []float32)) (grid, error) {
	out := floatGrid(g.n, g.h, g.w, channels)
	err := e.start(g.rows()).rows(ctx, g.rows(), g.stride(), func(lo, hi int) {
		buf := floatScratch.get(g.stride())
		defer floatScratch.put(buf)
		for i := lo; i < hi; i++ {
			fn(out.row(nil, i), g.row(buf, i))
		}
	})
	return out, err
}

// Invert returns 1 − x of every sample, alpha included.
func (e Engine) Invert(ctx context.Context, im *Image) (*Image, error) {
	return asImage(e.mapRows(ctx, &im.grid, im.c, complement))
}

// InvertMask returns 1 − x of every sample.
func (e Engine) InvertMask(ctx context.Context, m *Mask) (*Mask, error) {
	return asMask(e.mapRows(ctx, &m.grid, 1, complement))
}

func complement(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = 1 - v
	}
}

// Channel returns a channel as a mask. A channel that the image does not have is fault.Invalid.
func (e Engine) Channel(ctx context.Context, im *Image, channel int) (*Mask, error) {
	if channel < 0 || channel >= im.c {
		return nil, fault.New(fault.Invalid, fault.CodeNoChannel, "an image with %d channels has no channel %d", im.c, channel).
			Raising("IndexError", "index %d is out of bounds for dimension 3 with size %d", channel, im.c)
	}
	return asMask(e.mapRows(ctx, &im.grid, 1, func(dst, src []float32) {
		for x := range dst {
			dst[x] = src[x*im.c+channel]
		}
	}))
}

// MaskImage returns the mask as a grey RGB image.
func (e Engine) MaskImage(ctx context.Context, m *Mask) (*Image, error) {
	return asImage(e.mapRows(ctx, &m.grid, 3, func(dst, src []float32) {
		for x, v := range src {
			d := dst[x*3:][:3]
			d[0], d[1], d[2] = v, v, v
		}
	}))
}

// zipRows builds a float grid of the shape of a by applying fn to the rows of a and b. Both have the same size and
// channels; a batch of one frame repeats for the other.
func (e Engine) zipRows(ctx context.Context, a, b *grid, fn func(dst, a, b []float32)) (grid, error) {
	if a.n != b.n && a.n != 1 && b.n != 1 {
		return grid{}, fault.New(fault.Invalid, fault.CodeBatchMismatch, "batches of %d and %d frames cannot be combined", a.n, b.n)
	}
	n := max(a.n, b.n)
	if err := e.Fit(n, a.h, a.w); err != nil {
		return grid{}, err
	}
	out := floatGrid(n, a.h, a.w, a.c)
	err := e.start(out.rows()).rows(ctx, out.rows(), 2*out.stride(), func(lo, hi int) {
		bufA, bufB := floatScratch.get(a.stride()), floatScratch.get(b.stride())
		defer floatScratch.put(bufA)
		defer floatScratch.put(bufB)
		for i := lo; i < hi; i++ {
			fn(out.row(nil, i), a.row(bufA, i%a.rows()), b.row(bufB, i%b.rows()))
		}
	})
	return out, err
}

// Map applies fn to every sample, alpha included.
func (e Engine) Map(ctx context.Context, im *Image, fn func(float32) float32) (*Image, error) {
	return asImage(e.mapRows(ctx, &im.grid, im.c, func(dst, src []float32) {
		dst = dst[:len(src)]
		for i, v := range src {
			dst[i] = fn(v)
		}
	}))
}

// MapPixels returns an image of the same size with channels samples a pixel; fn sets the samples of each pixel.
func (e Engine) MapPixels(ctx context.Context, im *Image, channels int, fn func(dst, src []float32)) (*Image, error) {
	return asImage(e.mapRows(ctx, &im.grid, channels, func(dst, src []float32) {
		for len(src) >= im.c {
			fn(dst[:channels:channels], src[:im.c:im.c])
			dst, src = dst[channels:], src[im.c:]
		}
	}))
}
