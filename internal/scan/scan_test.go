package scan_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/scan"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

func look(t *testing.T, blobs *mem.Store, declared string, data []byte) asset.Scan {
	t.Helper()
	found, err := scan.Content{Blobs: blobs}.Scan(t.Context(), asset.Asset{ContentType: declared, Size: int64(len(data))},
		bytes.NewReader(data))
	require.NoError(t, err)
	return found
}

func TestAnImageIsMeasuredAndGetsAThumbnail(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 1000, 600))))
	blobs := mem.New()
	found := look(t, blobs, "application/octet-stream", b.Bytes())
	require.Equal(t, asset.Clean, found.Verdict)
	require.Equal(t, "image/png", found.SniffedType)
	require.Equal(t, [2]int{1000, 600}, [2]int{found.Width, found.Height})
	r, err := blobs.Open(t.Context(), found.Thumbnail)
	require.NoError(t, err)
	defer r.Close()
	small, err := jpeg.Decode(r)
	require.NoError(t, err)
	require.Equal(t, 512, small.Bounds().Dx())
}

func TestAFileOfAnotherTypeThanDeclaredIsOnlyNoted(t *testing.T) {
	t.Parallel()
	found := look(t, mem.New(), "image/png", []byte("<html><script>alert(1)</script>"))
	require.Equal(t, asset.Scan{Verdict: asset.Clean, SniffedType: "text/html; charset=utf-8"}, found)
	require.Equal(t, asset.Clean, look(t, mem.New(), "image/png", nil).Verdict)
	require.Equal(t, asset.Clean, look(t, mem.New(), "image/png", []byte(strings.Repeat("x", 10_000))).Verdict)
}

func TestAnImageThatWouldFillTheMemoryIsRejected(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))))
	bomb := b.Bytes()
	binary.BigEndian.PutUint32(bomb[16:], 60_000)
	binary.BigEndian.PutUint32(bomb[20:], 60_000)
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	blobs := mem.New()
	found := look(t, blobs, "image/png", bomb)
	require.Equal(t, asset.Rejects, found.Verdict)
	require.NotEmpty(t, found.Reason)
	require.NoError(t, blobs.Walk(t.Context(), func(blob.Entry) error { t.Fatal("no thumbnail of it"); return nil }))
}
