package raster

import (
	"context"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Solid returns frames of one colour; the colour's length is the number of channels.
func (e Engine) Solid(ctx context.Context, frames, height, width int, color []uint8) (*Image, error) {
	if err := e.Fit(frames, height, width); err != nil {
		return nil, err
	}
	out := byteGrid(frames, height, width, len(color))
	err := e.move(ctx, &out, func(i int) {
		row := out.row8(nil, i)
		for x := copy(row, color); x < len(row); x *= 2 {
			copy(row[x:], row[:x])
		}
	})
	if err != nil {
		return nil, err
	}
	return imageOf(out, len(out.u8))
}

// SolidMask returns frames that are value everywhere.
func (e Engine) SolidMask(ctx context.Context, frames, height, width int, value float32) (*Mask, error) {
	if err := e.Fit(frames, height, width); err != nil {
		return nil, err
	}
	out := floatGrid(frames, height, width, 1)
	err := e.move(ctx, &out, func(i int) {
		row := out.row(nil, i)
		for x := range row {
			row[x] = value
		}
	})
	return &Mask{out}, err
}

// Batch returns the frames of both images. The second is resized to the size of the first (bilinear, cropped at the
// centre). If only one image has alpha, the other gets alpha 1.
func (e Engine) Batch(ctx context.Context, first, second *Image) (*Image, error) {
	c := max(first.c, second.c)
	first, second = first.WithChannels(c), second.WithChannels(c)
	if first.w != second.w || first.h != second.h {
		var err error
		if second, err = e.Cover(ctx, second, first.w, first.h, Bilinear); err != nil {
			return nil, err
		}
	}
	return e.Join(ctx, first, second)
}

// Join returns the frames of images of equal height, width and channels, in order.
func (e Engine) Join(ctx context.Context, images ...*Image) (*Image, error) {
	grids := make([]*grid, len(images))
	for i, im := range images {
		grids[i] = &im.grid
	}
	return asImage(e.join(ctx, grids))
}

func (e Engine) join(ctx context.Context, parts []*grid) (grid, error) {
	if len(parts) == 0 {
		return grid{}, fault.New(fault.Invalid, fault.CodeEmptyBatch, "no images to batch")
	}
	a, frames, eight := parts[0], 0, true
	for _, p := range parts {
		if p.h != a.h || p.w != a.w || p.c != a.c {
			return grid{}, fault.New(fault.Invalid, fault.CodeSizeMismatch,
				"images of %d × %d × %d and %d × %d × %d cannot be batched", a.w, a.h, a.c, p.w, p.h, p.c)
		}
		frames += p.n
		eight = eight && p.u8 != nil
	}
	if err := e.Fit(frames, a.h, a.w); err != nil {
		return grid{}, err
	}
	if eight {
		out := byteGrid(frames, a.h, a.w, a.c)
		at := 0
		for _, p := range parts {
			at += copy(out.u8[at:], p.u8)
		}
		return out, ctx.Err()
	}
	out := floatGrid(frames, a.h, a.w, a.c)
	at := 0
	for _, p := range parts {
		for i := range p.rows() {
			at += copy(out.f32[at:], p.row(out.f32[at:], i))
		}
	}
	return out, ctx.Err()
}

// Frame returns one frame as a view.
func (im *Image) Frame(i int) *Image { return im.Slice(i, 1) }

// Slice returns a view of length frames from first on. The range must exist.
func (im *Image) Slice(first, length int) *Image { return &Image{im.slice(first, length)} }

// Slice returns a view of length frames from first on. The range must exist.
func (m *Mask) Slice(first, length int) *Mask { return &Mask{m.slice(first, length)} }

func (g *grid) slice(first, length int) grid {
	out := *g
	out.n = length
	size := g.h * g.stride()
	lo, hi := first*size, (first+length)*size
	if g.u8 != nil {
		out.u8 = g.u8[lo:hi:hi]
	} else {
		out.f32 = g.f32[lo:hi:hi]
	}
	return out
}

// Repeat returns the batch repeated amount times.
func (e Engine) Repeat(ctx context.Context, im *Image, amount int) (*Image, error) {
	if amount < 1 {
		return nil, fault.New(fault.Invalid, fault.CodeEmptyBatch, "a batch cannot be repeated %d times", amount)
	}
	if err := e.Fit(im.n*amount, im.h, im.w); err != nil {
		return nil, err
	}
	out := im.sameDepth(im.n*amount, im.h, im.w)
	err := e.move(ctx, &out, func(i int) {
		if im.u8 != nil {
			copy(out.row8(nil, i), im.row8(nil, i%im.rows()))
		} else {
			copy(out.row(nil, i), im.row(nil, i%im.rows()))
		}
	})
	return &Image{out}, err
}

// Lengthen repeats the last frame until the batch has the given number of frames.
func (e Engine) Lengthen(ctx context.Context, im *Image, frames int) (*Image, error) {
	if im.n >= frames {
		return im, nil
	}
	tail, err := e.Repeat(ctx, im.Frame(im.n-1), frames-im.n)
	if err != nil {
		return nil, err
	}
	return e.Join(ctx, im, tail)
}

// WithChannels returns the image with c channels (3 or 4): alpha is dropped, or
// added as 1; grey is spread over the colours.
func (im *Image) WithChannels(c int) *Image {
	if im.c == c {
		return im
	}
	out := grid{n: im.n, h: im.h, w: im.w, c: c}
	if im.u8 != nil {
		out.u8 = make([]uint8, im.n*im.h*im.w*c)
		rechannel(out.u8, im.u8, c, im.c, 255)
	} else {
		out.f32 = make([]float32, im.n*im.h*im.w*c)
		rechannel(out.f32, im.f32, c, im.c, 1)
	}
	return &Image{out}
}

func rechannel[T uint8 | float32](dst, src []T, to, from int, opaque T) {
	for len(dst) >= to && len(src) >= from {
		d, s := dst[:to], src[:from]
		for i := range d {
			switch {
			case i == 3 && from < 4:
				d[i] = opaque
			case from == 1:
				d[i] = s[0]
			default:
				d[i] = s[i]
			}
		}
		dst, src = dst[to:], src[from:]
	}
}
