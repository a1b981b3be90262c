package media_test

import (
	_ "embed"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// edges is a video of one frame, 32 by 16 pixels with hard edges, whose samples of colour stand for four pixels each:
//
//	ffmpeg -f lavfi -i testsrc2=s=32x16:r=1:d=1 -pix_fmt yuv420p -c:v libx264 -qp 0 -preset ultrafast edges.mp4
//
//go:embed testdata/edges.mp4
var edges []byte

// The values are those of ComfyUI 0.33 for the row in the middle, as SaveImage writes them. Another release of FFmpeg may round one
// differently.
func TestFramesHaveComfyUIsColours(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.files.Saved["edges.mp4"] = edges
	video := a.first("LoadVideo", node.Args{"file": "edges.mp4"})
	frames, ok := a.run("GetVideoComponents", node.Args{"video": video}).Outputs[0].(*raster.Image)
	require.True(t, ok)
	var got []float64
	for x := range frames.Width() {
		for channel := range 3 {
			got = append(got, float64(frames.At(0, 8, x, channel)*255))
		}
	}
	require.InDeltaSlice(t, []float64{
		224, 1, 64, 168, 29, 69, 55, 0, 16, 80, 0, 0, 237, 128, 37, 190, 146, 67, 29, 51, 0, 28, 52, 0,
		26, 53, 0, 70, 38, 0, 227, 136, 21, 231, 134, 19, 235, 133, 17, 205, 142, 47, 80, 57, 0, 75, 51, 27,
		21, 0, 24, 55, 0, 0, 233, 130, 39, 188, 136, 123, 0, 0, 63, 34, 0, 18, 87, 0, 0, 212, 125, 117,
		212, 125, 117, 74, 0, 27, 62, 0, 61, 81, 5, 0, 226, 135, 31, 180, 148, 84, 27, 55, 30, 27, 55, 30,
	}, got, 1.01)
}
