package jpegplane_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster/codec/jpegplane"
	"github.com/millrace-dev/millrace/internal/engine/raster/rastertest"
)

const testdata = "../../testdata/"

func files(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(testdata + "jpeg/*.jpg")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	out := map[string][]byte{}
	for _, p := range append(paths, testdata+"grey.jpg") {
		out[filepath.Base(p)], err = os.ReadFile(p)
		require.NoError(t, err)
	}
	return out
}

func sizeOf(t testing.TB, data []byte) image.Point {
	t.Helper()
	config, err := jpeg.DecodeConfig(bytes.NewReader(data))
	require.NoError(t, err)
	return image.Pt(config.Width, config.Height)
}

func decode(t testing.TB, data []byte) (image.Image, error) {
	t.Helper()
	return jpegplane.Decode(t.Context(), data, sizeOf(t, data))
}

func TestAPictureOfAnotherSizeIsAnError(t *testing.T) {
	t.Parallel()
	_, err := jpegplane.Decode(t.Context(), files(t)["444_40x28.jpg"], image.Pt(40, 27))
	require.Error(t, err)
}

// Planes differ from the standard library's by the rounding of the transform only.
func TestPlanesAgreeWithTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for name, data := range files(t) {
		got, err := decode(t, data)
		require.NoError(t, err, name)
		want, err := jpeg.Decode(bytes.NewReader(data))
		if name == "restart_progressive.jpg" {
			require.Error(t, err, "the standard library reads it by now: compare with it")
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, want.Bounds(), got.Bounds(), name)
		for y := range want.Bounds().Dy() {
			for x := range want.Bounds().Dx() {
				for i, v := range samples(want, x, y) {
					require.InDelta(t, v, samples(got, x, y)[i], 2, "%s: plane %d at %d, %d", name, i, x, y)
				}
			}
		}
	}
}

func samples(im image.Image, x, y int) []uint8 {
	if im, ok := im.(*image.YCbCr); ok {
		at := im.YCbCrAt(x, y)
		return []uint8{at.Y, at.Cb, at.Cr}
	}
	return []uint8{im.At(x, y).(color.Gray).Y}
}

// Wherever a file is cut off or damaged, it is an error or a picture of its size.
func TestDamagedFilesAreErrors(t *testing.T) {
	t.Parallel()
	for name, data := range files(t) {
		scan, size := bytes.LastIndex(data, []byte("\xff\xda")), sizeOf(t, data)
		for n := range scan {
			_, err := jpegplane.Decode(t.Context(), data[:n], size)
			if !bytes.Contains(data[:n], []byte("\xff\xda")) {
				require.Error(t, err, "%s of %d bytes", name, n)
			}
		}
		for i := 0; i < len(data); i += 3 {
			changed := bytes.Clone(data)
			changed[i] ^= 0x55
			im, err := jpegplane.Decode(t.Context(), changed, size)
			require.True(t, err != nil || im != nil)
		}
	}
}

// The planes of a file that is cut off are those of ffmpeg, with zeros where nothing was read (testdata/make_cut.py).
func TestAFileThatIsCutOffHasThePlanesBeforeTheCut(t *testing.T) {
	t.Parallel()
	for name, length := range map[string]int{
		"444_37x28.jpg": 1184, "444_65x31.jpg": 1644, "444_7x7.jpg": 644, "444_40x28.jpg": 1347, "444_40x29.jpg": 650, "grey.jpg": 769,
	} {
		data := files(t)[name]
		got, err := jpegplane.Decode(t.Context(), data[:length], sizeOf(t, data))
		require.NoError(t, err, name)
		want := rastertest.Load(t, testdata+"cut/"+name+".npy")
		bounds := got.Bounds()
		for i, v := range want.Bytes {
			plane, y, x := i/(bounds.Dx()*bounds.Dy()), i/bounds.Dx()%bounds.Dy(), i%bounds.Dx()
			require.EqualValues(t, v, samples(got, x, y)[plane], "%s: plane %d at %d, %d", name, plane, x, y)
		}
	}
}

func TestAMissingRestartMarkerEndsThePicture(t *testing.T) {
	t.Parallel()
	data := files(t)["restart.jpg"]
	at := bytes.Index(data, []byte("\xff\xd3"))
	require.Positive(t, at)
	im, err := jpegplane.Decode(t.Context(), append(bytes.Clone(data[:at]), data[at+2:]...), sizeOf(t, data))
	require.NoError(t, err)
	last := im.Bounds().Max
	require.Zero(t, samples(im, last.X-1, last.Y-1)[0])
}

func TestOtherKindsAreLeftToTheCaller(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(testdata + "cmyk.jpg")
	require.NoError(t, err)
	_, err = decode(t, data)
	require.ErrorIs(t, err, jpegplane.ErrKind)

	arithmetic := bytes.Clone(files(t)["444_40x28.jpg"])
	frame := bytes.Index(arithmetic, []byte("\xff\xc2"))
	require.Positive(t, frame)
	arithmetic[frame+1] = 0xC9
	_, err = jpegplane.Decode(t.Context(), arithmetic, sizeOf(t, files(t)["444_40x28.jpg"]))
	require.ErrorIs(t, err, jpegplane.ErrKind)
}

func TestDecodingStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := jpegplane.Decode(ctx, files(t)["444_40x28.jpg"], image.Pt(40, 28))
	require.ErrorIs(t, err, context.Canceled)
}

func FuzzDecode(f *testing.F) {
	for _, data := range files(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := jpeg.DecodeConfig(bytes.NewReader(data))
		if err != nil || config.Width*config.Height > 1<<20 {
			return // the caller bounds the size
		}
		im, err := jpegplane.Decode(t.Context(), data, image.Pt(config.Width, config.Height))
		require.True(t, im != nil || err != nil)
		if err == nil {
			require.Positive(t, im.Bounds().Dx())
		}
		require.False(t, errors.Is(err, context.Canceled))
	})
}

func BenchmarkDecode(b *testing.B) {
	im := image.NewRGBA(image.Rect(0, 0, 1024, 1024))
	for i := range im.Pix {
		im.Pix[i] = uint8(i*7 ^ i>>9 ^ i>>15)
	}
	var buf bytes.Buffer
	require.NoError(b, jpeg.Encode(&buf, im, &jpeg.Options{Quality: 85}))
	b.Run("here", func(b *testing.B) {
		for b.Loop() {
			_, err := jpegplane.Decode(b.Context(), buf.Bytes(), image.Pt(1024, 1024))
			require.NoError(b, err)
		}
	})
	b.Run("image/jpeg", func(b *testing.B) {
		for b.Loop() {
			_, err := jpeg.Decode(bytes.NewReader(buf.Bytes()))
			require.NoError(b, err)
		}
	})
}
