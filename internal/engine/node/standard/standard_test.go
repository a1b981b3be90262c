package standard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

func TestEveryFamilyIsListed(t *testing.T) {
	t.Parallel()
	classes, err := standard.Registry(nil)
	require.NoError(t, err)
	for _, name := range []string{"LoadImage", "InvertMask", "StringConcatenate", "ComfySwitchNode"} {
		_, ok := classes.Lookup(name)
		require.True(t, ok, name)
	}
}

func TestClassesConform(t *testing.T) {
	t.Parallel()
	classes, err := standard.Registry(nil)
	require.NoError(t, err)
	nodetest.Conform(t, classes, nodetest.Example{
		"CustomCombo":        {"choice": "any", "index": int64(2)},
		"CurveEditor":        {"curve": map[string]any{"points": []any{[]any{0.0, 0.0}, []any{1.0, 1.0}}}, "histogram": []any{int64(1)}},
		"ImageMergeTileList": {"image_list": tile(t), "final_width": int64(100), "final_height": int64(70), "overlap": int64(8)},
		"CropByBBoxes": {
			"image": tile(t), "bboxes": map[string]any{"x": int64(1), "y": int64(1), "width": int64(5), "height": int64(4)},
			"output_width": int64(64), "output_height": int64(72), "padding": int64(1), "keep_aspect": "pad",
		},
		"ResizeImageMaskNode": {"input": tile(t), "resize_type": "scale by multiplier", "resize_type.multiplier": 0.5, "scale_method": "area"},
		"ComfyNotNode":        {"value": true},
		"ComfyAndNode":        {"values.value0": int64(1)},
		"ComfyOrNode":         {"values.value0": int64(1)},
		"StringFormat":        {"f_string": "{a}", "values.a": int64(1)},
		"ComfyNumberConvert":  {"value": " 3.5 "},
		"ComfyMathExpression": {"expression": "a + b", "values.a": int64(1), "values.b": 0.5},
	})
}

// tile is an image of the smallest size that classes of tiles take.
func tile(t *testing.T) *raster.Image {
	t.Helper()
	im, err := raster.NewImage(1, 64, 64, 3, make([]float32, 64*64*3))
	require.NoError(t, err)
	return im
}

func TestReferencesNameClassesThatExist(t *testing.T) {
	t.Parallel()
	classes, err := standard.Registry(&ffmpeg.Tool{})
	require.NoError(t, err)
	for _, name := range standard.Referenced() {
		_, ok := classes.Lookup(name)
		require.True(t, ok, name)
	}
	require.Equal(t, standard.Pillow, standard.ReferenceOf("ImageQuantize"))
	require.Equal(t, standard.Exact, standard.ReferenceOf("ImageFlip"))
}

// A result of a node without a cost is not looked for in the database, as one that has files must be.
func TestClassesThatSaveFilesHaveACost(t *testing.T) {
	t.Parallel()
	classes, err := standard.Registry(&ffmpeg.Tool{})
	require.NoError(t, err)
	var negligible []string
	for _, class := range classes.Classes() {
		if class.OutputNode && class.Cost == nil {
			negligible = append(negligible, class.Name)
		}
	}
	require.Equal(t, []string{"PreviewAny"}, negligible, "it shows a text and saves nothing")
}
