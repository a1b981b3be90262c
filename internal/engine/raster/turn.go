package raster

import (
	"context"
	"math"
	"strconv"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Turn returns the image rotated counterclockwise about its centre, in a frame that contains all of it. The
// computation has 8 bits and equals Pillow's bicubic filter byte for byte; four-channel frames are filtered with
// premultiplied alpha. Pixels outside the image are zero. Multiples of 90 degrees only move pixels.
func (e Engine) Turn(ctx context.Context, im *Image, degrees float64) (*Image, error) {
	angle := math.Mod(degrees, 360)
	if angle < 0 {
		angle += 360
	}
	switch {
	case math.IsNaN(angle):
		return nil, fault.New(fault.Invalid, fault.CodeInputType, "an image cannot be turned by %g degrees", degrees)
	case angle == 0 || angle == 90 || angle == 180 || angle == 270:
		return e.Rotate(ctx, &Image{im.to8()}, 4-int(angle)/90)
	}
	m, w, h := turning(angle, float64(im.w), float64(im.h))
	if err := e.Fit(im.n, h, w); err != nil {
		return nil, err
	}
	from := im.premultiplied()
	out := byteGrid(im.n, h, w, im.c)
	err := e.start(out.rows()).rows(ctx, out.rows(), out.stride()*16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			m.row(out.row8(nil, i), &from, i/h, i%h)
		}
	})
	return asImage(out, err)
}

// premultiplied returns the 8-bit form of the image. If the image has alpha, its colours are scaled by it.
func (im *Image) premultiplied() grid {
	g := im.to8()
	if g.c != 4 {
		return g
	}
	out := byteGrid(g.n, g.h, g.w, g.c)
	premultiply(out.u8, g.u8)
	return out
}

// affine maps a point of the result to a point of the source: x' = a·x + b·y + c, y' = d·x + e·y + f.
type affine struct{ a, b, c, d, e, f float64 }

func (m affine) at(x, y float64) (float64, float64) {
	return float64(m.a*x) + float64(m.b*y) + m.c, float64(m.d*x) + float64(m.e*y) + m.f
}

// turning returns the map of a rotation about the centre and the size of the rotated image.
func turning(angle, w, h float64) (m affine, width, height int) {
	sin, cos := math.Sincos(-angle * (math.Pi / 180))
	m = affine{a: digits15(cos), b: digits15(sin), d: digits15(-sin), e: digits15(cos)}
	x, y := m.at(-w/2, -h/2)
	m.c, m.f = x+w/2, y+h/2
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, corner := range [][2]float64{{0, 0}, {w, 0}, {w, h}, {0, h}} {
		x, y := m.at(corner[0], corner[1])
		left, top, right, bottom = min(left, x), min(top, y), max(right, x), max(bottom, y)
	}
	nw, nh := math.Ceil(right)-math.Floor(left), math.Ceil(bottom)-math.Floor(top)
	m.c, m.f = m.at(-(nw-w)/2, -(nh-h)/2)
	return m, int(nw), int(nh)
}

// digits15 rounds to 15 decimals.
func digits15(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', 15, 64), 64)
	if err != nil {
		return v // never: a formatted number can be parsed
	}
	return rounded
}

// row computes row y of a frame of the result.
func (m affine) row(dst []uint8, from *grid, frame, y int) {
	w, h := float64(from.w), float64(from.h)
	for x := range len(dst) / from.c {
		sx, sy := m.at(float64(x)+0.5, float64(y)+0.5)
		if sx >= 0 && sx < w && sy >= 0 && sy < h {
			from.cubic(dst[x*from.c:(x+1)*from.c], frame, sx-0.5, sy-0.5)
		}
	}
	if from.c == 4 {
		unpremultiply(dst)
	}
}

// cubic returns the bicubic sample at a point, from four rows of four pixels each. A row outside the image repeats
// the row before it; a pixel outside repeats the one at the edge.
func (g *grid) cubic(dst []uint8, frame int, sx, sy float64) {
	fx, fy := math.Floor(sx), math.Floor(sy)
	dx, dy := sx-fx, sy-fy
	x, y := int(fx)-1, int(fy)-1
	var columns [4]int
	for i := range columns {
		columns[i] = min(max(x+i, 0), g.w-1) * g.c
	}
	for band := range dst {
		var v [4]float64
		for j := range v {
			if j > 0 && (y+j < 0 || y+j >= g.h) {
				v[j] = v[j-1]
				continue
			}
			row := g.u8[(frame*g.h+min(max(y+j, 0), g.h-1))*g.stride():][:g.stride()]
			v[j] = cubicThrough(float64(row[columns[0]+band]), float64(row[columns[1]+band]), float64(row[columns[2]+band]),
				float64(row[columns[3]+band]), dx)
		}
		dst[band] = uint8(min(max(cubicThrough(v[0], v[1], v[2], v[3], dy), 0), 255))
	}
}

// cubicThrough returns the value between the second and the third of four samples, by Keys' kernel with A = −1. The
// conversions keep processors from fusing products and sums, as Pillow rounds them separately.
func cubicThrough(v1, v2, v3, v4, d float64) float64 {
	p2, p3, p4 := -v1+v3, float64(2*(v1-v2))+v3-v4, -v1+v2-v3+v4
	return v2 + float64(d*(p2+float64(d*(p3+float64(d*p4)))))
}
