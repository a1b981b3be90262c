package codec_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/png"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
)

// noisy returns a picture that exercises every row filter.
func noisy(t testing.TB, frames, h, w, c int) *raster.Image {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	pix := make([]uint8, frames*h*w*c)
	for i := range pix {
		x, y := i/c%w, i/c/w
		switch y / 8 % 4 {
		case 0:
			pix[i] = uint8(x*3 + y)
		case 1:
			pix[i] = uint8(rng.IntN(256))
		case 2:
			pix[i] = uint8(x*x/50 + y*y/70 + rng.IntN(9))
		}
	}
	im, err := raster.NewImage8(frames, h, w, c, pix)
	require.NoError(t, err)
	return im
}

// pixels reads a standard image back as interleaved samples.
func pixels(im image.Image, c int) []uint8 {
	var out []uint8
	b := im.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			switch im := im.(type) {
			case *image.Gray:
				out = append(out, im.GrayAt(x, y).Y)
			case *image.NRGBA:
				p := im.NRGBAAt(x, y)
				out = append(out, []uint8{p.R, p.G, p.B, p.A}[:c]...)
			case *image.RGBA:
				p := im.RGBAAt(x, y)
				out = append(out, p.R, p.G, p.B)
			}
		}
	}
	return out
}

func TestEncodedPNGReadsBackEqual(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{1, 1}, {1, 300}, {300, 1}, {37, 53}, {900, 701}} {
		for _, c := range []int{1, 3, 4} {
			for _, level := range []int{0, 1, 4, 6, 9} {
				im := noisy(t, 2, size[0], size[1], c)
				var buf bytes.Buffer
				require.NoError(t, codec.EncodePNG(t.Context(), &buf, im, 1, codec.PNGOptions{Level: level}))
				back, err := png.Decode(bytes.NewReader(buf.Bytes()))
				require.NoError(t, err)
				var want []uint8
				for y := range im.Height() {
					want = append(want, im.Row8(nil, 1, y)...)
				}
				require.True(t, bytes.Equal(want, pixels(back, c)), "%v %d channels level %d", size, c, level)
			}
		}
	}
}

func TestPNGTextComesBeforeThePixels(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	text := []codec.Text{{Key: "prompt", Value: `{"1": {}}`}, {Key: "workflow", Value: "[]"}}
	require.NoError(t, codec.EncodePNG(t.Context(), &buf, noisy(t, 1, 4, 4, 3), 0, codec.PNGOptions{Level: 4, Text: text}))
	var kinds []string
	var texts []string
	for b := buf.Bytes()[8:]; len(b) > 0; {
		n := int(binary.BigEndian.Uint32(b))
		kinds = append(kinds, string(b[4:8]))
		if string(b[4:8]) == "tEXt" {
			texts = append(texts, string(b[8:8+n]))
		}
		b = b[12+n:]
	}
	require.Equal(t, []string{"IHDR", "tEXt", "tEXt", "IDAT", "IDAT", "IEND"}, kinds)
	require.Equal(t, []string{"prompt\x00{\"1\": {}}", "workflow\x00[]"}, texts)
}

func TestEncodePNGRefusesUnencodableText(t *testing.T) {
	t.Parallel()
	for _, bad := range []codec.Text{{Key: "", Value: "x"}, {Key: "k", Value: "a\x00b"}, {Key: "k", Value: "日本"}} {
		err := codec.EncodePNG(t.Context(), &bytes.Buffer{}, noisy(t, 1, 4, 4, 3), 0, codec.PNGOptions{Text: []codec.Text{bad}})
		require.Error(t, err)
	}
}

func TestEncodePNGStopsWhenCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := codec.EncodePNG(ctx, &bytes.Buffer{}, noisy(t, 1, 700, 700, 3), 0, codec.PNGOptions{Level: 4})
	require.ErrorIs(t, err, context.Canceled)
}

var errDisk = errors.New("disk full")

type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestEncodePNGReportsTheWritersError(t *testing.T) {
	t.Parallel()
	for _, left := range []int{0, 10, 100, 100000} {
		err := codec.EncodePNG(t.Context(), &fullDisk{left}, noisy(t, 1, 700, 700, 3), 0, codec.PNGOptions{Level: 4})
		require.ErrorIs(t, err, errDisk)
	}
}

func TestPreviewIsAtMost512ASide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ h, w, wantH, wantW int }{{100, 1024, 50, 512}, {600, 600, 512, 512}, {30, 20, 30, 20}, {1, 4000, 1, 512}} {
		var buf bytes.Buffer
		require.NoError(t, codec.EncodePreview(t.Context(), raster.Engine{}, &buf, noisy(t, 1, c.h, c.w, 4), 0))
		im, _, err := image.Decode(&buf)
		require.NoError(t, err)
		require.Equal(t, image.Pt(c.wantW, c.wantH), im.Bounds().Size())
	}
}

func TestAnimationReadsBackEqual(t *testing.T) {
	t.Parallel()
	for _, c := range []int{3, 4} {
		im := noisy(t, 3, 400, 500, c)
		var buf bytes.Buffer
		meta := []codec.Text{{Key: "prompt", Value: "{}"}}
		require.NoError(t, codec.EncodeAnimation(t.Context(), &buf, im, codec.Animation{Level: 4, FrameMillis: 166, Metadata: meta}))
		pic, err := codec.Decode(t.Context(), raster.Engine{}, bytes.NewReader(buf.Bytes()))
		require.NoError(t, err)
		require.Equal(t, 3, pic.Image.Frames())
		want := im.WithChannels(3)
		for f := range 3 {
			for y := range im.Height() {
				require.Equal(t, want.Row8(nil, f, y), pic.Image.Row8(nil, f, y))
			}
		}
		require.Contains(t, buf.String(), "comfprompt\x00{}")
		_, err = png.Decode(bytes.NewReader(buf.Bytes()))
		require.NoError(t, err, "a reader of still pictures sees the first frame")
	}
}

func TestEqualFramesOfAnAnimationAreOne(t *testing.T) {
	t.Parallel()
	one, other := noisy(t, 1, 9, 9, 3), noisy(t, 2, 9, 9, 3).Frame(1)
	join := func(frames ...*raster.Image) *raster.Image {
		im, err := raster.Engine{}.Join(t.Context(), frames...)
		require.NoError(t, err)
		return im
	}
	var buf bytes.Buffer
	require.NoError(t, codec.EncodeAnimation(t.Context(), &buf, join(one, one, other), codec.Animation{FrameMillis: 100}))
	pic, err := codec.Decode(t.Context(), raster.Engine{}, bytes.NewReader(buf.Bytes()))
	require.NoError(t, err)
	require.Equal(t, 2, pic.Image.Frames())
	require.Contains(t, buf.String(), "\x00\xc8\x03\xe8", "200 of 1000 parts of a second")
	buf.Reset()
	require.NoError(t, codec.EncodeAnimation(t.Context(), &buf, join(one, one), codec.Animation{FrameMillis: 100}))
	require.NotContains(t, buf.String(), "acTL")
}

func TestAnimationOfOneFrameIsStill(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	require.NoError(t, codec.EncodeAnimation(t.Context(), &buf, noisy(t, 1, 9, 9, 3), codec.Animation{Level: 4, FrameMillis: 100}))
	require.NotContains(t, buf.String(), "acTL")
	require.Error(t, codec.EncodeAnimation(t.Context(), &buf, noisy(t, 1, 9, 9, 3), codec.Animation{FrameMillis: 1 << 16}))
}
