package codec_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/engine/raster/rastertest"
	"github.com/millrace-dev/millrace/internal/fault"
)

const testdata = "../testdata/"

// files lists the golden image files.
func files(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, ext := range []string{"png", "jpg", "gif", "webp", "bmp", "tiff"} {
		names, err := filepath.Glob(testdata + "*." + ext)
		require.NoError(t, err)
		require.NotEmpty(t, names, ext)
		out = append(out, names...)
	}
	return out
}

// tolerance is the largest allowed difference in 8-bit steps. Lossless formats are exact; JPEG decoders differ in their
// inverse transforms.
func tolerance(name string) float64 {
	if strings.HasSuffix(name, ".jpg") {
		return 3
	}
	return 0
}

// byFFmpeg are files that ComfyUI reads otherwise than Pillow: with all their bits, with chroma as ffmpeg spreads it, without
// the still picture of an animation, with the one colour that is transparent. The test of LoadImage holds such files to it.
var byFFmpeg = []string{
	"grey16.png", "rgb16.png", "rgba16.png", "sub420.jpg", "sub422.jpg", "progressive.jpg", "default_first.png", "rgb_clear.png",
}

func TestDecodeAgreesWithPillow(t *testing.T) {
	t.Parallel()
	for _, path := range files(t) {
		name := filepath.Base(path)
		if slices.Contains(byFFmpeg, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			pic, err := codec.Decode(t.Context(), raster.Engine{}, bytes.NewReader(data))
			require.NoError(t, err)
			stem := testdata + "pillow_" + strings.ReplaceAll(name, ".", "_")
			compareImage(t, rastertest.Load(t, stem+"_rgb.npy"), pic.Image, tolerance(name))
			if _, err := os.Stat(stem + "_mask.npy"); err != nil {
				require.Nil(t, pic.Mask, "Pillow finds no alpha")
				return
			}
			require.NotNil(t, pic.Mask, "Pillow finds alpha")
			compareMask(t, rastertest.Load(t, stem+"_mask.npy"), pic.Mask)
			info, err := codec.Stat(raster.Engine{}, bytes.NewReader(data))
			require.NoError(t, err)
			require.Equal(t, []int{pic.Image.Frames(), pic.Image.Height(), pic.Image.Width()},
				[]int{info.Frames, info.Height, info.Width})
		})
	}
}

func compareImage(t *testing.T, want rastertest.Array, got *raster.Image, steps float64) {
	t.Helper()
	require.Equal(t, want.Shape, []int{got.Frames(), got.Height(), got.Width(), 3})
	i, worst := 0, 0.0
	for f := range got.Frames() {
		for y := range got.Height() {
			for _, v := range got.Row8(nil, f, y) {
				worst = max(worst, math.Abs(float64(v)-float64(want.Bytes[i])))
				i++
			}
		}
	}
	require.LessOrEqual(t, worst, steps)
}

func compareMask(t *testing.T, want rastertest.Array, got *raster.Mask) {
	t.Helper()
	require.Equal(t, want.Shape, []int{got.Frames(), got.Height(), got.Width()})
	i := 0
	for f := range got.Frames() {
		for y := range got.Height() {
			for _, v := range got.Row(nil, f, y) {
				require.Equal(t, want.Floats[i], v)
				i++
			}
		}
	}
}

func TestDecodeRefusesTooManyPixelsBeforeDecoding(t *testing.T) {
	t.Parallel()
	for _, path := range files(t) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		info, err := codec.Stat(raster.Engine{}, bytes.NewReader(data))
		require.NoError(t, err)
		limit := int64(info.Frames*info.Width*info.Height) - 1
		if limit == 0 {
			continue
		}
		_, err = codec.Decode(t.Context(), raster.Engine{MaxPixels: limit}, bytes.NewReader(data))
		require.Equal(t, fault.Exhausted, fault.KindOf(err), path)
	}
}

func TestDecodeRefusesDamage(t *testing.T) {
	t.Parallel()
	for _, path := range files(t) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		pic, err := codec.Decode(t.Context(), raster.Engine{}, bytes.NewReader(data[:len(data)/3]))
		if strings.HasSuffix(path, ".jpg") && err == nil {
			require.NotNil(t, pic.Image, "a JPEG file that is cut off behind its headers")
			continue
		}
		require.Equal(t, fault.Invalid, fault.KindOf(err), path)
	}
	_, err := codec.Decode(t.Context(), raster.Engine{}, strings.NewReader("<html>"))
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

func FuzzDecode(f *testing.F) {
	for _, path := range files(f) {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add(partOfCanvas(f))
	e := raster.Engine{MaxPixels: 1 << 16}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func(context.Context, raster.Engine, io.Reader) (*codec.Picture, error){codec.Decode, codec.Load} {
			pic, err := read(t.Context(), e, bytes.NewReader(data))
			if err != nil {
				require.NotEqual(t, fault.Internal, fault.KindOf(err), "%v", err)
				return
			}
			require.LessOrEqual(t, pic.Image.Pixels(), e.MaxPixels)
		}
	})
}

// partOfCanvas returns an animated WebP file of one lossy frame, which is smaller than its picture.
func partOfCanvas(t testing.TB) []byte {
	t.Helper()
	still, err := os.ReadFile(testdata + "loaded/lossy.webp")
	require.NoError(t, err)
	at := bytes.Index(still, []byte("VP8 "))
	require.Positive(t, at)
	frame := still[at:]
	width := int(binary.LittleEndian.Uint16(frame[14:])) & 0x3fff
	height := int(binary.LittleEndian.Uint16(frame[16:])) & 0x3fff
	three := func(n int) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16)} }
	chunk := func(name string, data ...[]byte) []byte {
		all := bytes.Join(data, nil)
		return append(binary.LittleEndian.AppendUint32([]byte(name), uint32(len(all))), all...)
	}
	head := chunk("VP8X", []byte{2, 0, 0, 0}, three(width+15), three(height+15))
	animation := chunk("ANIM", make([]byte, 6))
	drawn := chunk("ANMF", three(1), three(1), three(width-1), three(height-1), make([]byte, 4), frame)
	return chunk("RIFF", []byte("WEBP"), head, animation, drawn)
}

func TestAFrameMayBeSmallerThanItsPicture(t *testing.T) {
	t.Parallel()
	file := partOfCanvas(t)
	loaded, err := codec.Load(t.Context(), raster.Engine{}, bytes.NewReader(file))
	require.NoError(t, err)
	decoded, err := codec.Decode(t.Context(), raster.Engine{}, bytes.NewReader(file))
	require.NoError(t, err)
	require.Equal(t, decoded.Image.Pixels(), loaded.Image.Pixels())
}
