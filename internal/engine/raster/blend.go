package raster

import (
	"context"
	"math"

	"github.com/millrace-dev/millrace/internal/fault"
)

// blendModes are the formulas of Blend by name, in the order of ComfyUI's list. Their arguments are a sample of the
// first image and a sample of the second.
var blendModes = []struct {
	name string
	mix  func(a, b float32) float32
}{
	{"normal", func(_, b float32) float32 { return b }},
	{"multiply", func(a, b float32) float32 { return a * b }},
	{"screen", func(a, b float32) float32 { return 1 - (1-a)*(1-b) }},
	{"overlay", overlay},
	{"soft_light", softLight},
	{"difference", func(a, b float32) float32 { return a - b }},
}

// BlendModes returns the names that Blend knows.
func BlendModes() []string {
	names := make([]string, len(blendModes))
	for i, m := range blendModes {
		names[i] = m.name
	}
	return names
}

// Blend mixes second into first: first·(1−factor) + mode(first, second)·factor, clamped to 0..1. The second image gets
// the channels of the first and, if the shapes differ, its size (bicubic, cropped at the centre).
func (e Engine) Blend(ctx context.Context, first, second *Image, mode string, factor float64) (*Image, error) {
	var mix func(a, b float32) float32
	for _, m := range blendModes {
		if m.name == mode {
			mix = m.mix
		}
	}
	if mix == nil {
		return nil, fault.New(fault.Invalid, fault.CodeUnknownMode, "unknown blend mode %q", mode)
	}
	second = second.WithChannels(first.c)
	if second.w != first.w || second.h != first.h {
		var err error
		if second, err = e.Cover(ctx, second, first.w, first.h, Bicubic); err != nil {
			return nil, err
		}
	}
	keep, take := float32(1-factor), float32(factor)
	return asImage(e.zipRows(ctx, &first.grid, &second.grid, func(dst, a, b []float32) {
		b = b[:len(a)]
		for i, v := range a {
			dst[i] = clamp(v*keep + mix(v, b[i])*take)
		}
	}))
}

func overlay(a, b float32) float32 {
	if a <= 0.5 {
		return 2 * a * b
	}
	return 1 - 2*(1-a)*(1-b)
}

func softLight(a, b float32) float32 {
	if b <= 0.5 {
		return a - (1-2*b)*a*(1-a)
	}
	lift := float32(math.Sqrt(float64(a)))
	if a <= 0.25 {
		lift = ((16*a-12)*a + 4) * a
	}
	return a + (2*b-1)*(lift-a)
}
