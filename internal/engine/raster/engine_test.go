package raster_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// counting returns an image whose samples count up.
func counting(t testing.TB, n, h, w, c int) *raster.Image {
	t.Helper()
	pix := make([]float32, n*h*w*c)
	for i := range pix {
		pix[i] = float32(i)
	}
	im, err := raster.NewImage(n, h, w, c, pix)
	require.NoError(t, err)
	return im
}

func flat(im *raster.Image) []float32 {
	var out []float32
	for f := range im.Frames() {
		for y := range im.Height() {
			out = append(out, im.Row(nil, f, y)...)
		}
	}
	return out
}

func TestFitBoundsPixelsWithoutOverflow(t *testing.T) {
	t.Parallel()
	e := raster.Engine{MaxPixels: 100}
	require.NoError(t, e.Fit(1, 10, 10))
	require.Equal(t, fault.Exhausted, fault.KindOf(e.Fit(1, 10, 11)))
	require.Equal(t, fault.Exhausted, fault.KindOf(e.Fit(math.MaxInt32, math.MaxInt32, math.MaxInt32)))
	require.Equal(t, fault.Exhausted, fault.KindOf(e.Fit(2, math.MaxInt, math.MaxInt)))
	require.Equal(t, fault.Invalid, fault.KindOf(e.Fit(1, 0, 5)))
	require.NoError(t, raster.Engine{}.Fit(1, 8192, 8192))
	require.Equal(t, fault.Exhausted, fault.KindOf(raster.Engine{}.Fit(1, 8192, 8193)))
}

func TestOperationsEndWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	im, e := counting(t, 2, 40, 50, 3), raster.Engine{}
	mask, err := raster.NewMask(1, 2, 2, make([]float32, 4))
	require.NoError(t, err)
	for name, op := range map[string]func() error{
		"lanczos":   func() error { _, err := e.Resize(ctx, im, 9, 9, raster.Lanczos); return err },
		"bilinear":  func() error { _, err := e.Resize(ctx, im, 9, 9, raster.Bilinear); return err },
		"nearest":   func() error { _, err := e.Resize(ctx, im, 9, 9, raster.NearestExact); return err },
		"blur":      func() error { _, err := e.Blur(ctx, im, 3, 1); return err },
		"crop":      func() error { _, err := e.Crop(ctx, im, 1, 1, 5, 5); return err },
		"rotate":    func() error { _, err := e.Rotate(ctx, im, 1); return err },
		"batch":     func() error { _, err := e.Batch(ctx, im, im); return err },
		"blend":     func() error { _, err := e.Blend(ctx, im, im, "screen", 1); return err },
		"composite": func() error { _, err := e.Composite(ctx, im, im, mask, 0, 0, false); return err },
		"solid":     func() error { _, err := e.Solid(ctx, 1, 5, 5, []uint8{1, 2, 3}); return err },
		"repeat":    func() error { _, err := e.Repeat(ctx, im, 3); return err },
		"channel":   func() error { _, err := e.Channel(ctx, im, 0); return err },
	} {
		require.ErrorIs(t, op(), context.Canceled, name)
	}
}

func TestProgressIsMonotonicAndComplete(t *testing.T) {
	t.Parallel()
	last, total := 0, 0
	e := raster.Engine{Progress: func(done, of int) {
		require.GreaterOrEqual(t, done, last)
		last, total = done, of
	}}
	_, err := e.Resize(t.Context(), counting(t, 1, 600, 700, 3), 300, 200, raster.Lanczos)
	require.NoError(t, err)
	require.Equal(t, 800, total, "600 rows across and 200 rows down")
	require.Positive(t, last)
}

func TestOperationsDoNotChangeTheirInputs(t *testing.T) {
	t.Parallel()
	e, im, eight := raster.Engine{}, counting(t, 1, 30, 40, 4), source(t, "source4")
	for _, in := range []*raster.Image{im, eight} {
		before := append([]float32(nil), flat(in)...)
		for _, m := range []raster.Method{raster.NearestExact, raster.Bilinear, raster.Area, raster.Bicubic, raster.Lanczos} {
			_, err := e.Resize(t.Context(), in, 17, 55, m)
			require.NoError(t, err)
		}
		_, err := e.Sharpen(t.Context(), in, 3, 1, 1)
		require.NoError(t, err)
		_, err = e.Composite(t.Context(), in, in, nil, 3, 3, true)
		require.NoError(t, err)
		require.Equal(t, before, flat(in))
	}
}

