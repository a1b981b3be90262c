package codec_test

import (
	"bytes"
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
		_, err = codec.Decode(t.Context(), raster.Engine{}, bytes.NewReader(data[:len(data)/3]))
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
	e := raster.Engine{MaxPixels: 1 << 16}
	f.Fuzz(func(t *testing.T, data []byte) {
		pic, err := codec.Decode(t.Context(), e, bytes.NewReader(data))
		if err != nil {
			require.NotEqual(t, fault.Internal, fault.KindOf(err), "%v", err)
			return
		}
		require.LessOrEqual(t, pic.Image.Pixels(), e.MaxPixels)
	})
}
