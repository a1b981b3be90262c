package raster

import (
	"context"
	"math"
)

const (
	lanczosSupport = 3
	// fixedBits is the precision of the integer weights, as in Pillow: 32 bits less 8 of the sample and 2 for overshoot.
	fixedBits = 32 - 8 - 2
)

// fixedTaps are the integer weights of every output sample of one axis.
type fixedTaps struct {
	first   []int     // first input index
	weights [][]int32 // contiguous from first
}

// lanczosTaps computes the weights for resampling in samples to out.
func lanczosTaps(in, out int) fixedTaps {
	scale := float64(in) / float64(out)
	stretch := max(scale, 1)
	support := lanczosSupport * stretch
	t := fixedTaps{make([]int, out), make([][]int32, out)}
	w := make([]float64, 0, int(math.Ceil(support))*2+1)
	for i := range out {
		center := (float64(i) + 0.5) * scale
		lo := max(0, int(center-support+0.5))
		hi := min(in, int(center+support+0.5))
		w = w[:0]
		sum := 0.0
		for x := lo; x < hi; x++ {
			v := lanczos3((float64(x) - center + 0.5) * (1 / stretch))
			w = append(w, v)
			sum += v
		}
		t.first[i] = lo
		t.weights[i] = fixed(w, sum)
	}
	return t
}

// fixed normalises weights and rounds them to fixed point, half away from zero.
func fixed(w []float64, sum float64) []int32 {
	out := make([]int32, len(w))
	for i, v := range w {
		if sum != 0 {
			v /= sum
		}
		out[i] = int32(math.Copysign(0.5, v) + v*(1<<fixedBits))
	}
	return out
}

func lanczos3(x float64) float64 {
	if x < -lanczosSupport || x >= lanczosSupport {
		return 0
	}
	return sinc(x) * sinc(x/lanczosSupport)
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}

// clip8 turns a fixed-point sum into a sample.
func clip8(v int32) uint8 {
	v >>= fixedBits
	if uint32(v) <= 255 {
		return uint8(v)
	}
	if v < 0 {
		return 0
	}
	return 255
}

// lanczos resizes in 8-bit, byte-equal with Pillow 13. Four-channel frames are filtered with premultiplied alpha.
func (e Engine) lanczos(ctx context.Context, g *grid, h, w int) (grid, error) {
	if w == g.w && h == g.h {
		return g.to8(), ctx.Err()
	}
	mid, first, last := grid{n: g.n, h: g.h, w: w, c: g.c}, lanczosAcross, lanczosDown
	if downFirst(g, h, w) {
		mid, first, last = grid{n: g.n, h: h, w: g.w, c: g.c}, lanczosDown, lanczosAcross
	}
	mid.u8 = byteScratch.get(mid.rows() * mid.stride())
	defer byteScratch.put(mid.u8)
	t := e.start(g.rows() + g.n*h)
	if err := first(ctx, t, g, &mid, premultiply); err != nil {
		return grid{}, err
	}
	out := byteGrid(g.n, h, w, g.c)
	if err := last(ctx, t, &mid, &out, nil); err != nil {
		return grid{}, err
	}
	return out, nil
}

// downFirst reports whether Pillow filters the columns before the rows. It does so where this order leaves much less
// to filter.
func downFirst(g *grid, h, w int) bool {
	fewer := g.h - h
	return fewer > 0 && fewer > 2*(g.w-w)
}

// pass is one of the two passes of a resize. The first pass gets premultiply; the last undoes it.
type pass = func(ctx context.Context, t *task, from, to *grid, premultiply func(dst, src []uint8)) error

var _, _ pass = lanczosAcross, lanczosDown

func lanczosAcross(ctx context.Context, t *task, from, to *grid, premultiply func(dst, src []uint8)) error {
	taps := lanczosTaps(from.w, to.w)
	return t.rows(ctx, to.rows(), to.stride()*8, func(lo, hi int) {
		buf := byteScratch.get(from.stride())
		defer byteScratch.put(buf)
		for y := lo; y < hi; y++ {
			src := from.row8(buf, y)
			if from.c == 4 && premultiply != nil {
				premultiply(buf, src)
				src = buf
			}
			dst := to.row8(nil, y)
			if to.w == from.w {
				copy(dst, src)
			} else {
				taps.across(dst, src, from.c)
			}
			if from.c == 4 && premultiply == nil {
				unpremultiply(dst)
			}
		}
	})
}

// across filters one row of c channels.
func (t *fixedTaps) across(dst, src []uint8, c int) {
	switch c {
	case 3:
		t.across3(dst, src)
	case 4:
		t.across4(dst, src)
	default:
		t.across1(dst, src)
	}
}

func (t *fixedTaps) across1(dst, src []uint8) {
	for x, k := range t.weights {
		p := src[t.first[x]:][:len(k)]
		a := int32(1) << (fixedBits - 1)
		for i, w := range k {
			a += int32(p[i]) * w
		}
		dst[x] = clip8(a)
	}
}

