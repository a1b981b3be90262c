package codec_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/fault"
)

// reseal corrects the chunk checksums of a damaged PNG, so that the damage reaches the decoder.
func reseal(data []byte) []byte {
	out := bytes.Clone(data)
	for at := 8; at+12 <= len(out); {
		n := int64(binary.BigEndian.Uint32(out[at:]))
		if n > int64(len(out)-at-12) {
			break
		}
		end := at + 8 + int(n)
		binary.BigEndian.PutUint32(out[end:], crc32.ChecksumIEEE(out[at+4:end]))
		at = end + 4
	}
	return out
}

func FuzzPNGBehindItsChecksums(f *testing.F) {
	for _, name := range []string{"rgb16.png", "interlaced_13x9.png", "grey_2bit.png", "palette_clear.png", "moving.png", "oriented_6.png"} {
		data, err := os.ReadFile(testdata + name)
		require.NoError(f, err)
		f.Add(data)
	}
	e := raster.Engine{MaxPixels: 1 << 14}
	f.Fuzz(func(t *testing.T, data []byte) {
		pic, err := codec.Decode(t.Context(), e, bytes.NewReader(reseal(data)))
		if err != nil {
			require.NotEqual(t, fault.Internal, fault.KindOf(err), "%v", err)
			return
		}
		require.LessOrEqual(t, pic.Image.Pixels(), e.MaxPixels)
	})
}

func FuzzEXIF(f *testing.F) {
	photo, err := os.ReadFile(testdata + "oriented.jpg")
	require.NoError(f, err)
	f.Add([]byte("Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00"))
	f.Add([]byte("Exif\x00\x00MM\x00*\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, exif []byte) {
		if len(exif) > 1<<16-3 {
			return
		}
		app1 := append([]byte{0xff, 0xe1, 0, 0}, exif...)
		binary.BigEndian.PutUint16(app1[2:], uint16(len(exif)+2))
		data := append(append([]byte{0xff, 0xd8}, app1...), photo[2:]...)
		_, err := codec.Stat(raster.Engine{}, bytes.NewReader(data))
		require.NoError(t, err, "metadata never makes a picture unreadable")
	})
}
