package palette_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/palette"
	"github.com/millrace-dev/millrace/internal/engine/raster/rastertest"
	"github.com/millrace-dev/millrace/internal/fault"
)

const testdata = "../testdata/"

func source(t testing.TB, name string) *raster.Image {
	t.Helper()
	a := rastertest.Load(t, testdata+name+".npy")
	im, err := raster.NewImage8(1, a.Shape[0], a.Shape[1], a.Shape[2], a.Bytes)
	require.NoError(t, err)
	return im
}

func bytesOf(im *raster.Image, frame int) []uint8 {
	var out []uint8
	for y := range im.Height() {
		out = append(out, im.Row8(nil, frame, y)...)
	}
	return out
}

func TestQuantizeIsByteEqualWithPillow(t *testing.T) {
	t.Parallel()
	for _, colors := range []int{1, 7, 256} {
		for _, dither := range palette.Dithers() {
			t.Run(fmt.Sprintf("%d colors %s", colors, dither), func(t *testing.T) {
				t.Parallel()
				got, err := palette.Quantize(t.Context(), raster.Engine{}, source(t, "source3"), colors, dither)
				require.NoError(t, err)
				want := rastertest.Load(t, fmt.Sprintf("%spillow_quantize_%d_%s.npy", testdata, colors, dither))
				require.Equal(t, want.Bytes, bytesOf(got, 0))
			})
		}
	}
}

func TestQuantizeManyColorsIsByteEqualWithPillow(t *testing.T) {
	t.Parallel()
	pix := make([]uint8, 0, 3*300*300)
	for i := range 300 * 300 { // 90,000 different colours, so that low bits are dropped
		v := i * 181
		pix = append(pix, uint8(v), uint8(v>>8), uint8(v>>16))
	}
	im, err := raster.NewImage8(1, 300, 300, 3, pix)
	require.NoError(t, err)
	got, err := palette.Quantize(t.Context(), raster.Engine{}, im, 64, "floyd-steinberg")
	require.NoError(t, err)
	want := rastertest.Load(t, testdata+"pillow_quantize_many.npy")
	require.Equal(t, want.Bytes, bytesOf(got, 0)[:len(want.Bytes)])
}

func TestEachFrameHasItsOwnPalette(t *testing.T) {
	t.Parallel()
	a, b := source(t, "source3"), source(t, "other3")
	both, err := raster.Engine{}.Join(t.Context(), a, b)
	require.NoError(t, err)
	got, err := palette.Quantize(t.Context(), raster.Engine{}, both, 16, "none")
	require.NoError(t, err)
	alone, err := palette.Quantize(t.Context(), raster.Engine{}, b, 16, "none")
	require.NoError(t, err)
	require.Equal(t, bytesOf(alone, 0), bytesOf(got, 1))
}

func TestQuantizeRefusesAndStops(t *testing.T) {
	t.Parallel()
	im := source(t, "source3")
	for _, colors := range []int{0, 257} {
		_, err := palette.Quantize(t.Context(), raster.Engine{}, im, colors, "none")
		require.Equal(t, fault.Invalid, fault.KindOf(err))
	}
	_, err := palette.Quantize(t.Context(), raster.Engine{}, im, 4, "sparkle")
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = palette.Quantize(ctx, raster.Engine{}, im, 4, "none")
	require.ErrorIs(t, err, context.Canceled)
}

func BenchmarkQuantize(b *testing.B) {
	pix := make([]uint8, 3*1024*1024)
	for i := range pix {
		pix[i] = uint8(i*i>>9 + i)
	}
	im, err := raster.NewImage8(1, 1024, 1024, 3, pix)
	require.NoError(b, err)
	for _, dither := range []string{"none", "floyd-steinberg", "bayer-4"} {
		b.Run(dither, func(b *testing.B) {
			for b.Loop() {
				_, err := palette.Quantize(b.Context(), raster.Engine{}, im, 256, dither)
				require.NoError(b, err)
			}
		})
	}
}
