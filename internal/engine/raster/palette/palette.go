// Package palette reduces images to a few colours, pixel for pixel as Pillow does: by a median cut over the colours of a
// frame, and by mapping each pixel to the nearest entry, with or without dithering.
package palette

import (
	"context"
	"math"
	"math/bits"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// maxColors is the largest palette.
const maxColors = 256

// Dithers returns the dithering methods in the order of ComfyUI's list.
func Dithers() []string {
	return []string{"none", "floyd-steinberg", "bayer-2", "bayer-4", "bayer-8", "bayer-16"}
}

// Quantize reduces every frame to its own palette of at most colors entries. The
// result is RGB; alpha is dropped. It fails with fault.Invalid for a number of colors
// outside 1 to 256 or an unknown dithering.
func Quantize(ctx context.Context, e raster.Engine, im *raster.Image, colors int, dither string) (*raster.Image, error) {
	if colors < 1 || colors > maxColors {
		return nil, fault.New(fault.Invalid, fault.CodePaletteSize, "a palette has 1 to %d colors, not %d", maxColors, colors)
	}
	apply, err := ditherer(dither)
	if err != nil {
		return nil, err
	}
	im = im.WithChannels(3)
	size := im.Height() * im.Width() * 3
	out := make([]uint8, 0, im.Frames()*size)
	for i := range im.Frames() {
		pix := make([]uint8, 0, size)
		for y := range im.Height() {
			pix = append(pix, im.Row8(nil, i, y)...)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m := newMapper(medianCut(pix, colors))
		if err := apply(ctx, m, pix, im.Width()); err != nil {
			return nil, err
		}
		out = append(out, pix...)
		if e.Progress != nil {
			e.Progress(i+1, im.Frames())
		}
	}
	return raster.NewImage8(im.Frames(), im.Height(), im.Width(), 3, out)
}

// ditherer returns the method that replaces pixels by entries of a palette.
func ditherer(name string) (func(ctx context.Context, m *mapper, pix []uint8, width int) error, error) {
	switch name {
	case "none":
		return plain, nil
	case "floyd-steinberg":
		return diffuse, nil
	case "bayer-2", "bayer-4", "bayer-8", "bayer-16":
		order := map[string]int{"bayer-2": 2, "bayer-4": 4, "bayer-8": 8, "bayer-16": 16}[name]
		return func(ctx context.Context, m *mapper, pix []uint8, width int) error {
			return bayer(ctx, m, pix, width, order)
		}, nil
	default:
		return nil, fault.New(fault.Invalid, fault.CodeUnknownDither, "unknown dithering %q", name)
	}
}

type rgb [3]uint8

// mapper finds nearest entries. It looks colours up with 6 bits a channel, at the low corner of their cell, as Pillow's
// cache does.
type mapper struct {
	colors []rgb
	cells  []int16 // entry + 1; 0 = not looked up yet
}

func newMapper(colors []rgb) *mapper {
	return &mapper{colors, make([]int16, 1<<18)}
}

// nearest returns the first entry with the smallest distance to the colour's cell.
func (m *mapper) nearest(r, g, b uint8) rgb {
	cell := &m.cells[int(r>>2)<<12|int(g>>2)<<6|int(b>>2)]
	if *cell == 0 {
		r, g, b := int(r&^3), int(g&^3), int(b&^3)
		least := math.MaxInt
		for i, c := range m.colors {
			dr, dg, db := int(c[0])-r, int(c[1])-g, int(c[2])-b
			if d := dr*dr + dg*dg + db*db; d < least {
				least, *cell = d, int16(i+1)
			}
		}
	}
	return m.colors[*cell-1]
}

// checkRows is the number of rows that are mapped between checks of the context.
const checkRows = 64

// plain maps every pixel without dithering.
func plain(ctx context.Context, m *mapper, pix []uint8, width int) error {
	for i := 0; i < len(pix); i += 3 {
		if i%(3*width*checkRows) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		c := m.nearest(pix[i], pix[i+1], pix[i+2])
		copy(pix[i:i+3], c[:])
	}
	return nil
}

// diffuse spreads each pixel's error over its neighbours by Floyd and Steinberg:
// 7 to the right, and 3, 5, 1 below, in sixteenths that are truncated.
func diffuse(ctx context.Context, m *mapper, pix []uint8, width int) error {
	below := make([][3]int, width+1) // below[x+1] is the error that the row above left for x
	for y := 0; y*width*3 < len(pix); y++ {
		if y%checkRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var right, under, corner [3]int
		row := pix[y*width*3 : (y+1)*width*3]
		for x := range width {
			p := row[3*x : 3*x+3]
			var want [3]int
			for k := range 3 {
				want[k] = min(max(int(p[k])+(right[k]+below[x+1][k])/16, 0), 255)
			}
			c := m.nearest(uint8(want[0]), uint8(want[1]), uint8(want[2]))
			copy(p, c[:])
			for k := range 3 {
				d := want[k] - int(c[k])
				below[x][k] = 3*d + under[k]
				under[k] = 5*d + corner[k]
				corner[k], right[k] = d, 7*d
			}
		}
		// as in Pillow: the error after the last pixel is blue's for every channel
		below[width] = [3]int{under[2], corner[2], corner[2]}
	}
	return nil
}

// bayer adds an ordered pattern, scaled to the distance of palette entries, and maps.
func bayer(ctx context.Context, m *mapper, pix []uint8, width, order int) error {
	pattern := bayerMatrix(bits.Len(uint(order)) - 1)
	spread := float32(2*256) / float32(len(m.colors))
	for i := range pix {
		x, y := i/3%width, i/3/width
		v := float32(pix[i]) + (spread*pattern[y%order][x%order] + 0.5)
		pix[i] = uint8(min(max(v, 0), 255))
	}
	return plain(ctx, m, pix, width)
}

// bayerMatrix is the pattern of side 2ⁿ with values around 0.
func bayerMatrix(n int) [][]float32 {
	if n == 0 {
		return [][]float32{{0}}
	}
	inner := bayerMatrix(n - 1)
	half := len(inner)
	q := float32(int(1) << (2 * n))
	add := [2][2]float32{{-1.5, 0.5}, {1.5, -0.5}}
	out := make([][]float32, 2*half)
	for y := range out {
		out[y] = make([]float32, 2*half)
		for x := range out[y] {
			out[y][x] = (q*inner[y%half][x%half] + add[y/half][x/half]) / q
		}
	}
	return out
}
