package standard_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// TestArgumentsOfOtherTypesFailAsInComfyUI compares with the exceptions of ComfyUI's classes (testdata/make_misuse.py).
func TestArgumentsOfOtherTypesFailAsInComfyUI(t *testing.T) {
	t.Parallel()
	classes, err := standard.Registry(&ffmpeg.Tool{})
	require.NoError(t, err)
	raw, err := os.ReadFile("testdata/misuse.json")
	require.NoError(t, err)
	var inputs map[string]map[string]string
	require.NoError(t, json.Unmarshal(raw, &inputs))
	for input, raised := range inputs {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			name, argument, _ := strings.Cut(input, ".")
			class, ok := classes.Lookup(name)
			require.True(t, ok)
			for kind, want := range raised {
				args := arguments(t, class)
				args[argument] = misused(t, kind)
				_, err := node.Invocation{Class: class, Inputs: args}.Run(t.Context(), node.Call{
					NodeID: "7", Prompt: json.RawMessage(`{}`), SubmittedAt: time.Unix(1_700_000_000, 0), Files: nodetest.NewFiles(),
				})
				var refusal *fault.Error
				require.True(t, errors.As(err, &refusal), "%s: %v", kind, err)
				sentence, _, _ := strings.Cut(refusal.Message, "\n")
				require.Equal(t, want, refusal.Exception+": "+sentence, kind)
			}
		})
	}
}

// written counts how often it is written as text.
type written struct{ times *atomic.Int32 }

func (w written) String() string {
	w.times.Add(1)
	return "written"
}

// The text of a large value costs as much as the value.
func TestAValueIsWrittenOnlyForASentenceThatHasIt(t *testing.T) {
	t.Parallel()
	classes, err := standard.Registry(&ffmpeg.Tool{})
	require.NoError(t, err)
	class, _ := classes.Lookup("ImageInvert")
	value := written{&atomic.Int32{}}
	_, err = node.Invocation{Class: class, Inputs: node.Args{"image": []any{value}}}.Run(t.Context(), node.Call{Files: nodetest.NewFiles()})
	var refusal *fault.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "TypeError", refusal.Exception)
	require.Zero(t, value.times.Load())
}

// The exceptions are those of ComfyUI 0.26 for the same prompts.
func TestResultsWithoutPixelsFailAsInComfyUI(t *testing.T) {
	t.Parallel()
	classes, err := standard.Registry(&ffmpeg.Tool{})
	require.NoError(t, err)
	scaled := "RuntimeError: Input and output sizes should be greater than 0, but got input (H: 64, W: 64) output (H: 0, W: 0)"
	empty := "ValueError: height and width must be > 0"
	for _, c := range []struct {
		class string
		args  node.Args
		want  string
	}{
		{"ImageScaleToMaxDimension", node.Args{"largest_size": int64(0), "upscale_method": "bilinear"}, scaled},
		{"ImageScaleToMaxDimension", node.Args{"largest_size": int64(0), "upscale_method": "lanczos"}, empty},
		{"ResizeImagesByLongerEdge", node.Args{"longer_edge": int64(0)}, empty},
		{"ImageGrid", node.Args{"columns": int64(-3), "cell_width": int64(57)}, "ValueError: Width and height must be >= 0"},
		{"ImageGrid", node.Args{"columns": int64(0)}, "ZeroDivisionError: integer division or modulo by zero"},
		{"ImageGrid", node.Args{"columns": int64(1), "cell_width": int64(0)}, empty},
		{"MaskComposite", node.Args{"x": int64(70), "operation": "add"}, "RuntimeError: The size of tensor a (0) must match the size of " +
			"tensor b (58) at non-singleton dimension 2"},
		{"MaskComposite", node.Args{"y": int64(73), "operation": "and"}, "RuntimeError: The size of tensor a (0) must match the size of " +
			"tensor b (55) at non-singleton dimension 1"},
		{"Canny", node.Args{"image": row(t)}, "RuntimeError: Argument #6: Padding size should be less than the corresponding input " +
			"dimension, but got: padding (2, 2) at dimension 2 of input [2, 1, 1, 44]"},
	} {
		class, ok := classes.Lookup(c.class)
		require.True(t, ok)
		args := arguments(t, class)
		maps.Copy(args, c.args)
		_, err := node.Invocation{Class: class, Inputs: args}.Run(t.Context(), node.Call{Files: nodetest.NewFiles()})
		var refusal *fault.Error
		require.True(t, errors.As(err, &refusal), "%s: %v", c.class, err)
		sentence, _, _ := strings.Cut(refusal.Message, "\n")
		require.Equal(t, c.want, refusal.Exception+": "+sentence, c.class)
	}
}

// row is a batch of two images of one row.
func row(t *testing.T) *raster.Image {
	t.Helper()
	im, err := raster.NewImage(2, 1, 44, 3, make([]float32, 2*44*3))
	require.NoError(t, err)
	return im
}

// misused returns a value by the name of its type.
func misused(t *testing.T, kind string) node.Value {
	t.Helper()
	return map[string]node.Value{
		"bool": true, "int": int64(13), "float": 2.5, "str": "text", "dict": map[string]any{"x": int64(1)}, "list": []any{"a", "b"},
		"empty str": "", "empty dict": map[string]any{}, "empty list": []any{},
		"IMAGE": tile(t), "AUDIO": sound(t), "MASK": shade(t), "VIDEO": &media.Video{Frames: tile(t)},
	}[kind]
}

func shade(t *testing.T) *raster.Mask {
	t.Helper()
	m, err := raster.NewMask(1, 64, 64, make([]float32, 64*64))
	require.NoError(t, err)
	return m
}

func sound(t *testing.T) *media.Sound {
	t.Helper()
	s, err := media.NewSound(8000, [][]float32{make([]float32, 4000), make([]float32, 4000)})
	require.NoError(t, err)
	return s
}

// arguments returns a value of the right type for each input.
func arguments(t *testing.T, class *node.Class) node.Args {
	t.Helper()
	mask, err := raster.NewMask(1, 64, 64, make([]float32, 64*64))
	require.NoError(t, err)
	args := node.Args{}
	for _, in := range class.Inputs {
		value, ok := map[node.Type]node.Value{
			node.Image: tile(t), node.Mask: mask, node.Audio: sound(t), node.Video: &media.Video{File: nodetest.VideoName}, node.String: "text",
			node.Int: int64(1), node.Float: 1.0, node.Boolean: true,
		}[in.Type]
		switch def := in.Default.(type) {
		case int:
			value = int64(def)
		case nil:
		default:
			value, ok = def, true
		}
		if len(in.Options) > 0 && in.Default == nil {
			value, ok = in.Options[0], true
		}
		if ok && in.Section != node.Hidden {
			args[in.Name] = value
		}
	}
	args["resize_type"], args["scale_method"] = "scale by multiplier", "area"
	args["format"] = map[bool]string{true: "flac", false: "png"}[class.Name == "SaveAudioAdvanced"]
	args["images.image0"], args["masks.mask0"] = tile(t), mask
	return args
}
