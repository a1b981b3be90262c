package raster

import (
	"context"

	"github.com/millrace-dev/millrace/internal/fault"
)

// SplitAlpha returns the colours and 1 − alpha, which is zero if the image has no alpha.
func (e Engine) SplitAlpha(ctx context.Context, im *Image) (*Image, *Mask, error) {
	if im.c != 4 {
		mask, err := e.SolidMask(ctx, im.n, im.h, im.w, 0)
		return im, mask, err
	}
	alpha, err := e.Channel(ctx, im, 3)
	if err != nil {
		return nil, nil, err
	}
	mask, err := e.InvertMask(ctx, alpha)
	return im.WithChannels(3), mask, err
}

// JoinAlpha returns the colours with 1 − mask as alpha. The mask is resized to the image's size (bilinear); the smaller
// batch repeats.
func (e Engine) JoinAlpha(ctx context.Context, im *Image, mask *Mask) (*Image, error) {
	mask, err := e.ResizeMask(ctx, mask, im.w, im.h, Bilinear)
	if err != nil {
		return nil, err
	}
	n := max(im.n, mask.n)
	if err := e.Fit(n, im.h, im.w); err != nil {
		return nil, err
	}
	rgb := im.WithChannels(3)
	out := floatGrid(n, im.h, im.w, 4)
	err = e.start(out.rows()).rows(ctx, out.rows(), out.stride(), func(lo, hi int) {
		buf := floatScratch.get(rgb.stride())
		defer floatScratch.put(buf)
		for i := lo; i < hi; i++ {
			row := out.row(nil, i)
			src, m := rgb.row(buf, i%rgb.rows()), mask.row(nil, i%mask.rows())
			for x, v := range m {
				copy(row[4*x:4*x+3], src[3*x:3*x+3])
				row[4*x+3] = 1 - v
			}
		}
	})
	return &Image{out}, err
}

// sample is a premultiplied colour sample of source and destination with their alphas.
type sample struct{ s, d, sa, da float32 }

// duffModes are the compositing operations in the order of ComfyUI's list, each with its premultiplied colour and its
// alpha.
var duffModes = []struct {
	name  string
	color func(p sample) float32
	alpha func(sa, da float32) float32
}{
	{"ADD", func(p sample) float32 { return clamp(p.s + p.d) }, func(sa, da float32) float32 { return clamp(sa + da) }},
	{"CLEAR", func(sample) float32 { return 0 }, func(_, _ float32) float32 { return 0 }},
	{"DARKEN", func(p sample) float32 { return (1-p.da)*p.s + (1-p.sa)*p.d + min(p.s, p.d) }, union},
	{"DST", func(p sample) float32 { return p.d }, func(_, da float32) float32 { return da }},
	{"DST_ATOP", func(p sample) float32 { return p.sa*p.d + (1-p.da)*p.s }, func(sa, _ float32) float32 { return sa }},
	{"DST_IN", func(p sample) float32 { return p.d * p.sa }, product},
	{"DST_OUT", func(p sample) float32 { return (1 - p.sa) * p.d }, func(sa, da float32) float32 { return (1 - sa) * da }},
	{"DST_OVER", func(p sample) float32 { return p.d + (1-p.da)*p.s }, func(sa, da float32) float32 { return da + (1-da)*sa }},
	{"LIGHTEN", func(p sample) float32 { return (1-p.da)*p.s + (1-p.sa)*p.d + max(p.s, p.d) }, union},
	{"MULTIPLY", func(p sample) float32 { return p.s * p.d }, product},
	{"OVERLAY", duffOverlay, union},
	{"SCREEN", func(p sample) float32 { return p.s + p.d - p.s*p.d }, union},
	{"SRC", func(p sample) float32 { return p.s }, func(sa, _ float32) float32 { return sa }},
	{"SRC_ATOP", func(p sample) float32 { return p.da*p.s + (1-p.sa)*p.d }, func(_, da float32) float32 { return da }},
	{"SRC_IN", func(p sample) float32 { return p.s * p.da }, product},
	{"SRC_OUT", func(p sample) float32 { return (1 - p.da) * p.s }, func(sa, da float32) float32 { return (1 - da) * sa }},
	{"SRC_OVER", func(p sample) float32 { return p.s + (1-p.sa)*p.d }, func(sa, da float32) float32 { return sa + (1-sa)*da }},
	{"XOR", func(p sample) float32 { return (1-p.da)*p.s + (1-p.sa)*p.d }, func(sa, da float32) float32 { return (1-da)*sa + (1-sa)*da }},
}

