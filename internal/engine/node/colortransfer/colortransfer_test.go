package colortransfer_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/colortransfer"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/rastertest"
	"github.com/millrace-dev/millrace/internal/fault"
)

func golden(t *testing.T, name string) *raster.Image {
	t.Helper()
	a := rastertest.Load(t, "testdata/"+name+".npy")
	im, err := raster.NewImage(a.Shape[0], a.Shape[1], a.Shape[2], a.Shape[3], a.Floats)
	require.NoError(t, err)
	return im
}

func run(t *testing.T, args node.Args) (*raster.Image, error) {
	t.Helper()
	res, err := node.Invocation{Class: colortransfer.ColorTransfer(), Inputs: args}.Run(t.Context(), node.Call{NodeID: "1"})
	if err != nil {
		return nil, err
	}
	return res.Outputs[0].(*raster.Image), nil
}

func TestColoursAreTransferredAsComfyUIDoes(t *testing.T) {
	t.Parallel()
	target, ref := golden(t, "target"), golden(t, "ref")
	for _, method := range []string{"reinhard_lab", "mkl_lab", "histogram"} {
		for _, stats := range []string{"per_frame", "uniform", "target_frame"} {
			for _, strength := range []float64{1, 0.4} {
				name := fmt.Sprintf("%s-%s-%.1f", method, stats, strength)
				got, err := run(t, node.Args{
					"image_target": target, "image_ref": ref, "method": method, "strength": strength,
					"source_stats": stats, "source_stats.target_index": int64(1),
				})
				require.NoError(t, err)
				want := golden(t, name)
				require.Equal(t, []int{want.Frames(), want.Height(), want.Width()}, []int{got.Frames(), got.Height(), got.Width()})
				for f := range want.Frames() {
					for y := range want.Height() {
						require.InDeltaSlice(t, want.Row(nil, f, y), got.Row(nil, f, y), 2e-4, "%s: frame %d row %d", name, f, y)
					}
				}
			}
		}
	}
}

func TestOneReferenceServesEveryImageAndNoStrengthChangesNothing(t *testing.T) {
	t.Parallel()
	target, ref := golden(t, "target"), golden(t, "ref").Frame(0)
	args := node.Args{"image_target": target, "image_ref": ref, "method": "histogram", "strength": 1.0, "source_stats": "per_frame"}
	both, err := run(t, args)
	require.NoError(t, err)
	args["image_target"] = target.Frame(1)
	second, err := run(t, args)
	require.NoError(t, err)
	require.Equal(t, second.Row(nil, 0, 3), both.Row(nil, 1, 3))
	args["strength"] = 0.0
	same, err := run(t, args)
	require.NoError(t, err)
	require.Same(t, args["image_target"], same)
}

func TestAChannelTooManyHasNoLab(t *testing.T) {
	t.Parallel()
	im, err := raster.NewImage(1, 1, 1, 4, []float32{0, 0, 0, 1})
	require.NoError(t, err)
	_, err = run(t, node.Args{"image_target": im, "image_ref": im, "method": "mkl_lab", "strength": 1.0, "source_stats": "uniform"})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}
