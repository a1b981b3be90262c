package image_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/rastertest"
	"github.com/millrace-dev/millrace/internal/fault"
)

// loadedFiles holds files and, for each file, the picture and the mask that LoadImage of ComfyUI 0.33.0 returns.
const loadedFiles = "../../raster/testdata/loaded/"

func TestFilesAreLoadedAsComfyUIDoes(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(loadedFiles + "*.rgb.npy")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".rgb.npy")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := nodetest.NewFiles()
			files.Saved[name], err = os.ReadFile(loadedFiles + name)
			require.NoError(t, err)
			res, err := node.Invocation{Class: image.LoadImage(), Inputs: node.Args{"image": name}}.Run(t.Context(), node.Call{Files: files})
			require.NoError(t, err)
			most := 0.0
			if strings.Contains(name, "16") || name == "cmyk.jpg" || name == "grey_trns.png" {
				most = 1
			}
			im, mask := res.Outputs[0].(*raster.Image), res.Outputs[1].(*raster.Mask)
			requireLoaded(t, most, rastertest.Load(t, path), im.Frames(), im.Height(), im.Width(), 3, im.Row)
			requireLoaded(t, 1, rastertest.Load(t, loadedFiles+name+".mask.npy"), mask.Frames(), mask.Height(), mask.Width(), 1, mask.Row)
		})
	}
}

// requireLoaded requires that each value differs from the original's by at most the given number of 255ths; values of
// files with more than 8 bits, by at most 1/1000.
func requireLoaded(t *testing.T, most float64, want rastertest.Array, frames, height, width, channels int,
	row func([]float32, int, int) []float32,
) {
	t.Helper()
	shape := []int{frames, height, width, channels}
	require.Equal(t, want.Shape, shape[:len(want.Shape)])
	i, worst := 0, 0.0
	for f := range frames {
		for y := range height {
			for _, v := range row(nil, f, y) {
				if want.Bytes != nil {
					worst = max(worst, math.Abs(math.Round(float64(v)*255)-float64(want.Bytes[i])))
				} else {
					worst = max(worst, math.Abs(float64(v-want.Floats[i]))*1000)
				}
				i++
			}
		}
	}
	require.LessOrEqual(t, worst, most)
}

func TestAFileThatIsNoPictureFailsAsInComfyUI(t *testing.T) {
	t.Parallel()
	m := &memory{files: map[string][]byte{"text.wav": []byte("no sound")}}
	_, _, err := run(t, image.LoadImage(), m, node.Args{"image": "text.wav"})
	var refusal *fault.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "av.error.InvalidDataError", refusal.Exception)
	require.Contains(t, refusal.Message, "[Errno 1094995529] Invalid data found when processing input: 'text.wav'\n")
}
