package mask_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/mask"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

func run(t *testing.T, c *node.Class, args node.Args) (node.Value, error) {
	t.Helper()
	res, err := node.Invocation{Class: c, Inputs: args}.Run(t.Context(), node.Call{NodeID: "1"})
	if err != nil {
		return nil, err
	}
	require.Len(t, res.Outputs, len(c.Outputs))
	return res.Outputs[0], nil
}

func must(t *testing.T, c *node.Class, args node.Args) node.Value {
	t.Helper()
	v, err := run(t, c, args)
	require.NoError(t, err)
	return v
}

func maskOf(t *testing.T, frames, h, w int, pix ...float32) *raster.Mask {
	t.Helper()
	m, err := raster.NewMask(frames, h, w, pix)
	require.NoError(t, err)
	return m
}

// flat lists all samples of a mask.
func flat(t *testing.T, v node.Value) []float32 {
	t.Helper()
	m, ok := v.(*raster.Mask)
	require.True(t, ok, "%T", v)
	var out []float32
	for f := range m.Frames() {
		for y := range m.Height() {
			out = append(out, m.Row(nil, f, y)...)
		}
	}
	return out
}

func TestClassesAreWellFormed(t *testing.T) {
	t.Parallel()
	_, err := node.NewRegistry(mask.Classes()...)
	require.NoError(t, err)
}

func TestMaskBecomesGrey(t *testing.T) {
	t.Parallel()
	im := must(t, mask.MaskToImage(), node.Args{"mask": maskOf(t, 1, 1, 2, 0.25, 1)}).(*raster.Image)
	require.Equal(t, []float32{0.25, 0.25, 0.25, 1, 1, 1}, im.Row(nil, 0, 0))
}

func TestChannelBecomesMask(t *testing.T) {
	t.Parallel()
	im, err := raster.NewImage(1, 1, 2, 4, []float32{1, 2, 3, 4, 5, 6, 7, 8})
	require.NoError(t, err)
	for i, name := range []string{"red", "green", "blue", "alpha"} {
		got := must(t, mask.ImageToMask(), node.Args{"image": im, "channel": name})
		require.Equal(t, []float32{float32(1 + i), float32(5 + i)}, flat(t, got))
	}
	rgb, err := raster.NewImage(1, 1, 1, 3, []float32{1, 2, 3})
	require.NoError(t, err)
	_, err = run(t, mask.ImageToMask(), node.Args{"image": rgb, "channel": "alpha"})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

func TestInvertMask(t *testing.T) {
	t.Parallel()
	require.Equal(t, []float32{0.75, 0}, flat(t, must(t, mask.InvertMask(), node.Args{"mask": maskOf(t, 1, 1, 2, 0.25, 1)})))
}

func TestAShownMaskPasses(t *testing.T) {
	t.Parallel()
	m := maskOf(t, 1, 1, 2, 0.25, 1)
	res, err := mask.MaskPreview().Run(t.Context(), &node.Call{NodeID: "1", Args: node.Args{"mask": m}, Files: nodetest.NewFiles()})
	require.NoError(t, err)
	require.Equal(t, []node.Value{m}, res.Outputs)
	require.Equal(t, []any{false}, res.UI["animated"])
	require.Len(t, res.UI["images"], 1)
}
