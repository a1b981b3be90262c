package raster_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/rastertest"
)

func maskSource(t testing.TB, name string) *raster.Mask {
	t.Helper()
	a := golden(t, name)
	m, err := raster.NewMask(1, a.Shape[0], a.Shape[1], a.Floats)
	require.NoError(t, err)
	return m
}

// nearMask requires agreement within eps.
func nearMask(t *testing.T, want rastertest.Array, got *raster.Mask, eps float64, name string) {
	t.Helper()
	require.Equal(t, want.Shape, []int{got.Height(), got.Width()}, name)
	worst := 0.0
	for y := range got.Height() {
		for x, v := range got.Row(nil, 0, y) {
			worst = max(worst, math.Abs(float64(v)-float64(want.Floats[y*got.Width()+x])))
		}
	}
	require.LessOrEqual(t, worst, eps, name)
}

func TestMorphologyFollowsFormula(t *testing.T) {
	t.Parallel()
	for _, op := range raster.Morphologies() {
		for _, size := range []int{3, 4, 9} {
			got, err := raster.Engine{}.Morph(t.Context(), source(t, "morph_source"), op, size)
			require.NoError(t, err)
			near(t, golden(t, fmt.Sprintf("formula_morph_%s_%d", op, size)), got, 0)
		}
	}
}

func TestMorphologyWithASquareBeyondTheImage(t *testing.T) {
	t.Parallel()
	im := counting(t, 1, 3, 4, 1)
	for _, size := range []int{7, 8, 999} {
		got, err := raster.Engine{}.Morph(t.Context(), im, "dilate", size)
		require.NoError(t, err)
		require.Equal(t, float32(11), got.At(0, 0, 0, 0))
		got, err = raster.Engine{}.Morph(t.Context(), im, "erode", size)
		require.NoError(t, err)
		require.Equal(t, float32(0), got.At(0, 2, 3, 0))
	}
}

func TestGrowFollowsFormula(t *testing.T) {
	t.Parallel()
	for _, steps := range []int{1, 4, -2, 60} {
		for _, tapered := range []bool{true, false} {
			src := "sparse"
			if steps < 0 {
				src = "mask"
			}
			m := maskSource(t, src)
			got, err := raster.Engine{}.Grow(t.Context(), m, steps, tapered)
			require.NoError(t, err)
			name := fmt.Sprintf("formula_grow_%d_%t", steps, tapered)
			nearMask(t, golden(t, name), got, 0, name)
			nearMask(t, golden(t, src), m, 0, "the input must not change")
		}
	}
}

func TestFeatherFollowsFormula(t *testing.T) {
	t.Parallel()
	got, err := raster.Engine{}.Feather(t.Context(), maskSource(t, "mask"), raster.Margins{Left: 5, Top: 7, Right: 30, Bottom: 3})
	require.NoError(t, err)
	nearMask(t, golden(t, "formula_feather_5_7_30_3"), got, floatEps, "feather")
}

func TestMaskModesFollowFormula(t *testing.T) {
	t.Parallel()
	for _, mode := range raster.MaskModes() {
		got, err := raster.Engine{}.CombineMasks(t.Context(), maskSource(t, "mask"), maskSource(t, "small_mask"), 9, 20, mode)
		require.NoError(t, err)
		nearMask(t, golden(t, "formula_maskmix_"+mode), got, floatEps, mode)
	}
}

func TestOutpaintMaskFollowsFormula(t *testing.T) {
	t.Parallel()
	im, mask, err := raster.Engine{}.Outpaint(t.Context(), source(t, "source3"), raster.Margins{Left: 5, Top: 9, Right: 14}, 12)
	require.NoError(t, err)
	nearMask(t, golden(t, "formula_outpaint_mask"), mask, floatEps, "outpaint")
	require.Equal(t, float32(0.5), im.At(0, 8, 5, 0))
	require.Equal(t, source(t, "source3").At(0, 0, 0, 2), im.At(0, 9, 5, 2))
}

func TestPorterDuffFollowsFormula(t *testing.T) {
	t.Parallel()
	src := raster.Layer{Image: source(t, "source3"), Mask: maskSource(t, "duff_source_mask")}
	dst := raster.Layer{Image: source(t, "other3"), Mask: maskSource(t, "duff_destination_mask")}
	for _, mode := range raster.DuffModes() {
		im, mask, err := raster.Engine{}.PorterDuff(t.Context(), src, dst, mode)
		require.NoError(t, err)
		want := golden(t, "formula_duff_"+mode)
		for i, v := range want.Floats {
			y, x, c := i/4/61, i/4%61, i%4
			got := float64(mask.At(0, y, x, 0))
			if c < 3 {
				got = float64(im.At(0, y, x, c))
			}
			// Dividing by small alphas magnifies rounding errors.
			require.InDelta(t, float64(v), got, 2e-4, "%s at %d, %d, %d", mode, x, y, c)
		}
	}
}
