package dataset_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/dataset"
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

func run(t *testing.T, c *node.Class, args node.Args) (node.Value, error) {
	t.Helper()
	res, err := node.Invocation{Class: c, Inputs: args}.Run(t.Context(), node.Call{NodeID: "1"})
	if err != nil {
		return nil, err
	}
	return res.Outputs[0], nil
}

func must(t *testing.T, c *node.Class, args node.Args) node.Value {
	t.Helper()
	v, err := run(t, c, args)
	require.NoError(t, err)
	return v
}

// pixels returns the bytes of every row of an image.
func pixels(t *testing.T, v node.Value) (rows [][]byte) {
	t.Helper()
	im, ok := v.(*raster.Image)
	require.True(t, ok, "%T", v)
	for f := range im.Frames() {
		for y := range im.Height() {
			rows = append(rows, append([]byte(nil), im.Row8(nil, f, y)...))
		}
	}
	return rows
}

func TestResultsAreThoseOfPillow(t *testing.T) {
	t.Parallel()
	noise := golden(t, "noise")
	for name, got := range map[string]node.Value{
		"shorter":     must(t, dataset.ResizeImagesByShorterEdge(), node.Args{"images": noise, "shorter_edge": int64(30)}),
		"longer":      must(t, dataset.ResizeImagesByLongerEdge(), node.Args{"images": noise, "longer_edge": int64(10)}),
		"random_crop": must(t, dataset.RandomCropImages(), node.Args{"images": noise, "width": int64(8), "height": int64(5), "seed": int64(77)}),
		"grid": must(t, dataset.ImageGrid(), node.Args{
			"images": node.List{noise, noise, noise}, "columns": int64(2), "cell_width": int64(33), "cell_height": int64(34), "padding": int64(3),
		}),
	} {
		require.Equal(t, pixels(t, golden(t, name)), pixels(t, got), name)
	}
}

func TestTheMiddleIsCutOut(t *testing.T) {
	t.Parallel()
	noise := golden(t, "noise") // 23 × 17
	got := must(t, dataset.CenterCropImages(), node.Args{"images": noise, "width": int64(4), "height": int64(100)}).(*raster.Image)
	require.Equal(t, [2]int{4, 17}, [2]int{got.Width(), got.Height()})
	require.Equal(t, noise.Row8(nil, 0, 16)[9*3:13*3], got.Row8(nil, 0, 16))
}

func TestValuesAreAdjusted(t *testing.T) {
	t.Parallel()
	im, err := raster.NewImage(1, 1, 1, 3, []float32{0.25, 0.5, 1})
	require.NoError(t, err)
	for _, c := range []struct {
		class *node.Class
		args  node.Args
		want  []float32
	}{
		{dataset.AdjustBrightness(), node.Args{"factor": 1.5}, []float32{0.375, 0.75, 1}},
		{dataset.AdjustContrast(), node.Args{"factor": 2.0}, []float32{0, 0.5, 1}},
		{dataset.NormalizeImages(), node.Args{"mean": 0.5, "std": 0.25}, []float32{-1, 0, 2}},
	} {
		c.args["images"] = im
		require.Equal(t, c.want, must(t, c.class, c.args).(*raster.Image).Row(nil, 0, 0), c.class.Name)
	}
}

func TestListsOfImages(t *testing.T) {
	t.Parallel()
	var want struct{ Order []int }
	raw, err := os.ReadFile("testdata/choices.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &want))
	batch, err := raster.NewImage(5, 1, 1, 3, []float32{0, 0, 0, .1, .1, .1, .2, .2, .2, .3, .3, .3, .4, .4, .4})
	require.NoError(t, err)
	shuffled := must(t, dataset.ShuffleDataset(), node.Args{"images": batch, "seed": int64(4)}).(node.List)
	for i, from := range want.Order {
		require.Equal(t, batch.Frame(from).Row(nil, 0, 0), shuffled[i].(*raster.Image).Row(nil, 0, 0))
	}
	noise := golden(t, "noise")
	merged := must(t, dataset.MergeImageLists(), node.Args{"images": node.List{batch, noise}}).(node.List)
	require.Len(t, merged, 6, "one image each")
	kept := must(t, dataset.ImageDeduplication(), node.Args{
		"images":               node.List{noise, batch.Frame(1), noise},
		"similarity_threshold": 0.95,
	}).(node.List)
	require.Len(t, kept, 2, "the second noise looks like the first")
	kept = must(t, dataset.ImageDeduplication(), node.Args{
		"images":               node.List{noise, batch.Frame(1)},
		"similarity_threshold": 0.0,
	}).(node.List)
	require.Len(t, kept, 1)
	_, err = run(t, dataset.ImageGrid(), node.Args{
		"images": node.List{}, "columns": int64(1), "cell_width": int64(32),
		"cell_height": int64(32), "padding": int64(0),
	})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

// Each text is returned as a list of one text, as ComfyUI's classes return it.
func TestTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class *node.Class
		text  string
		args  node.Args
		want  string
	}{
		{dataset.TextToLowercase(), "ΑΣ", nil, "ας"},
		{dataset.TextToUppercase(), "straße", nil, "STRASSE"},
		{dataset.TruncateText(), "größe", node.Args{"max_length": int64(3)}, "grö"},
		{dataset.AddTextPrefix(), "b", node.Args{"prefix": "a"}, "ab"},
		{dataset.AddTextSuffix(), "b", node.Args{"suffix": "c"}, "bc"},
		{dataset.ReplaceText(), "aXbX", node.Args{"find": "X", "replace": ""}, "ab"},
		{dataset.ReplaceText(), "ab", node.Args{"find": "", "replace": "-"}, "-a-b-"},
		{dataset.StripWhitespace(), "\x1c\n a ", nil, "a"},
	} {
		args := node.Args{"texts": c.text}
		for name, value := range c.args {
			args[name] = value
		}
		require.Equal(t, []any{c.want}, must(t, c.class, args), c.class.Name)
	}
	require.Equal(t, []any{[]any{"a", "b"}}, must(t, dataset.MergeTextLists(), node.Args{"texts": node.List{"a", "b"}}))
	require.Equal(t, []any{[]any{"a", []any{"b"}}}, must(t, dataset.MergeTextLists(), node.Args{"texts": node.List{"a", []any{"b"}}}))
}

// The order is NumPy's: np.random.seed(4), np.random.permutation(5).
func TestPairsAreShuffledTogether(t *testing.T) {
	t.Parallel()
	values := func(names ...string) (list node.List) {
		for _, name := range names {
			list = append(list, name)
		}
		return list
	}
	for _, c := range []struct {
		class *node.Class
		first string
	}{
		{dataset.ShuffleImageTextDataset(), "images"},
		{dataset.ShuffleVideoTextDataset(), "videos"},
		{dataset.ShuffleVideoDataset(), "videos"},
	} {
		lists := map[string]node.List{c.first: values("A", "B", "C", "D", "E"), "texts": values("a", "b", "c", "d", "e"), "seed": {int64(4)}}
		res, err := c.class.Run(t.Context(), &node.Call{Lists: lists})
		require.NoError(t, err)
		require.Equal(t, values("A", "D", "B", "E", "C"), res.Outputs[0], c.class.Name)
		if len(res.Outputs) == 2 {
			require.Equal(t, values("a", "d", "b", "e", "c"), res.Outputs[1], c.class.Name)
			lists["texts"] = values("a")
			_, err = c.class.Run(t.Context(), &node.Call{Lists: lists})
			require.Equal(t, fault.Invalid, fault.KindOf(err), "a text is missing")
		}
	}
}
