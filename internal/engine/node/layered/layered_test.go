package layered_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/layered"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/engine/raster/rastertest"
	"github.com/millrace-dev/millrace/internal/fault"
)

// near is the most that a value may differ from ComfyUI's, which computes powers in 32 bits. The golden values come
// from NumPy without AVX-512; with AVX-512, NumPy's results differ by up to 4e-6 from these.
const near = 2e-7

func picture(t *testing.T, name string) *raster.Image {
	t.Helper()
	a := rastertest.Load(t, "testdata/"+name+".npy")
	im, err := raster.NewImage(a.Shape[0], a.Shape[1], a.Shape[2], a.Shape[3], a.Floats)
	require.NoError(t, err)
	return im
}

func mask(t *testing.T, name string) *raster.Mask {
	t.Helper()
	a := rastertest.Load(t, "testdata/"+name+".npy")
	m, err := raster.NewMask(a.Shape[0], a.Shape[1], a.Shape[2], a.Floats)
	require.NoError(t, err)
	return m
}

func run(t *testing.T, class *node.Class, args node.Args) (node.Result, error) {
	t.Helper()
	return node.Invocation{Class: class, Inputs: args}.Run(t.Context(), node.Call{NodeID: "1", Files: nodetest.NewFiles()})
}

// golden is a composition and ComfyUI's result: its UI output, and the picture in a file of its own.
type golden struct {
	Name       string           `json:"name"`
	Layers     []map[string]any `json:"layers"`
	Compositor any              `json:"compositor"`
	Inputs     []any            `json:"inputs"`
	Boxes      json.RawMessage  `json:"bboxes"`
	Stale      bool             `json:"stale"`
}

func goldens(t *testing.T) []golden {
	t.Helper()
	raw, err := os.ReadFile("testdata/cases.json")
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var all []golden
	require.NoError(t, d.Decode(&all))
	return all
}

// stack runs the classes that make the layers of a case.
func (g golden) stack(t *testing.T) node.Value {
	t.Helper()
	var stack node.Value
	for _, layer := range g.Layers {
		class := layered.AddLayer()
		args := node.Args{}
		for name, value := range layer {
			switch text, _ := value.(string); name {
			case "from":
				class = layered.LayersFromBoundingBoxes()
			case "image":
				args[name] = picture(t, "image_"+text)
			case "mask":
				args[name] = mask(t, "mask_"+text)
			default:
				args[name] = node.PlainJSON(value)
			}
		}
		if stack != nil {
			args["layers"] = stack
		}
		res, err := run(t, class, args)
		require.NoError(t, err, g.Name)
		stack = stored(t, res.Outputs[0])
	}
	return stack
}

// stored returns a value as the next node reads it.
func stored(t *testing.T, value node.Value) node.Value {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, node.EncodeValue(&b, value))
	back, err := node.DecodeValue(&b, 1<<20)
	require.NoError(t, err)
	require.Equal(t, value, back)
	return back
}

func TestLayersAreComposedAsComfyUIDoes(t *testing.T) {
	t.Parallel()
	modes, mode := picture(t, "modes"), 0
	for _, g := range goldens(t) {
		var want *raster.Image
		if strings.HasPrefix(g.Name, "mode_") {
			want, mode = modes.Frame(mode), mode+1
		} else {
			want = picture(t, g.Name)
		}
		res, err := run(t, layered.ImageCompositor(), node.Args{"layers": g.stack(t), "compositor": node.PlainJSON(g.Compositor)})
		require.NoError(t, err, g.Name)
		requireSame(t, g.Name, want, res)
		require.Equal(t, g.Inputs, res.UI["compositor_inputs"], "%s: what the editor knows the layers by", g.Name)
		places, err := json.Marshal(res.UI["compositor_bboxes"])
		require.NoError(t, err)
		require.JSONEq(t, string(g.Boxes), string(places), g.Name)
		require.Equal(t, g.Stale, res.UI["compositor_state_stale"] != nil, "%s: whether the composition is of other layers", g.Name)
		require.Len(t, res.UI["compositor_layers"], len(g.Inputs))
		require.Len(t, res.UI["images"], 1)
	}
	require.Equal(t, len(layers.Modes()), mode, "every mode has a picture")
}

