package codec_test

import (
	"bytes"
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
