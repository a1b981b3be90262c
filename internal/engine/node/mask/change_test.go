package mask_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/mask"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/rastertest"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestSolidMask(t *testing.T) {
	t.Parallel()
	got := must(t, mask.SolidMask(), node.Args{"value": 0.25, "width": int64(2), "height": int64(1)})
	require.Equal(t, []float32{0.25, 0.25}, flat(t, got))
}

func TestCropMaskMayBeSmallerThanRequested(t *testing.T) {
	t.Parallel()
	args := node.Args{"mask": maskOf(t, 1, 2, 3, 1, 2, 3, 4, 5, 6), "x": int64(1), "y": int64(1), "width": int64(512), "height": int64(512)}
	require.Equal(t, []float32{5, 6}, flat(t, must(t, mask.CropMask(), args)))
}

// A crop outside a mask is a mask without pixels. Classes that treat each value separately pass such a mask on; other
// classes fail.
func TestCropMaskOutsideIsEmptyAndFailsAtItsReader(t *testing.T) {
	t.Parallel()
	args := node.Args{"mask": maskOf(t, 1, 2, 3, 1, 2, 3, 4, 5, 6), "x": int64(3), "y": int64(1), "width": int64(512), "height": int64(512)}
	empty := must(t, mask.CropMask(), args)
	args["mask"], args["x"] = must(t, mask.InvertMask(), node.Args{"mask": empty}), int64(0)
	again := must(t, mask.CropMask(), args).(*raster.Mask)
	require.Equal(t, []int{1, 0, 0}, []int{again.Frames(), again.Height(), again.Width()})
	require.Same(t, empty, must(t, mask.ThresholdMask(), node.Args{"mask": empty, "value": 0.5}))
	for _, class := range []*node.Class{mask.MaskToImage(), mask.GrowMask(), mask.MaskPreview()} {
		_, err := run(t, class, node.Args{"mask": empty, "expand": int64(1), "tapered_corners": true})
		require.Equal(t, fault.CodeEmptyImage, fault.CodeOf(err), class.Name)
		if class.Name != "GrowMask" {
			require.ErrorContains(t, err, "cannot reshape tensor of 0 elements into shape [-1, 1, 1, 0] because the unspecified "+
				"dimension size -1 can be any value and is ambiguous\n", class.Name)
		}
	}
	var stored bytes.Buffer
	require.NoError(t, node.EncodeValue(&stored, empty))
	read, err := node.DecodeValue(&stored, 1<<10)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 0}, []int{read.(*raster.Mask).Frames(), read.(*raster.Mask).Height(), read.(*raster.Mask).Width()})
}

