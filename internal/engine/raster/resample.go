package raster

import (
	"context"
	"math"
)

// taps are the float weights of every output sample of one axis. The inputs of an output are contiguous; weights beyond an
// edge are added to the edge sample.
type taps struct {
	first   []int
	weights [][]float32
}

// tapsFor returns the weights of a method on one axis, without antialiasing and
// with pixel centres at half positions (align_corners off).
func tapsFor(m Method, in, out int) taps {
	switch m {
	case Bilinear:
		return bilinearTaps(in, out)
	case Bicubic:
		return bicubicTaps(in, out)
	case Area:
		return areaTaps(in, out)
	default:
		return nearestTaps(in, out)
	}
}

func nearestTaps(in, out int) taps {
	t := taps{make([]int, out), make([][]float32, out)}
	scale := float32(in) / float32(out)
	for i := range out {
		src := float32((float64(i) + 0.5) * float64(scale))
		t.first[i] = min(int(src), in-1)
		t.weights[i] = []float32{1}
	}
	return t
}

func bilinearTaps(in, out int) taps {
	t := taps{make([]int, out), make([][]float32, out)}
	scale := float32(in) / float32(out)
	for i := range out {
		src := max(0, (float32(i)+0.5)*scale-0.5)
		lo := min(int(src), in-1)
		f := min(max(src-float32(lo), 0), 1)
		t.first[i] = lo
		if lo == in-1 {
			t.weights[i] = []float32{1}
			continue
		}
		t.weights[i] = []float32{1 - f, f}
	}
	return t
}

// bicubicTaps uses Keys' kernel with A = −0.75.
func bicubicTaps(in, out int) taps {
	t := taps{make([]int, out), make([][]float32, out)}
	scale := float32(in) / float32(out)
	for i := range out {
		src := (float32(i)+0.5)*scale - 0.5
		base := math.Floor(float64(src))
		f := src - float32(base)
		w := [4]float32{cubicFar(f + 1), cubicNear(f), cubicNear(1 - f), cubicFar(2 - f)}
		t.first[i], t.weights[i] = fold(w[:], int(base)-1, in)
	}
	return t
}

const cubicA = -0.75

func cubicNear(x float32) float32 { return ((cubicA+2)*x-(cubicA+3))*x*x + 1 }

func cubicFar(x float32) float32 { return ((cubicA*x-5*cubicA)*x+8*cubicA)*x - 4*cubicA }

// fold adds the weights that fall outside [0, in) to the edge samples.
func fold(w []float32, first, in int) (int, []float32) {
	lo, hi := min(max(first, 0), in-1), min(max(first+len(w)-1, 0), in-1)
	out := make([]float32, hi-lo+1)
	for i, v := range w {
		out[min(max(first+i, lo), hi)-lo] += v
	}
	return lo, out
}

// areaTaps averages the whole pixels that an output covers (adaptive mean).
func areaTaps(in, out int) taps {
	t := taps{make([]int, out), make([][]float32, out)}
	for i := range out {
		lo := i * in / out
		hi := ((i+1)*in + out - 1) / out
		t.first[i] = lo
		t.weights[i] = make([]float32, hi-lo)
		for j := range t.weights[i] {
			t.weights[i][j] = 1 / float32(hi-lo)
		}
	}
	return t
}

// resample resizes in float. Each output row is the weighted sum of its input rows, which is then resampled along x.
func (e Engine) resample(ctx context.Context, g *grid, h, w int, m Method) (grid, error) {
	down, across := tapsFor(m, g.h, h), tapsFor(m, g.w, w)
	out := floatGrid(g.n, h, w, g.c)
	t := e.start(out.rows())
	work := out.stride() + g.stride()*len(down.weights[0])
	err := t.rows(ctx, out.rows(), work, func(lo, hi int) {
		buf, sum := floatScratch.get(g.stride()), floatScratch.get(g.stride())
		defer floatScratch.put(buf)
		defer floatScratch.put(sum)
		for i := lo; i < hi; i++ {
			frame, y := i/h, i%h
			line := down.sumRows(sum, buf, g, frame*g.h+down.first[y], down.weights[y])
			across.along(out.row(nil, i), line, g.c)
		}
	})
	return out, err
}

// sumRows returns the weighted sum of the rows from first on.
func (t *taps) sumRows(sum, buf []float32, g *grid, first int, k []float32) []float32 {
	if len(k) == 1 {
		return g.row(sum, first)
	}
	for j, w := range k {
		row := g.row(buf, first+j)[:len(sum)]
		if j == 0 {
			for i, v := range row {
				sum[i] = w * v
			}
			continue
		}
		for i, v := range row {
			sum[i] += w * v
		}
	}
	return sum
}

// along applies the weights to one row of c channels.
func (t *taps) along(dst, src []float32, c int) {
	if c == 3 {
		t.along3(dst, src)
		return
	}
	for x, k := range t.weights {
		p := src[t.first[x]*c:]
		for ch := range c {
			var a float32
			for i, w := range k {
				a += w * p[i*c+ch]
			}
			dst[x*c+ch] = a
		}
	}
}

func (t *taps) along3(dst, src []float32) {
	for x, k := range t.weights {
		p := src[t.first[x]*3:][:len(k)*3]
		var r, g, b float32
		for _, w := range k {
			if len(p) < 3 { // never true; it removes bounds checks
				break
			}
			r += w * p[0]
			g += w * p[1]
			b += w * p[2]
			p = p[3:]
		}
		d := dst[x*3:][:3]
		d[0], d[1], d[2] = r, g, b
	}
}

// nearest copies samples and keeps their form, 8-bit or float.
func (e Engine) nearest(ctx context.Context, g *grid, h, w int) (grid, error) {
	down, across := nearestTaps(g.h, h), nearestTaps(g.w, w)
	out := g.sameDepth(g.n, h, w)
	t := e.start(out.rows())
	err := t.rows(ctx, out.rows(), out.stride(), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			src := i/h*g.h + down.first[i%h]
			if g.u8 != nil {
				pick(out.row8(nil, i), g.row8(nil, src), across.first, g.c)
			} else {
				pick(out.row(nil, i), g.row(nil, src), across.first, g.c)
			}
		}
	})
	return out, err
}

func pick[T uint8 | float32](dst, src []T, from []int, c int) {
	for x, s := range from {
		copy(dst[x*c:(x+1)*c], src[s*c:(s+1)*c])
	}
}
