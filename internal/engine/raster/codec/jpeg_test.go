package codec_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/codec"
	"github.com/millrace-dev/millrace/internal/engine/raster/rastertest"
)

// The files have every sampling of chroma, even and odd sizes, both processes, and restart markers; the pictures beside them
// are ComfyUI's.
func TestJPEGFilesHaveComfyUIsValues(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(testdata + "jpeg/*.jpg")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".jpg"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			pic, err := codec.Decode(t.Context(), raster.Engine{}, bytes.NewReader(data))
			require.NoError(t, err)
			want := rastertest.Load(t, strings.TrimSuffix(path, ".jpg")+".npy")
			im := pic.Image
			require.Equal(t, want.Shape, []int{im.Height(), im.Width(), im.Channels()})
			for y := range im.Height() {
				row := 3 * im.Width()
				require.Equal(t, want.Bytes[y*row:(y+1)*row], im.Row8(nil, 0, y), "row %d", y)
			}
		})
	}
}