func TestMaskCompositeOutsideLeavesTheDestination(t *testing.T) {
	t.Parallel()
	args := node.Args{
		"destination": maskOf(t, 1, 1, 2, 0.25, 2), "source": maskOf(t, 1, 1, 1, 1),
		"x": int64(5), "y": int64(0), "operation": "add",
	}
	require.Equal(t, []float32{0.25, 1}, flat(t, must(t, mask.MaskComposite(), args)), "clamped everywhere")
	args["x"] = int64(1)
	args["operation"] = "subtract"
	require.Equal(t, []float32{0.25, 1}, flat(t, must(t, mask.MaskComposite(), args)))
	args["source"] = maskOf(t, 2, 1, 1, 1, 1)
	_, err := run(t, mask.MaskComposite(), args)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

// In ComfyUI, a source beyond the end is cut at its far end by the distance; more than one line of it has no
// counterpart.
func TestMaskCompositeFailsWhereTheSourceLiesOutsideAndIsLarge(t *testing.T) {
	t.Parallel()
	args := node.Args{
		"destination": maskOf(t, 1, 1, 1, 1), "source": maskOf(t, 1, 1, 4, 1, 1, 1, 1),
		"x": int64(3), "y": int64(0), "operation": "add",
	}
	_, err := run(t, mask.MaskComposite(), args)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	args["x"] = int64(4)
	require.Equal(t, []float32{1}, flat(t, must(t, mask.MaskComposite(), args)))
}

func TestFeatherFadesEachEdge(t *testing.T) {
	t.Parallel()
	got := must(t, mask.FeatherMask(), node.Args{
		"mask": maskOf(t, 1, 1, 4, 1, 1, 1, 1), "left": int64(2), "top": int64(0), "right": int64(0), "bottom": int64(0),
	})
	require.Equal(t, []float32{0.5, 1, 1, 1}, flat(t, got))
}

func TestGrowWithAndWithoutCorners(t *testing.T) {
	t.Parallel()
	dot := maskOf(t, 1, 3, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0)
	cross := must(t, mask.GrowMask(), node.Args{"mask": dot, "expand": int64(1), "tapered_corners": true})
	require.Equal(t, []float32{0, 1, 0, 1, 1, 1, 0, 1, 0}, flat(t, cross))
	square := must(t, mask.GrowMask(), node.Args{"mask": dot, "expand": int64(1), "tapered_corners": false})
	require.Equal(t, []float32{1, 1, 1, 1, 1, 1, 1, 1, 1}, flat(t, square))
	back := must(t, mask.GrowMask(), node.Args{"mask": cross, "expand": int64(-1), "tapered_corners": true})
	require.Equal(t, flat(t, dot), flat(t, back))
	far := must(t, mask.GrowMask(), node.Args{"mask": dot, "expand": int64(16384), "tapered_corners": true})
	require.NotContains(t, flat(t, far), float32(0))
}

func TestThresholdIsStrict(t *testing.T) {
	t.Parallel()
	got := must(t, mask.ThresholdMask(), node.Args{"mask": maskOf(t, 1, 1, 3, 0.4, 0.5, 0.6), "value": 0.5})
	require.Equal(t, []float32{0, 0, 1}, flat(t, got))
}

func TestColorSelectsExactMatches(t *testing.T) {
	t.Parallel()
	im, err := raster.NewImage8(1, 1, 3, 3, []uint8{1, 2, 3, 1, 2, 4, 255, 0, 0})
	require.NoError(t, err)
	got := must(t, mask.ImageColorToMask(), node.Args{"image": im, "color": int64(0x010203)})
	require.Equal(t, []float32{1, 0, 0}, flat(t, got))
}

// The golden files come from ComfyUI (testdata/make_quadmask.py).
func TestQuadmasksAreThoseOfComfyUI(t *testing.T) {
	t.Parallel()
	source := rastertest.Load(t, "testdata/quad_source.npy")
	large := slices.Clone(source.Floats)
	for i := range large {
		large[i] *= 255
	}
	for name, c := range map[string]struct {
		values []float32
		wider  int64
	}{"quad_0": {source.Floats, 0}, "quad_1": {source.Floats, 1}, "quad_large": {large, 0}} {
		args := node.Args{"mask": maskOf(t, 2, 9, 14, c.values...), "dilate_width": c.wider}
		require.InDeltaSlice(t, rastertest.Load(t, "testdata/"+name+".npy").Floats, flat(t, must(t, mask.VOIDQuadmaskPreprocess(), args)), 1e-6,
			name)
	}
}

func TestCropMaskCountsNegativeEdgesFromTheEnd(t *testing.T) {
	t.Parallel()
	m, err := raster.NewMask(1, 4, 3, []float32{0, .1, .2, .3, .4, .5, .6, .7, .8, .9, .95, 1})
	require.NoError(t, err)
	crop := func(x, y, width, height int64) *raster.Mask {
		res, err := node.Invocation{Class: mask.CropMask(), Inputs: node.Args{
			"mask": m, "x": x, "y": y, "width": width, "height": height,
		}}.Run(t.Context(), node.Call{})
		require.NoError(t, err)
		cut, ok := res.Outputs[0].(*raster.Mask)
		require.True(t, ok)
		return cut
	}
	cut := crop(-2, -3, 1, 2) // mask[-3:-1, -2:-1]
	require.Equal(t, []int{1, 2}, []int{cut.Width(), cut.Height()})
	require.InDelta(t, .4, cut.Row(nil, 0, 0)[0], 1e-6)
	cut = crop(-1, -1, 29, 46) // mask[-1:45, -1:28]
	require.Equal(t, []int{1, 1}, []int{cut.Width(), cut.Height()})
	require.True(t, crop(2, 1, -5, 1).Empty())
	require.True(t, crop(5, 1, 2, 2).Empty())
}