func TestRotationsAndFlips(t *testing.T) {
	t.Parallel()
	e, im := raster.Engine{}, counting(t, 2, 2, 3, 1) // 0 1 2 / 3 4 5
	for name, c := range map[string]struct {
		op   func() (*raster.Image, error)
		want []float32
	}{
		"quarter": {func() (*raster.Image, error) { return e.Rotate(t.Context(), im, 1) }, []float32{3, 0, 4, 1, 5, 2}},
		"half":    {func() (*raster.Image, error) { return e.Rotate(t.Context(), im, 2) }, []float32{5, 4, 3, 2, 1, 0}},
		"three":   {func() (*raster.Image, error) { return e.Rotate(t.Context(), im, -1) }, []float32{2, 5, 1, 4, 0, 3}},
		"rows":    {func() (*raster.Image, error) { return e.FlipRows(t.Context(), im) }, []float32{3, 4, 5, 0, 1, 2}},
		"columns": {func() (*raster.Image, error) { return e.FlipColumns(t.Context(), im) }, []float32{2, 1, 0, 5, 4, 3}},
	} {
		got, err := c.op()
		require.NoError(t, err)
		want := append([]float32(nil), c.want...)
		for _, v := range c.want {
			want = append(want, v+6)
		}
		require.Equal(t, want, flat(got), name)
	}
}

func TestJoinKeepsEightBitsOnlyWhenAllDo(t *testing.T) {
	t.Parallel()
	e, eight := raster.Engine{}, source(t, "source3")
	both, err := e.Join(t.Context(), eight, eight)
	require.NoError(t, err)
	require.True(t, both.Is8Bit())
	mixed, err := e.Join(t.Context(), eight, floated(t, eight))
	require.NoError(t, err)
	require.False(t, mixed.Is8Bit())
	require.Equal(t, flat(both), flat(mixed))
	_, err = raster.Engine{MaxPixels: 2 * eight.Pixels()}.Join(t.Context(), eight, eight, eight)
	require.Equal(t, fault.Exhausted, fault.KindOf(err))
}

func TestCompositeRepeatsTheSourceOverTheBatch(t *testing.T) {
	t.Parallel()
	e := raster.Engine{}
	dst, err := e.Solid(t.Context(), 3, 4, 4, []uint8{0, 0, 0, 0})
	require.NoError(t, err)
	src := counting(t, 2, 1, 1, 3) // frames 0 1 2 and 3 4 5, without alpha
	out, err := e.Composite(t.Context(), dst, src, nil, 3, 3, false)
	require.NoError(t, err)
	for f, want := range []float32{0, 3, 0} {
		require.Equal(t, want, out.At(f, 3, 3, 0), "the source repeats")
		require.Equal(t, float32(1), out.At(f, 3, 3, 3), "missing alpha is 1")
	}
	far, err := e.Composite(t.Context(), dst, src, nil, 40, 0, false)
	require.NoError(t, err)
	require.Equal(t, flat(dst), flat(far))
}

func BenchmarkOperations(b *testing.B) {
	pix := make([]uint8, 1024*1024*4)
	for i := range pix {
		pix[i] = uint8(i * i >> 7)
	}
	im, err := raster.NewImage8(1, 1024, 1024, 4, pix)
	require.NoError(b, err)
	e := raster.Engine{}
	mask, err := e.Channel(b.Context(), im, 3)
	require.NoError(b, err)
	for name, op := range map[string]func() error{
		"lanczos half":   func() error { _, err := e.Resize(b.Context(), im, 512, 512, raster.Lanczos); return err },
		"lanczos double": func() error { _, err := e.Resize(b.Context(), im, 2048, 2048, raster.Lanczos); return err },
		"bicubic double": func() error { _, err := e.Resize(b.Context(), im, 2048, 2048, raster.Bicubic); return err },
		"area half":      func() error { _, err := e.Resize(b.Context(), im, 512, 512, raster.Area); return err },
		"nearest double": func() error { _, err := e.Resize(b.Context(), im, 2048, 2048, raster.NearestExact); return err },
		"blur 31":        func() error { _, err := e.Blur(b.Context(), im, 31, 1); return err },
		"sharpen 31":     func() error { _, err := e.Sharpen(b.Context(), im, 31, 1, 1); return err },
		"invert":         func() error { _, err := e.Invert(b.Context(), im); return err },
		"soft light":     func() error { _, err := e.Blend(b.Context(), im, im, "soft_light", 0.5); return err },
		"composite":      func() error { _, err := e.Composite(b.Context(), im, im, mask, 0, 0, false); return err },
		"rotate":         func() error { _, err := e.Rotate(b.Context(), im, 1); return err },
		"batch":          func() error { _, err := e.Batch(b.Context(), im, im); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, op())
			}
		})
	}
}

func TestCoverFailsWhereNothingIsLeft(t *testing.T) {
	t.Parallel()
	_, err := raster.Engine{}.Cover(t.Context(), counting(t, 1, 8, 30, 3), 1, 9, raster.Bicubic)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	_, err = raster.Engine{}.Cover(t.Context(), counting(t, 1, 8, 30, 3), 9, 9, raster.Bicubic)
	require.NoError(t, err)
}
