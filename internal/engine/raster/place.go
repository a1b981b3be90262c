package raster

import (
	"context"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Place returns an image of width × height filled with fill, one value for each channel, with im drawn at (x, y). The
// drawn image must fit inside.
func (e Engine) Place(ctx context.Context, im *Image, x, y, width, height int, fill []float32) (*Image, error) {
	if err := e.Fit(im.n, height, width); err != nil {
		return nil, err
	}
	if x < 0 || y < 0 || x+im.w > width || y+im.h > height || len(fill) != im.c {
		return nil, fault.New(fault.Invalid, fault.CodeOutside, "an image of %d × %d at %d, %d does not fit into %d × %d",
			im.w, im.h, x, y, width, height)
	}
	out := floatGrid(im.n, height, width, im.c)
	err := e.move(ctx, &out, func(i int) {
		row := out.row(nil, i)
		for at := copy(row, fill); at < len(row); at *= 2 {
			copy(row[at:], row[:at])
		}
		if inner := i%height - y; inner >= 0 && inner < im.h {
			part := row[x*im.c : (x+im.w)*im.c : (x+im.w)*im.c]
			copy(part, im.row(part, i/height*im.h+inner))
		}
	})
	return &Image{out}, err
}

// Outpaint returns the image on a grey background that is larger by the margins, and a mask that is 1 on the new area.
// Inside the image, the mask falls off quadratically within feather pixels of the edges with a margin, if the image is
// large enough.
func (e Engine) Outpaint(ctx context.Context, im *Image, m Margins, feather int) (*Image, *Mask, error) {
	width, height := m.Left+im.w+m.Right, m.Top+im.h+m.Bottom
	ground := []float32{0.5, 0.5, 0.5, 0.5}[:im.c]
	out, err := e.Place(ctx, im, m.Left, m.Top, width, height, ground)
	if err != nil {
		return nil, nil, err
	}
	mask, err := e.SolidMask(ctx, 1, height, width, 1)
	if err != nil {
		return nil, nil, err
	}
	if feather*2 >= im.h || feather*2 >= im.w {
		feather = 0
	}
	for y := range im.h {
		row := mask.row(nil, m.Top+y)[m.Left : m.Left+im.w]
		for x := range row {
			row[x] = 0
			if d := m.distance(x, y, im.w, im.h); d < feather {
				v := float64(feather-d) / float64(feather)
				row[x] = float32(v * v)
			}
		}
	}
	return out, mask, nil
}

// Margins are pixels to add on each side.
type Margins struct{ Left, Top, Right, Bottom int }

// distance returns the distance of a pixel from the nearest edge with a margin. Like ComfyUI, it counts from 0 at the
// left and top and from 1 at the right and bottom.
func (m Margins) distance(x, y, w, h int) int {
	d := max(w, h)
	if m.Left != 0 {
		d = min(d, x)
	}
	if m.Top != 0 {
		d = min(d, y)
	}
	if m.Right != 0 {
		d = min(d, w-x)
	}
	if m.Bottom != 0 {
		d = min(d, h-y)
	}
	return d
}

// Beside returns the frames of images of equal height, batch and channels side by side.
func (e Engine) Beside(ctx context.Context, images ...*Image) (*Image, error) {
	width := 0
	for _, im := range images {
		width += im.w
	}
	a := images[0]
	if err := e.Fit(a.n, a.h, width); err != nil {
		return nil, err
	}
	out := floatGrid(a.n, a.h, width, a.c)
	err := e.move(ctx, &out, func(i int) {
		row, at := out.row(nil, i), 0
		for _, im := range images {
			part := row[at : at+im.stride() : at+im.stride()]
			at += copy(part, im.row(part, i))
		}
	})
	return &Image{out}, err
}

// Above returns the frames of images of equal width, batch and channels one below the other.
func (e Engine) Above(ctx context.Context, images ...*Image) (*Image, error) {
	height := 0
	for _, im := range images {
		height += im.h
	}
	a := images[0]
	if err := e.Fit(a.n, height, a.w); err != nil {
		return nil, err
	}
	out := floatGrid(a.n, height, a.w, a.c)
	err := e.move(ctx, &out, func(i int) {
		row, y := out.row(nil, i), i%height
		for _, im := range images {
			if y < im.h {
				copy(row, im.row(row, i/height*im.h+y))
				return
			}
			y -= im.h
		}
	})
	return &Image{out}, err
}