func union(sa, da float32) float32 { return sa + da - sa*da }

func product(sa, da float32) float32 { return sa * da }

func duffOverlay(p sample) float32 {
	if 2*p.d < p.da {
		return 2 * p.s * p.d
	}
	return p.sa*p.da - 2*(p.da-p.s)*(p.sa-p.d)
}

// DuffModes returns the names that PorterDuff knows.
func DuffModes() []string {
	names := make([]string, len(duffModes))
	for i, m := range duffModes {
		names[i] = m.name
	}
	return names
}

// Layer is an image with its mask, which is 1 − alpha.
type Layer struct {
	Image *Image
	Mask  *Mask
}

// PorterDuff composes source with destination; colours are premultiplied for the operation. Images and masks are resized
// to the destination's size (bicubic, cropped at the centre). The batch is as long as the shortest of the four.
func (e Engine) PorterDuff(ctx context.Context, source, destination Layer, mode string) (*Image, *Mask, error) {
	if source.Image.c != destination.Image.c {
		return nil, nil, fault.New(fault.Invalid, fault.CodeChannelMismatch,
			"images with %d and %d channels cannot be combined", source.Image.c, destination.Image.c)
	}
	n := min(source.Image.n, source.Mask.n, destination.Image.n, destination.Mask.n)
	w, h := destination.Image.w, destination.Image.h
	src, err := e.fitLayer(ctx, source, n, w, h)
	if err != nil {
		return nil, nil, err
	}
	dst, err := e.fitLayer(ctx, destination, n, w, h)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range duffModes {
		if m.name == mode {
			return e.compose(ctx, src, dst, m.color, m.alpha)
		}
	}
	return nil, nil, fault.New(fault.Invalid, fault.CodeUnknownMode, "unknown mode %q", mode)
}

func (e Engine) fitLayer(ctx context.Context, l Layer, n, w, h int) (Layer, error) {
	im, err := e.Cover(ctx, l.Image.Slice(0, n), w, h, Bicubic)
	if err != nil {
		return Layer{}, err
	}
	mask, err := e.Cover(ctx, &Image{l.Mask.slice(0, n)}, w, h, Bicubic)
	if err != nil {
		return Layer{}, err
	}
	return Layer{im, &Mask{mask.grid}}, nil
}

// minAlpha is the alpha up to which a colour becomes black instead of being divided by its alpha.
const minAlpha = 1e-5

func (e Engine) compose(ctx context.Context, src, dst Layer, color func(sample) float32,
	alpha func(sa, da float32) float32,
) (*Image, *Mask, error) {
	out, mask := dst.Image.like(), dst.Mask.like()
	c := out.c
	err := e.start(out.rows()).rows(ctx, out.rows(), 4*out.stride(), func(lo, hi int) {
		bufS, bufD := floatScratch.get(out.stride()), floatScratch.get(out.stride())
		defer floatScratch.put(bufS)
		defer floatScratch.put(bufD)
		for i := lo; i < hi; i++ {
			row, cover := out.row(nil, i), mask.row(nil, i)
			s, d := src.Image.row(bufS, i), dst.Image.row(bufD, i)
			ms, md := src.Mask.row(nil, i), dst.Mask.row(nil, i)
			for x := range cover {
				sa, da := 1-ms[x], 1-md[x]
				a := alpha(sa, da)
				cover[x] = 1 - a
				for j := x * c; a > minAlpha && j < (x+1)*c; j++ {
					row[j] = clamp(color(sample{s[j] * sa, d[j] * da, sa, da}) / a)
				}
			}
		}
	})
	return &Image{out}, &Mask{mask}, err
}
