package preview_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/webp"

	"github.com/millrace-dev/millrace/internal/engine/preview"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

func source(t *testing.T) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 8, 4))
	for y := range 4 {
		for x := range 8 {
			img.SetNRGBA(x, y, color.NRGBA{R: uint8(30 * x), G: uint8(60 * y), B: 7, A: uint8(30 * x)})
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

func render(t *testing.T, o preview.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, preview.Render(t.Context(), raster.Engine{}, &b, bytes.NewReader(source(t)), o))
	return b.Bytes()
}

func at(img image.Image, x, y int) color.NRGBA {
	return color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
}

func TestChannels(t *testing.T) {
	t.Parallel()
	rgb, err := png.Decode(bytes.NewReader(render(t, preview.Parse("", "rgb"))))
	require.NoError(t, err)
	require.Equal(t, color.NRGBA{R: 90, G: 120, B: 7, A: 255}, at(rgb, 3, 2))
	alpha, err := png.Decode(bytes.NewReader(render(t, preview.Parse("", "a"))))
	require.NoError(t, err)
	require.Equal(t, color.NRGBA{A: 90}, at(alpha, 3, 2))
}

func TestPreviews(t *testing.T) {
	t.Parallel()
	_, err := jpeg.Decode(bytes.NewReader(render(t, preview.Parse("jpeg;80", ""))))
	require.NoError(t, err)
	img, err := webp.Decode(bytes.NewReader(render(t, preview.Parse("webp;90", ""))))
	require.NoError(t, err)
	require.Equal(t, color.NRGBA{R: 90, G: 120, B: 7, A: 90}, at(img, 3, 2))
	require.Equal(t, preview.WebP, preview.Parse("jpeg;80", "a").Format, "alpha needs webp")
	require.Equal(t, preview.WebP, preview.Parse("gif", "").Format)
	require.Equal(t, 90, preview.Parse("jpeg;1000", "").Quality)
}

func TestAFileThatIsNotAnImageIsRefused(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	err := preview.Render(t.Context(), raster.Engine{}, &b, bytes.NewReader([]byte("text")), preview.Options{})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	err = preview.Render(t.Context(), raster.Engine{MaxPixels: 10}, &b, bytes.NewReader(source(t)), preview.Options{})
	require.Equal(t, fault.Exhausted, fault.KindOf(err))
}
