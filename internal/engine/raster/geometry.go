package raster

import (
	"context"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Crop returns the part of the image at (x, y) of at most width × height pixels. A corner outside the image is moved
// inside; the part ends at the image's edges.
func (e Engine) Crop(ctx context.Context, im *Image, x, y, width, height int) (*Image, error) {
	return asImage(e.crop(ctx, &im.grid, x, y, width, height))
}

// CropMask does for masks what Crop does for images.
func (e Engine) CropMask(ctx context.Context, m *Mask, x, y, width, height int) (*Mask, error) {
	return asMask(e.crop(ctx, &m.grid, x, y, width, height))
}

func (e Engine) crop(ctx context.Context, g *grid, x, y, width, height int) (grid, error) {
	if x < 0 || y < 0 || width < 1 || height < 1 {
		return grid{}, fault.New(fault.Invalid, fault.CodeEmptyCrop, "a crop of %d × %d at %d, %d is empty", width, height, x, y)
	}
	x, y = min(x, g.w-1), min(y, g.h-1)
	width, height = min(width, g.w-x), min(height, g.h-y)
	if width == g.w && height == g.h {
		return *g, ctx.Err()
	}
	out := g.sameDepth(g.n, height, width)
	return out, e.move(ctx, &out, func(i int) {
		from := i/height*g.h + y + i%height
		if g.u8 != nil {
			copy(out.row8(nil, i), g.row8(nil, from)[x*g.c:])
		} else {
			copy(out.row(nil, i), g.row(nil, from)[x*g.c:])
		}
	})
}

// move runs a row-copying operation over all rows of out.
func (e Engine) move(ctx context.Context, out *grid, row func(i int)) error {
	return e.start(out.rows()).rows(ctx, out.rows(), out.stride(), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row(i)
		}
	})
}

// FlipRows returns the image upside down.
func (e Engine) FlipRows(ctx context.Context, im *Image) (*Image, error) {
	return e.arrange(ctx, im, im.h, im.w, func(y, x int) (int, int) { return im.h - 1 - y, x })
}

// FlipColumns returns the image mirrored left to right.
func (e Engine) FlipColumns(ctx context.Context, im *Image) (*Image, error) {
	return e.arrange(ctx, im, im.h, im.w, func(y, x int) (int, int) { return y, im.w - 1 - x })
}

// Rotate returns the image rotated clockwise by a number of quarter turns.
func (e Engine) Rotate(ctx context.Context, im *Image, quarters int) (*Image, error) {
	switch ((quarters % 4) + 4) % 4 {
	case 1:
		return e.arrange(ctx, im, im.w, im.h, func(y, x int) (int, int) { return im.h - 1 - x, y })
	case 2:
		return e.arrange(ctx, im, im.h, im.w, func(y, x int) (int, int) { return im.h - 1 - y, im.w - 1 - x })
	case 3:
		return e.arrange(ctx, im, im.w, im.h, func(y, x int) (int, int) { return x, im.w - 1 - y })
	default:
		return im, nil
	}
}

// arrange builds a height × width image by picking a source pixel for each pixel.
// The map must be affine in x, which holds for all flips and turns.
func (e Engine) arrange(ctx context.Context, im *Image, height, width int, from func(y, x int) (int, int)) (*Image, error) {
	g := &im.grid
	out := g.sameDepth(g.n, height, width)
	err := e.move(ctx, &out, func(i int) {
		y0, x0 := from(i%height, 0)
		y1, x1 := from(i%height, 1)
		at := ((i/height*g.h+y0)*g.w + x0) * g.c
		step := ((y1-y0)*g.w + x1 - x0) * g.c
		if g.u8 != nil {
			gather(out.row8(nil, i), g.u8, at, step, g.c)
		} else {
			gather(out.row(nil, i), g.f32, at, step, g.c)
		}
	})
	return asImage(out, err)
}

// gather fills dst with pixels of c samples found at, at+step, ….
func gather[T uint8 | float32](dst, src []T, at, step, c int) {
	for i := 0; i+c <= len(dst); i, at = i+c, at+step {
		copy(dst[i:i+c], src[at:at+c])
	}
}

// Oriented rotates and mirrors the image as its EXIF orientation says (1 to 8; any other value means upright).
func (e Engine) Oriented(ctx context.Context, im *Image, orientation int) (*Image, error) {
	h, w := im.h-1, im.w-1
	switch orientation {
	case 2:
		return e.FlipColumns(ctx, im)
	case 3:
		return e.Rotate(ctx, im, 2)
	case 4:
		return e.FlipRows(ctx, im)
	case 5: // mirrored along the main diagonal
		return e.arrange(ctx, im, im.w, im.h, func(y, x int) (int, int) { return x, y })
	case 6:
		return e.Rotate(ctx, im, 1)
	case 7: // mirrored along the other diagonal
		return e.arrange(ctx, im, im.w, im.h, func(y, x int) (int, int) { return h - x, w - y })
	case 8:
		return e.Rotate(ctx, im, 3)
	default:
		return im, nil
	}
}
