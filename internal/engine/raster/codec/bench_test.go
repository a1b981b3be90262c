package codec_test

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
)

func BenchmarkPNG(b *testing.B) {
	im := noisy(b, 1, 1024, 1024, 4)
	var buf bytes.Buffer
	require.NoError(b, codec.EncodePNG(b.Context(), &buf, im, 0, codec.PNGOptions{Level: 4}))
	for level, name := range map[int]string{1: "encode level 1", 4: "encode level 4"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, codec.EncodePNG(b.Context(), io.Discard, im, 0, codec.PNGOptions{Level: level}))
			}
		})
	}
	// The standard library's encoder, on the same pixels and with compression as close as it offers.
	std := image.NewNRGBA(image.Rect(0, 0, 1024, 1024))
	for y := range 1024 {
		copy(std.Pix[y*std.Stride:], im.Row8(nil, 0, y))
	}
	for level, name := range map[png.CompressionLevel]string{
		png.BestSpeed:          "image/png best speed",
		png.DefaultCompression: "image/png default",
	} {
		b.Run(name, func(b *testing.B) {
			encoder := png.Encoder{CompressionLevel: level}
			for b.Loop() {
				require.NoError(b, encoder.Encode(io.Discard, std))
			}
		})
	}
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			_, err := codec.Decode(b.Context(), raster.Engine{}, bytes.NewReader(buf.Bytes()))
			require.NoError(b, err)
		}
	})
	b.Run("preview", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, codec.EncodePreview(b.Context(), raster.Engine{}, io.Discard, im, 0))
		}
	})
}
