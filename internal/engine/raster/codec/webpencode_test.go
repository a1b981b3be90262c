package codec_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/webp"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

// chunksOf lists the chunks of a WebP; the chunks of a frame follow the frame.
func chunksOf(t *testing.T, data []byte) (ids []string, bodies [][]byte) {
	t.Helper()
	require.Equal(t, "RIFF", string(data[:4]))
	require.EqualValues(t, len(data)-8, binary.LittleEndian.Uint32(data[4:]))
	require.Equal(t, "WEBP", string(data[8:12]))
	for b := data[12:]; len(b) > 0; {
		size := int(binary.LittleEndian.Uint32(b[4:]))
		ids, bodies = append(ids, string(b[:4])), append(bodies, b[8:8+size])
		b = b[8+size+size%2:]
	}
	return ids, bodies
}

func TestAWebPAnimationReadsBackEqual(t *testing.T) {
	t.Parallel()
	for channels, flags := range map[int]byte{1: 0x0a, 3: 0x0a, 4: 0x1a} {
		im := noisy(t, 3, 41, 57, channels)
		var buf bytes.Buffer
		meta := []codec.Text{{Key: "prompt", Value: "{}"}, {Key: "workflow", Value: "[1]"}, {Key: "a", Value: ""}}
		require.NoError(t, codec.EncodeWebP(t.Context(), &buf, im, codec.WebPAnimation{FrameMillis: 70_000, Metadata: meta}))
		ids, bodies := chunksOf(t, buf.Bytes())
		require.Equal(t, []string{"VP8X", "ANIM", "ANMF", "ANMF", "ANMF", "EXIF"}, ids)
		require.Equal(t, []byte{flags, 0, 0, 0, 56, 0, 0, 40, 0, 0}, bodies[0], "metadata, an animation, and alpha where there is some")
		require.Equal(t, make([]byte, 6), bodies[1], "for ever")
		require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 56, 0, 0, 40, 0, 0, 0x70, 0x11, 0x01, 2}, bodies[2][:16],
			"the whole canvas for 70 s, in place of what was there")

		pic, err := codec.Decode(t.Context(), raster.Engine{}, bytes.NewReader(buf.Bytes()))
		require.NoError(t, err)
		require.Equal(t, 3, pic.Image.Frames())
		for f := range 3 {
			for y := range im.Height() {
				require.Equal(t, im.WithChannels(3).Row8(nil, f, y), pic.Image.Row8(nil, f, y))
			}
		}
		require.Equal(t, map[uint16]string{0x0110: "prompt:{}", 0x010f: "workflow:[1]", 0x010e: "a:"}, exifTexts(t, bodies[5]))
	}
}

// exifTexts reads the first directory of a little-endian TIFF.
func exifTexts(t *testing.T, b []byte) map[uint16]string {
	t.Helper()
	require.Equal(t, "II*\x00\x08\x00\x00\x00", string(b[:8]))
	texts, last := map[uint16]string{}, uint16(0)
	count := int(binary.LittleEndian.Uint16(b[8:]))
	for i := range count {
		e := b[10+12*i:]
		tag, size := binary.LittleEndian.Uint16(e), binary.LittleEndian.Uint32(e[4:])
		require.EqualValues(t, 2, binary.LittleEndian.Uint16(e[2:]), "ASCII")
		require.Greater(t, tag, last, "in order")
		value := e[8:]
		if size > 4 {
			value = b[binary.LittleEndian.Uint32(e[8:]):]
		}
		text, zero := strings.CutSuffix(string(value[:size]), "\x00")
		require.True(t, zero)
		texts[tag], last = text, tag
	}
	require.Zero(t, binary.LittleEndian.Uint32(b[10+12*count:]), "no further directory")
	return texts
}

func TestAWebPOfOneFrameIsStill(t *testing.T) {
	t.Parallel()
	im := noisy(t, 1, 20, 31, 4)
	var buf bytes.Buffer
	require.NoError(t, codec.EncodeWebP(t.Context(), &buf, im, codec.WebPAnimation{FrameMillis: 100}))
	ids, _ := chunksOf(t, buf.Bytes())
	require.Equal(t, []string{"VP8X", "VP8L"}, ids)
	got, err := webp.Decode(&buf) // read with another decoder
	require.NoError(t, err)
	for y := range 20 {
		row := got.(*image.NRGBA).Pix[y*4*31:]
		require.Equal(t, im.Row8(nil, 0, y), row[:4*31])
	}
}

func TestEncodeWebPRefusesWhatTheFormatCannotHold(t *testing.T) {
	t.Parallel()
	wide, err := raster.NewImage8(1, 1, 1<<14+1, 1, make([]byte, 1<<14+1))
	require.NoError(t, err)
	var buf bytes.Buffer
	require.Equal(t, fault.Invalid, fault.KindOf(codec.EncodeWebP(t.Context(), &buf, wide, codec.WebPAnimation{})))
	small := noisy(t, 1, 2, 2, 3)
	require.Equal(t, fault.Invalid, fault.KindOf(codec.EncodeWebP(t.Context(), &buf, small,
		codec.WebPAnimation{Metadata: []codec.Text{{Key: "a", Value: "b\x00"}}})))
	require.Error(t, codec.EncodeWebP(t.Context(), &buf, small, codec.WebPAnimation{FrameMillis: 1 << 24}))
	require.Zero(t, buf.Len())
}
