package raster_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/rastertest"
)

func golden(t testing.TB, name string) rastertest.Array {
	t.Helper()
	return rastertest.Load(t, "testdata/"+name+".npy")
}

// source returns a golden picture as an 8-bit image.
func source(t testing.TB, name string) *raster.Image {
	t.Helper()
	a := golden(t, name)
	im, err := raster.NewImage8(1, a.Shape[0], a.Shape[1], a.Shape[2], a.Bytes)
	require.NoError(t, err)
	return im
}

// floated returns the same samples in float form.
func floated(t testing.TB, im *raster.Image) *raster.Image {
	t.Helper()
	var pix []float32
	for f := range im.Frames() {
		for y := range im.Height() {
			pix = append(pix, im.Row(nil, f, y)...)
		}
	}
	out, err := raster.NewImage(im.Frames(), im.Height(), im.Width(), im.Channels(), pix)
	require.NoError(t, err)
	return out
}

// sameBytes requires that the saved samples of frame 0 equal the golden bytes.
func sameBytes(t *testing.T, want rastertest.Array, got *raster.Image) {
	t.Helper()
	require.Equal(t, want.Shape, []int{got.Height(), got.Width(), got.Channels()})
	var pix []uint8
	for y := range got.Height() {
		pix = append(pix, got.Row8(nil, 0, y)...)
	}
	require.Equal(t, want.Bytes, pix)
}

// near requires agreement within eps, which is in units of the nominal range 0..1.
func near(t *testing.T, want rastertest.Array, got *raster.Image, eps float64) {
	t.Helper()
	require.Equal(t, want.Shape, []int{got.Height(), got.Width(), got.Channels()})
	i, worst := 0, 0.0
	for y := range got.Height() {
		for _, v := range got.Row(nil, 0, y) {
			worst = max(worst, math.Abs(float64(v)-float64(want.Floats[i])))
			i++
		}
	}
	require.LessOrEqual(t, worst, eps)
}

// floatEps is a few roundings of float32 near 1; the goldens are computed in float64.
const floatEps = 1e-6

func TestLanczosIsByteEqualWithPillow(t *testing.T) {
	t.Parallel()
	for _, c := range []int{1, 3, 4} {
		for _, size := range [][2]int{{30, 20}, {70, 52}, {61, 20}, {45, 47}, {1, 1}, {61, 47}, {58, 20}, {70, 33}} {
			t.Run(fmt.Sprintf("%d channels to %dx%d", c, size[0], size[1]), func(t *testing.T) {
				t.Parallel()
				im := source(t, fmt.Sprintf("source%d", c))
				want := golden(t, fmt.Sprintf("pillow_lanczos%d_%dx%d", c, size[0], size[1]))
				for _, in := range []*raster.Image{im, floated(t, im)} {
					got, err := raster.Engine{}.Resize(t.Context(), in, size[0], size[1], raster.Lanczos)
					require.NoError(t, err)
					sameBytes(t, want, got)
				}
			})
		}
	}
}

func TestResizeFollowsFormula(t *testing.T) {
	t.Parallel()
	for _, m := range []raster.Method{raster.NearestExact, raster.Bilinear, raster.Area, raster.Bicubic} {
		for _, size := range [][2]int{{30, 20}, {70, 52}, {122, 33}} {
			t.Run(fmt.Sprintf("%s to %dx%d", m, size[0], size[1]), func(t *testing.T) {
				t.Parallel()
				got, err := raster.Engine{}.Resize(t.Context(), source(t, "source3"), size[0], size[1], m)
				require.NoError(t, err)
				// The weights come from float32 positions, so they may be off by 1e-5 at a side of 100.
				near(t, golden(t, fmt.Sprintf("formula_%s_%dx%d", m, size[0], size[1])), got, 1e-5)
			})
		}
	}
}

func TestCoverCutsToTheCentre(t *testing.T) {
	t.Parallel()
	got, err := raster.Engine{}.Cover(t.Context(), source(t, "source3"), 40, 40, raster.Bicubic)
	require.NoError(t, err)
	near(t, golden(t, "formula_cover_bicubic_40x40"), got, 1e-5)
	got, err = raster.Engine{}.Cover(t.Context(), source(t, "source4"), 61, 20, raster.Bilinear)
	require.NoError(t, err)
	near(t, golden(t, "formula_cover_bilinear_61x20"), got, 1e-5)
}

func TestSavingTruncates(t *testing.T) {
	t.Parallel()
	levels, want := golden(t, "levels"), golden(t, "formula_quantized")
	im, err := raster.NewImage(1, 1, len(levels.Floats), 1, levels.Floats)
	require.NoError(t, err)
	require.Equal(t, want.Bytes, im.Row8(nil, 0, 0))
}

func TestEightBitSurvivesTheRoundTrip(t *testing.T) {
	t.Parallel()
	all := make([]uint8, 256)
	for i := range all {
		all[i] = uint8(i)
	}
	im, err := raster.NewImage8(1, 1, 256, 1, all)
	require.NoError(t, err)
	require.Equal(t, all, floated(t, im).Row8(nil, 0, 0))
}

func TestBlurFollowsFormula(t *testing.T) {
	t.Parallel()
	for _, c := range []int{3, 4} {
		for _, p := range []struct {
			radius int
			sigma  float64
		}{{1, 1}, {5, 0.4}, {10, 1}, {31, 3}} {
			t.Run(fmt.Sprintf("%d channels radius %d", c, p.radius), func(t *testing.T) {
				t.Parallel()
				got, err := raster.Engine{}.Blur(t.Context(), source(t, fmt.Sprintf("source%d", c)), p.radius, p.sigma)
				require.NoError(t, err)
				near(t, golden(t, fmt.Sprintf("formula_blur%d_%d_%.1f", c, p.radius, p.sigma)), got, floatEps)
			})
		}
	}
}

func TestSharpenFollowsFormula(t *testing.T) {
	t.Parallel()
	for _, p := range []struct {
		radius       int
		sigma, alpha float64
	}{{1, 1, 1}, {7, 0.5, 0.3}} {
		got, err := raster.Engine{}.Sharpen(t.Context(), source(t, "source3"), p.radius, p.sigma, p.alpha)
		require.NoError(t, err)
		// Differences of samples are multiplied by up to 10.
		near(t, golden(t, fmt.Sprintf("formula_sharpen_%d_%.1f_%.1f", p.radius, p.sigma, p.alpha)), got, 1e-5)
	}
}

func TestBlendFollowsFormula(t *testing.T) {
	t.Parallel()
	for _, mode := range raster.BlendModes() {
		for _, factor := range []float64{0.5, 1} {
			got, err := raster.Engine{}.Blend(t.Context(), source(t, "source3"), source(t, "other3"), mode, factor)
			require.NoError(t, err)
			near(t, golden(t, fmt.Sprintf("formula_blend_%s_%.1f", mode, factor)), got, floatEps)
		}
	}
}

func TestCompositeFollowsFormula(t *testing.T) {
	t.Parallel()
	a := golden(t, "mask")
	mask, err := raster.NewMask(1, a.Shape[0], a.Shape[1], a.Floats)
	require.NoError(t, err)
	for _, at := range [][2]int{{0, 0}, {11, 7}, {50, 40}, {61, 47}} {
		got, err := raster.Engine{}.Composite(t.Context(), source(t, "source3"), source(t, "other3"), mask, at[0], at[1], false)
		require.NoError(t, err)
		near(t, golden(t, fmt.Sprintf("formula_composite_%d_%d", at[0], at[1])), got, floatEps)
	}
}