// requireSame compares the values and their 8-bit form, and the mask with the alpha.
func requireSame(t *testing.T, name string, want *raster.Image, res node.Result) {
	t.Helper()
	got, hidden := res.Outputs[0].(*raster.Image), res.Outputs[1].(*raster.Mask)
	require.Equal(t, []int{1, want.Height(), want.Width(), want.Channels()}, []int{got.Frames(), got.Height(), got.Width(), got.Channels()},
		name)
	for y := range want.Height() {
		a, b := want.Row(nil, 0, y), got.Row(nil, 0, y)
		require.InDeltaSlice(t, a, b, near, "%s: row %d", name, y)
		require.Equal(t, want.Row8(nil, 0, y), got.Row8(nil, 0, y), "%s: row %d of a saved file", name, y)
		for x := range want.Width() {
			alpha := float32(1)
			if want.Channels() == 4 {
				alpha = want.At(0, y, x, 3)
			}
			require.InDelta(t, 1-alpha, hidden.At(0, y, x, 0), near, name)
		}
	}
}

func layer(t *testing.T, more node.Args) (node.Result, error) {
	t.Helper()
	args := node.Args{"image": picture(t, "image_ground")}
	for name, value := range more {
		args[name] = value
	}
	return run(t, layered.AddLayer(), args)
}

func TestALayerIsRefusedForWhatCannotBeShown(t *testing.T) {
	t.Parallel()
	for _, args := range []node.Args{
		{"blend_mode": "dissolve"}, {"opacity": math.NaN()}, {"rotation": math.Inf(1)}, {"layers": "text"}, {"mask": raster.EmptyMask(1, 0, 4)},
	} {
		_, err := layer(t, args)
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%v", args)
	}
}

func TestCompositionsAreBounded(t *testing.T) {
	t.Parallel()
	compose := func(stack node.Value, compositor node.Value) error {
		_, err := run(t, layered.ImageCompositor(), node.Args{"layers": stack, "compositor": compositor})
		return err
	}
	far, err := layer(t, node.Args{"x": int64(layers.MaxSide)})
	require.NoError(t, err)
	require.Equal(t, fault.CodePixelLimit, fault.CodeOf(compose(far.Outputs[0], nil)), "a canvas that is too wide")
	large, err := layer(t, node.Args{"x": int64(16000), "y": int64(16000)})
	require.NoError(t, err)
	require.Equal(t, fault.Exhausted, fault.KindOf(compose(large.Outputs[0], nil)), "more pixels than a value may have")

	var stack node.Value
	for range layers.MaxLayers + 1 {
		more := node.Args{}
		if stack != nil {
			more["layers"] = stack
		}
		res, err := layer(t, more)
		require.NoError(t, err)
		stack = res.Outputs[0]
	}
	require.Equal(t, fault.CodeListTooLong, fault.CodeOf(compose(stack, nil)), "one layer too many")

	one, err := layer(t, nil)
	require.NoError(t, err)
	require.Equal(t, fault.Invalid, fault.KindOf(compose(one.Outputs[0], `{"layers":"`+strings.Repeat("x", 1<<20)+`"}`)),
		"a text that is too long")
	grey, err := raster.NewImage(1, 2, 2, 1, make([]float32, 4))
	require.NoError(t, err)
	plain, err := layer(t, node.Args{"image": grey})
	require.NoError(t, err)
	require.Equal(t, fault.Invalid, fault.KindOf(compose(plain.Outputs[0], nil)), "a picture without colours")

	_, err = node.Invocation{Class: layered.AddLayer(), Inputs: node.Args{"image": picture(t, "image_ground"), "layers": stack}}.
		Run(t.Context(), node.Call{NodeID: "1", MaxPixels: 1000})
	require.Equal(t, fault.Exhausted, fault.KindOf(err), "more pixels in all than a value may have")
}

func TestMalformedBoxesAreRefused(t *testing.T) {
	t.Parallel()
	element := map[string]any{"bbox": []any{int64(1), int64(2), int64(3), int64(4)}}
	for _, wrong := range []node.Value{
		"no JSON", `{"x":1} 2`, `{"x":1}`, `[1]`, int64(3),
		[]any{"text"},
		map[string]any{"x": int64(1)},
		element,
		[]any{map[string]any{"x": 1e300, "y": 0.0, "width": 0.0, "height": 0.0}},
		[]any{map[string]any{"x": 0.0, "y": 0.0, "width": 0.0, "height": 0.0, "metadata": map[string]any{"z_index": math.NaN()}}},
		strings.Repeat(" ", 1) + `"` + strings.Repeat("x", 1<<20) + `"`,
	} {
		_, err := run(t, layered.LayersFromBoundingBoxes(), node.Args{"image": picture(t, "image_pair"), "bboxes": wrong})
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%.40v", wrong)
	}
	args := node.Args{
		"image": picture(t, "image_pair"), "bboxes": []any{element, map[string]any{"bbox": []any{"x", "y", "z", "w"}}},
		"canvas_width": int64(9), "canvas_height": int64(9),
	}
	_, err := run(t, layered.LayersFromBoundingBoxes(), args)
	require.Equal(t, fault.Invalid, fault.KindOf(err), "an element without numbers")
	args["bboxes"], args["canvas_width"] = " ", int64(layers.MaxSide+1)
	_, err = run(t, layered.LayersFromBoundingBoxes(), args)
	require.Equal(t, fault.CodePixelLimit, fault.CodeOf(err), "a canvas that is too wide")
}

