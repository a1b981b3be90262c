package image_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

func bbox(x, y, w, h int64) map[string]any {
	return map[string]any{"x": x, "y": y, "width": w, "height": float64(h)}
}

// The golden files come from ComfyUI (testdata/make_boxes.py).
func TestPartsAreCutAroundBoxesAsComfyUIDoes(t *testing.T) {
	t.Parallel()
	noise := golden(t, "noise")
	flipped, err := raster.Engine{}.FlipRows(t.Context(), noise)
	require.NoError(t, err)
	both, err := raster.Engine{}.Join(t.Context(), noise, flipped)
	require.NoError(t, err)
	args := func(boxes any, padding int64, fit string) node.Args {
		return node.Args{
			"image": both, "bboxes": boxes, "output_width": int64(24), "output_height": int64(32), "padding": padding, "keep_aspect": fit,
		}
	}
	for name, in := range map[string]node.Args{
		"single":  args(bbox(3, 4, 9, 5), 0, "stretch"),
		"two":     args([]any{[]any{bbox(2, 2, 4, 4), bbox(9, 6, 30, 3)}, []any{bbox(0, 0, 5, 9)}}, 2, "pad"),
		"outside": args([]any{[]any{bbox(100, 100, 5, 5)}}, 0, "pad"),
	} {
		requireNear(t, golden(t, "boxes_"+name), firstImage(t, outputs(t, image.CropByBBoxes(), in)), 2e-6)
	}
	require.Same(t, both, firstImage(t, outputs(t, image.CropByBBoxes(), args([]any{}, 0, "pad"))), "without boxes nothing is cut")
	for _, wrong := range []any{"box", []any{bbox(1, 1, 1, 1)}, []any{[]any{map[string]any{"x": int64(1)}}}} {
		_, err := invoke(t, image.CropByBBoxes(), node.Call{}, args(wrong, 0, "pad"))
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%v", wrong)
	}
}
