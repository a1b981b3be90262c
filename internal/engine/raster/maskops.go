package raster

import (
	"context"
	"math"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Grow widens the mask by steps pixels, or narrows it if steps is negative. Each step takes the highest (or lowest)
// value of a pixel and its neighbours, including the diagonal ones unless tapered. Grow stops when a step changes
// nothing.
func (e Engine) Grow(ctx context.Context, m *Mask, steps int, tapered bool) (*Mask, error) {
	pick := upper
	if steps < 0 {
		steps, pick = -steps, lower
	}
	if steps == 0 {
		return m, ctx.Err()
	}
	if !tapered {
		size := 2*min(steps, max(m.w, m.h)) + 1
		return asMask(e.extreme(ctx, m.grid, size/2, size-1-size/2, pick))
	}
	cur, next := m.grid, m.like()
	steps = min(steps, m.w+m.h)
	t := e.start(steps * m.rows())
	for i := range steps {
		err := t.rows(ctx, m.rows(), 6*m.w, func(lo, hi int) { cross(&next, &cur, lo, hi, pick) })
		if err != nil {
			return nil, err
		}
		if i == 0 {
			cur = m.like() // the input must not change
		}
		cur, next = next, cur
	}
	return &Mask{cur}, nil
}

// cross takes the extreme of each sample and its four neighbours.
func cross(dst, src *grid, lo, hi int, pick pick2) {
	n := src.w
	for i := lo; i < hi; i++ {
		out, row := dst.row(nil, i), src.row(nil, i)
		copy(out, row)
		pick(out[1:], out[1:], row[:n-1])
		pick(out[:n-1], out[:n-1], row[1:])
		if i%src.h > 0 {
			pick(out, out, src.row(nil, i-1))
		}
		if i%src.h < src.h-1 {
			pick(out, out, src.row(nil, i+1))
		}
	}
}

// Feather fades the mask linearly towards its edges: the i-th row or column from an
// edge is multiplied by (i+1)/margin.
func (e Engine) Feather(ctx context.Context, m *Mask, edge Margins) (*Mask, error) {
	across := fade(m.w, edge.Left, edge.Right)
	down := fade(m.h, edge.Top, edge.Bottom)
	out := m.like()
	err := e.move(ctx, &out, func(i int) {
		row, src := out.row(nil, i), m.row(nil, i)
		for x, v := range src {
			row[x] = v * across[x] * down[i%m.h]
		}
	})
	return &Mask{out}, err
}

func fade(n, first, last int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = 1
	}
	first, last = min(first, n), min(last, n)
	for i := range first {
		out[i] *= float32(i+1) / float32(first)
	}
	for i := range last {
		out[n-1-i] *= float32(i+1) / float32(last)
	}
	return out
}

// Threshold is 1 where the mask is above value and 0 elsewhere.
func (e Engine) Threshold(ctx context.Context, m *Mask, value float64) (*Mask, error) {
	limit := float32(value)
	return asMask(e.mapRows(ctx, &m.grid, 1, func(dst, src []float32) {
		for i, v := range src {
			dst[i] = 0
			if v > limit {
				dst[i] = 1
			}
		}
	}))
}

// MatchColor is 1 where the image's colour, rounded to 8 bits, is exactly 0xRRGGBB.
func (e Engine) MatchColor(ctx context.Context, im *Image, color int) (*Mask, error) {
	im = im.WithChannels(max(3, im.c))
	return asMask(e.mapRows(ctx, &im.grid, 1, func(dst, src []float32) {
		level := func(v float32) int { return int(math.RoundToEven(float64(clamp(v) * 255))) }
		for x := range dst {
			p := src[x*im.c:][:3]
			dst[x] = 0
			if level(p[0])<<16|level(p[1])<<8|level(p[2]) == color {
				dst[x] = 1
			}
		}
	}))
}

// maskModes are the operations of CombineMasks in the order of ComfyUI's list.
var maskModes = []struct {
	name string
	mix  func(d, s float32) float32
}{
	{"multiply", func(d, s float32) float32 { return d * s }},
	{"add", func(d, s float32) float32 { return d + s }},
	{"subtract", func(d, s float32) float32 { return d - s }},
	{"and", func(d, s float32) float32 { return oneOrZero(roundsToNonZero(d) && roundsToNonZero(s)) }},
	{"or", func(d, s float32) float32 { return oneOrZero(roundsToNonZero(d) || roundsToNonZero(s)) }},
	{"xor", func(d, s float32) float32 { return oneOrZero(roundsToNonZero(d) != roundsToNonZero(s)) }},
}

// MaskModes returns the names that CombineMasks knows.
func MaskModes() []string {
	names := make([]string, len(maskModes))
	for i, m := range maskModes {
		names[i] = m.name
	}
	return names
}

// roundsToNonZero reports whether a sample rounds (half to even) to something other than zero.
func roundsToNonZero(v float32) bool { return math.RoundToEven(float64(v)) != 0 }

func oneOrZero(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

// misses reports whether a source of the given size, placed at an offset, cannot be combined with a destination that
// ends before the offset. ComfyUI then cuts the source at its far end by the distance, and fails if more than one
// line of the source is left.
func misses(size, offset, end int) bool { return offset > end && size-(offset-end) > 1 }

// CombineMasks applies an operation where source, with its corner at (x, y), overlaps destination, and clamps the result
// to 0..1. A source of one frame is used for all frames.
func (e Engine) CombineMasks(ctx context.Context, destination, source *Mask, x, y int, mode string) (*Mask, error) {
	var mix func(d, s float32) float32
	for _, m := range maskModes {
		if m.name == mode {
			mix = m.mix
		}
	}
	if mix == nil || x < 0 || y < 0 {
		return nil, fault.New(fault.Invalid, fault.CodeUnknownMode, "unknown operation %q at %d, %d", mode, x, y)
	}
	if source.n != 1 && source.n != destination.n {
		return nil, fault.New(fault.Invalid, fault.CodeBatchMismatch, "batches of %d and %d masks cannot be combined", destination.n, source.n)
	}
	missesDown, missesAcross := misses(source.h, y, destination.h), misses(source.w, x, destination.w)
	if missesDown || missesAcross {
		dimension, left := 1, source.h-(y-destination.h)
		if missesAcross {
			dimension, left = 2, source.w-(x-destination.w)
		}
		return nil, fault.New(fault.Invalid, fault.CodeOutside, "the source, at %d, %d, lies outside the destination of %d × %d pixels", x, y,
			destination.w, destination.h).
			Raising("RuntimeError", "The size of tensor a (0) must match the size of tensor b (%d) at non-singleton dimension %d", left, dimension)
	}
	out := destination.like()
	err := e.move(ctx, &out, func(i int) {
		row := out.row(nil, i)
		copy(row, destination.row(nil, i))
		if sy := i%out.h - y; sy >= 0 && sy < source.h && x < out.w {
			src := source.row(nil, i/out.h%source.n*source.h+sy)
			for j, s := range src[:min(len(src), out.w-x)] {
				row[x+j] = mix(row[x+j], s)
			}
		}
		for j, v := range row {
			row[j] = clamp(v)
		}
	})
	return &Mask{out}, err
}