func TestLayersWithoutBoxesStackAtTheCorner(t *testing.T) {
	t.Parallel()
	before, err := layer(t, node.Args{"z_index": int64(-7)})
	require.NoError(t, err)
	res, err := run(t, layered.LayersFromBoundingBoxes(),
		node.Args{"image": picture(t, "image_pair"), "bboxes": " ", "layers": before.Outputs[0]})
	require.NoError(t, err)
	stack := res.Outputs[0].(*layers.Stack)
	require.Len(t, stack.Layers, 3)
	for i, l := range stack.Layers {
		require.Equal(t, []int{0, 0, 0, 0, i - 7}, []int{l.X, l.Y, l.Width, l.Height, l.Z})
	}
}

// FuzzSavedComposition checks that, for any text that an editor saved, the class makes a picture or refuses the
// input.
func FuzzSavedComposition(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"version":1,"canvas":{"w":9,"h":"7"},"layers":[{"opacity":0.5,"blend":"hue","transform":{"w":4,"rotation":1e300}}],` +
			`"inputs":["?"],"order":[0],"background":{"color":"#12f"}}`,
		`{"canvas":{"w":1e9,"h":1},"layers":[null],"inputs":["?"]}`, `[[[[`, `{"canvas":{"w":NaN}}`,
		`{"canvas":{"w":3,"h":3},"layers":[{"transform":{"x":-1e308,"y":1e308,"w":1e-9,"h":-0.0,"rotation":-3.1}}],"inputs":["?"],` +
			`"background":{"color":"#é1"}}`,
	} {
		f.Add(seed)
	}
	pix := []float32{0, 0.5, 1, 0.25, 1, 0, 0.5, 1}
	im, err := raster.NewImage(1, 1, 2, 4, pix)
	require.NoError(f, err)
	stack := &layers.Stack{Layers: []layers.Layer{{Image: im, Opacity: 1, Mode: "normal"}}}
	compose := func(t *testing.T, compositor string) (node.Result, error) {
		t.Helper()
		return node.Invocation{Class: layered.ImageCompositor(), Inputs: node.Args{"layers": stack, "compositor": compositor}}.
			Run(t.Context(), node.Call{NodeID: "1", MaxPixels: 1 << 12, Files: nodetest.NewFiles()})
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain, err := compose(t, "")
		require.NoError(t, err)
		own, _ := plain.UI["compositor_inputs"][0].(string)
		res, err := compose(t, strings.ReplaceAll(text, "?", own))
		if err != nil {
			require.Contains(t, []fault.Kind{fault.Invalid, fault.Exhausted}, fault.KindOf(err))
			return
		}
		for _, v := range res.Outputs[0].(*raster.Image).Row(nil, 0, 0) {
			require.True(t, v >= 0 && v <= 1, "a value of %g", v)
		}
	})
}

// FuzzBoxes checks that any text of boxes gives a layer for each image or is refused, and that no layer loses its
// pixels.
func FuzzBoxes(f *testing.F) {
	for _, seed := range []string{
		``, `[]`, `{"x":1,"y":2,"width":3,"height":4,"metadata":{"content_rect":[1,0,9,9],"name":"a","z_index":3}}`,
		`[[{"x":-1,"y":1e30,"width":3,"height":4}]]`, `[{"bbox":[0,"1",1000,null]}]`, `"[{\"bbox\":[900,500,100,0]}]"`,
		`[{"x":0,"y":0,"width":0,"height":0,"metadata":{"content_rect":[-5,-5,1e18,2]}},3]`, `[[[[`,
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	im, err := raster.NewImage8(2, 2, 3, 3, make([]uint8, 36))
	require.NoError(f, err)
	m, err := raster.NewMask(1, 1, 2, []float32{0, 1})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string, canvas bool) {
		args := node.Args{"image": im, "mask": m, "bboxes": text}
		if canvas {
			args["canvas_width"], args["canvas_height"] = int64(layers.MaxSide), int64(layers.MaxSide)
		}
		res, err := run(t, layered.LayersFromBoundingBoxes(), args)
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		stack := res.Outputs[0].(*layers.Stack)
		require.Len(t, stack.Layers, 2)
		for _, l := range stack.Layers {
			require.Positive(t, l.Image.Pixels()*l.Mask.Pixels())
			require.True(t, l.Width >= 0 && l.Height >= 0)
		}
	})
}