func (t *fixedTaps) across3(dst, src []uint8) {
	for x, k := range t.weights {
		p := src[t.first[x]*3:][:len(k)*3]
		r := int32(1) << (fixedBits - 1)
		g, b := r, r
		for _, w := range k {
			if len(p) < 3 { // never true; it removes bounds checks
				break
			}
			r += int32(p[0]) * w
			g += int32(p[1]) * w
			b += int32(p[2]) * w
			p = p[3:]
		}
		d := dst[x*3:][:3]
		d[0], d[1], d[2] = clip8(r), clip8(g), clip8(b)
	}
}

func (t *fixedTaps) across4(dst, src []uint8) {
	for x, k := range t.weights {
		p := src[t.first[x]*4:][:len(k)*4]
		r := int32(1) << (fixedBits - 1)
		g, b, a := r, r, r
		for _, w := range k {
			if len(p) < 4 { // never true; it removes bounds checks
				break
			}
			r += int32(p[0]) * w
			g += int32(p[1]) * w
			b += int32(p[2]) * w
			a += int32(p[3]) * w
			p = p[4:]
		}
		d := dst[x*4:][:4]
		d[0], d[1], d[2], d[3] = clip8(r), clip8(g), clip8(b), clip8(a)
	}
}

func lanczosDown(ctx context.Context, t *task, from, to *grid, premultiply func(dst, src []uint8)) error {
	taps := lanczosTaps(from.h, to.h)
	return t.rows(ctx, to.rows(), to.stride()*8, func(lo, hi int) {
		acc := intScratch.get(to.stride())
		defer intScratch.put(acc)
		buf := byteScratch.get(from.stride())
		defer byteScratch.put(buf)
		row := func(y int) []uint8 {
			src := from.row8(buf, y)
			if from.c == 4 && premultiply != nil {
				premultiply(buf, src)
				src = buf
			}
			return src
		}
		for i := lo; i < hi; i++ {
			dst := to.row8(nil, i)
			frame, y := i/to.h, i%to.h
			switch {
			case from.h == to.h:
				copy(dst, row(i))
			case premultiply == nil || from.c != 4 && from.u8 != nil: // the rows need no preparation
				taps.down(dst, acc, from, frame*from.h+taps.first[y], taps.weights[y])
			default:
				taps.downEach(dst, acc, row, frame*from.h+taps.first[y], taps.weights[y])
			}
			if from.c == 4 && premultiply == nil {
				unpremultiply(dst)
			}
		}
	})
}

// downEach does the work of down for rows that need preparation.
func (t *fixedTaps) downEach(dst []uint8, acc []int32, row func(y int) []uint8, first int, k []int32) {
	for i := range acc {
		acc[i] = 1 << (fixedBits - 1)
	}
	for j, w := range k {
		for i, v := range row(first + j)[:len(acc)] {
			acc[i] += w * int32(v)
		}
	}
	dst = dst[:len(acc)]
	for i, v := range acc {
		dst[i] = clip8(v)
	}
}

// down sums weighted rows from first on into dst, four rows at a time.
func (t *fixedTaps) down(dst []uint8, acc []int32, mid *grid, first int, k []int32) {
	for i := range acc {
		acc[i] = 1 << (fixedBits - 1)
	}
	for ; len(k) >= 4; first, k = first+4, k[4:] {
		r0, r1 := mid.row8(nil, first)[:len(acc)], mid.row8(nil, first+1)[:len(acc)]
		r2, r3 := mid.row8(nil, first+2)[:len(acc)], mid.row8(nil, first+3)[:len(acc)]
		w0, w1, w2, w3 := k[0], k[1], k[2], k[3]
		for i := range acc {
			acc[i] += w0*int32(r0[i]) + w1*int32(r1[i]) + w2*int32(r2[i]) + w3*int32(r3[i])
		}
	}
	for j, w := range k {
		for i, v := range mid.row8(nil, first+j)[:len(acc)] {
			acc[i] += w * int32(v)
		}
	}
	dst = dst[:len(acc)]
	for i, v := range acc {
		dst[i] = clip8(v)
	}
}

// premultiply scales colour by alpha, rounding as Pillow does; dst may be src.
func premultiply(dst, src []uint8) {
	for i := 0; i+4 <= len(src); i += 4 {
		a := uint32(src[i+3])
		for c := range 3 {
			v := uint32(src[i+c])*a + 128
			dst[i+c] = uint8((v>>8 + v) >> 8)
		}
		dst[i+3] = uint8(a)
	}
}

// unpremultiply undoes premultiply in place, as far as 8 bits allow.
func unpremultiply(p []uint8) {
	for i := 0; i+4 <= len(p); i += 4 {
		a := uint32(p[i+3])
		if a == 0 || a == 255 {
			continue
		}
		for c := range 3 {
			p[i+c] = uint8(min(255, uint32(p[i+c])*255/a))
		}
	}
}
