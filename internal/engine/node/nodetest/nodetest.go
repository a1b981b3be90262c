// Package nodetest checks that node classes keep the promises of their port: declarations are sound, results match
// their declaration, inputs do not change, equal calls give equal results, and bad arguments are errors of the right
// kind. The packages of the classes call Conform and test the results of each class themselves.
package nodetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Example is a call of a class whose default arguments are not enough.
type Example map[string]node.Args

// Conform runs every class of the registry. Arguments are the defaults, or small values of each type; examples
// replace those of the named classes.
func Conform(t *testing.T, registry *node.Registry, examples Example) {
	t.Helper()
	for _, class := range registry.Classes() {
		t.Run(class.Name, func(t *testing.T) {
			t.Parallel()
			s := &suite{class: class, registry: registry, example: examples[class.Name]}
			t.Run("declares itself fully", s.declaration)
			t.Run("declares sound inputs", s.inputs)
			t.Run("has a definition", s.definition)
			t.Run("estimates soundly", s.estimates)
			t.Run("keeps its promises when run", s.runs)
			t.Run("refuses what it cannot use", s.refuses)
			t.Run("keeps within its bound of pixels", s.pixels)
		})
	}
}

type suite struct {
	class    *node.Class
	registry *node.Registry
	example  node.Args
}

// nameless is the only class without a display name in ComfyUI.
const nameless = "FluxKontextImageScale"

func (s *suite) declaration(t *testing.T) {
	c := s.class
	if c.Name != nameless {
		require.NotEmpty(t, c.DisplayName, "display name")
	}
	for what, text := range map[string]string{
		"description": c.Description, "category": c.Category, "module": c.Module,
	} {
		require.NotEmpty(t, text, what)
	}
	require.False(t, len(c.Outputs) == 0 && !c.OutputNode, "a class without outputs must be an output node")
	require.Equal(t, len(c.Checked) > 0, c.Check != nil, "Checked names what Check looks at")
	for _, name := range c.Checked {
		_, ok := c.Input(name)
		require.True(t, ok, name)
	}
	for _, out := range c.Outputs {
		require.Equal(t, out.Type == "COMFY_MATCHTYPE_V3", out.MatchTemplate != "", "output %s", out.Name)
		shares := func(in node.Input) bool {
			growing, _ := in.Extra["template"].(node.Autogrow)
			return in.MatchTemplate == out.MatchTemplate || growing.Each.MatchTemplate == out.MatchTemplate
		}
		require.True(t, out.MatchTemplate == "" || slices.ContainsFunc(c.Inputs, shares), "no input has the template of output %s", out.Name)
	}
	lazy := slices.ContainsFunc(c.Inputs, func(in node.Input) bool { return in.Lazy })
	require.False(t, c.LazyNeeds != nil && !lazy, "LazyNeeds without a lazy input")
	if c.LazyNeeds != nil {
		for _, name := range c.LazyNeeds(node.Args{}) {
			in, ok := c.Input(name)
			require.True(t, ok && in.Lazy, name)
		}
	}
}

func (s *suite) inputs(t *testing.T) {
	for _, in := range s.class.Inputs {
		if in.Section == node.Hidden {
			continue
		}
		require.NotEmpty(t, in.Tooltip, in.Name)
		if in.Type == node.Combo {
			require.True(t, len(in.Options) > 0 || in.Folder != "" || slices.Contains(s.class.Checked, in.Name), "%s offers nothing", in.Name)
			require.True(t, in.Default == nil || slices.Contains(in.Options, fmt.Sprint(in.Default)), in.Name)
		}
		for _, value := range []any{in.Default, in.Min, in.Max, in.Step} {
			requireType(t, in, value)
		}
		if low, ok := number(in.Min); ok {
			require.LessOrEqual(t, low, orElse(in.Default, low), in.Name)
		}
		if high, ok := number(in.Max); ok {
			require.GreaterOrEqual(t, high, orElse(in.Default, high), in.Name)
		}
	}
}

// requireType requires that the values of a declaration have the types that Input allows.
func requireType(t *testing.T, in node.Input, value any) {
	t.Helper()
	switch value.(type) {
	case nil:
	case uint64:
		require.Contains(t, []node.Type{node.Int, node.Float}, in.Type, in.Name)
	case int:
		require.Contains(t, []node.Type{node.Int, node.Float}, in.Type, in.Name)
	case float64:
		require.Equal(t, node.Float, in.Type, in.Name)
	case string:
		require.Contains(t, []node.Type{node.String, node.Combo, node.Color}, in.Type, in.Name)
	case bool:
		require.Equal(t, node.Boolean, in.Type, in.Name)
	default:
		require.Contains(t, []node.Type{node.BoundingBox, "CURVE", "COMPOSITOR"}, in.Type, "%s: a %T", in.Name, value)
	}
}

func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func orElse(value any, or float64) float64 {
	if f, ok := number(value); ok {
		return f
	}
	return or
}

func (s *suite) definition(t *testing.T) {
	first, err := s.registry.Definitions(t.Context(), NewFiles(), s.class.Name)
	require.NoError(t, err)
	again, err := s.registry.Definitions(t.Context(), NewFiles(), s.class.Name)
	require.NoError(t, err)
	raw, err := json.Marshal(first)
	require.NoError(t, err)
	rawAgain, err := json.Marshal(again)
	require.NoError(t, err)
	require.Equal(t, string(raw), string(rawAgain))
	var shown map[string]struct {
		Input map[string]map[string]json.RawMessage `json:"input"`
	}
	require.NoError(t, json.Unmarshal(raw, &shown))
	require.Contains(t, shown[s.class.Name].Input, "required")
}

func (s *suite) estimates(t *testing.T) {
	if s.class.Cost != nil {
		last := time.Duration(0)
		for _, pixels := range []int64{0, 1, 1 << 10, 1 << 20, 1 << 26} {
			cost := s.class.Cost(s.constants(t), pixels)
			require.LessOrEqual(t, cost, s.class.Cost(node.Args{}, pixels), "what is not known counts as the worst")
			require.GreaterOrEqual(t, cost, last, "more pixels cost no less")
			last = cost
		}
	}
	if s.class.Pixels != nil {
		require.GreaterOrEqual(t, s.class.Pixels(node.Args{}, 0), int64(0), "without constants")
		require.GreaterOrEqual(t, s.class.Pixels(s.constants(t), 1<<20), int64(0))
	}
}

func (s *suite) constants(t *testing.T) node.Args {
	constants := node.Args{}
	for name, value := range s.args(t) {
		if _, isPicture := value.(io.WriterTo); !isPicture {
			constants[name] = value
		}
	}
	return constants
}

// args returns the arguments of the example, or else defaults and small values.
func (s *suite) args(t *testing.T) node.Args {
	if s.example != nil {
		return s.example
	}
	args := node.Args{}
	for _, in := range s.class.Declared(s.firstChoice) {
		if in.Section != node.Hidden {
			args[in.Name] = sample(t, in)
		}
	}
	return args
}

// firstChoice makes the first choice for each input that chooses a set of inputs.
func (s *suite) firstChoice(name string) (any, bool) {
	inputs := s.class.Inputs
	for part := range strings.SplitSeq(name, ".") {
		i := slices.IndexFunc(inputs, func(in node.Input) bool { return in.Name == part })
		if i < 0 {
			return nil, false
		}
		choices, ok := inputs[i].Extra["options"].(node.Choices)
		if !ok {
			return nil, false
		}
		if part == name || strings.HasSuffix(name, "."+part) {
			return choices[0].Key, true
		}
		inputs = choices[0].Inputs
	}
	return nil, false
}

// sample returns a value for an input: its default, or a small value of its type.
func sample(t *testing.T, in node.Input) node.Value {
	t.Helper()
	switch v := in.Default.(type) {
	case int:
		if in.Type == node.Float {
			return float64(v)
		}
		return int64(v)
	case nil:
	default:
		return v
	}
	switch in.Type {
	case node.Image:
		im, err := raster.NewImage(2, 20, 24, 3, ramp(2*20*24*3))
		require.NoError(t, err)
		return im
	case node.Mask:
		m, err := raster.NewMask(2, 20, 24, ramp(2*20*24))
		require.NoError(t, err)
		return m
	case node.Audio:
		return tone(t)
	case node.Video:
		return &media.Video{File: VideoName}
	case node.Int:
		return int64(1)
	case node.Float:
		return 1.0
	case node.Boolean:
		return true
	case node.DynamicComboType:
		choices, ok := in.Extra["options"].(node.Choices)
		require.True(t, ok, in.Name)
		return choices[0].Key
	case node.Combo:
		switch {
		case in.Extra["audio_upload"] == true:
			return SoundName
		case in.Extra["video_upload"] == true:
			return VideoName
		case in.Folder != "":
			return PictureName
		}
		return in.Options[0]
	case node.Layers:
		im, err := raster.NewImage(2, 20, 24, 4, ramp(2*20*24*4))
		require.NoError(t, err)
		return &layers.Stack{Layers: []layers.Layer{{Image: im, X: 3, Rotation: 0.5, Opacity: 0.75, Mode: "screen"}}}
	case "BOUNDING_BOX,ARRAY,STRING":
		return []any{map[string]any{"x": int64(1), "y": int64(2), "width": int64(5), "height": int64(6)}}
	case node.BoundingBox:
		return map[string]any{"x": int64(1), "y": int64(2), "width": int64(5), "height": int64(6)}
	default:
		return "text"
	}
}

// tone returns half a second of stereo.
func tone(t *testing.T) *media.Sound {
	t.Helper()
	s, err := media.NewSound(8000, [][]float32{ramp(4000), ramp(4000)})
	require.NoError(t, err)
	return s
}

func ramp(n int) []float32 {
	pix := make([]float32, n)
	for i := range pix {
		pix[i] = float32(i%97) / 96
	}
	return pix
}

func (s *suite) invoke(t *testing.T, ctx context.Context, args node.Args, maxPixels int64) (node.Result, error) { // t first, as everywhere
	t.Helper()
	return node.Invocation{Class: s.class, Inputs: args}.Run(ctx, node.Call{
		NodeID: "7", Prompt: json.RawMessage(`{"7":{}}`), SubmittedAt: time.Unix(1_700_000_000, 0).UTC(),
		MaxPixels: maxPixels, Files: NewFiles(), Live: quiet{},
	})
}

func (s *suite) runs(t *testing.T) {
	args := s.args(t)
	before := contents(t, args)
	res, err := s.invoke(t, t.Context(), args, 0)
	require.NoError(t, err)
	require.Equal(t, before, contents(t, args), "arguments are not changed")
	if len(res.Calls) > 0 {
		s.expands(t, args, res)
		return
	}
	for i, out := range s.class.Outputs {
		requireOutput(t, out, res.Outputs[i])
	}
	again, err := s.invoke(t, t.Context(), args, 0)
	require.NoError(t, err)
	require.Equal(t, content(t, node.List(res.Outputs)), content(t, node.List(again.Outputs)), "the same result twice")
	require.Equal(t, res.UI, again.UI)
	_, err = json.Marshal(res.UI)
	require.NoError(t, err, "what is shown is JSON")
	require.True(t, s.class.OutputNode || s.class.Intermediate || len(res.UI) == 0, "only output nodes show something")
}

// expands checks the form of a result with expansions: every link leads to an existing node, and the same arguments
// give the same graph.
func (s *suite) expands(t *testing.T, args node.Args, res node.Result) {
	t.Helper()
	for _, call := range res.Calls {
		require.Len(t, call.Outputs, len(s.class.Outputs))
		links := slices.Clone(call.Outputs)
		for _, n := range call.Expand.Nodes {
			require.NotEmpty(t, n.Class)
			links = slices.AppendSeq(links, maps.Values(n.Inputs))
		}
		for _, value := range links {
			if from, ok := value.(node.From); ok {
				require.Positive(t, from.Node)
				require.LessOrEqual(t, from.Node, len(call.Expand.Nodes))
			}
		}
	}
	again, err := s.invoke(t, t.Context(), args, 0)
	require.NoError(t, err)
	require.Equal(t, res, again, "the same graph twice")
}

// requireOutput requires that a value has its declared type and can be stored.
func requireOutput(t *testing.T, out node.Output, value node.Value) {
	t.Helper()
	require.NoError(t, node.EncodeValue(io.Discard, value))
	if list, ok := value.(node.List); ok {
		require.True(t, out.IsList)
		for _, element := range list {
			requireOutput(t, node.Output{Type: out.Type}, element)
		}
		return
	}
	want := map[node.Type]node.Value{
		node.Image: &raster.Image{}, node.Mask: &raster.Mask{}, node.Int: int64(0), node.Float: 0.0,
		node.Audio: &media.Sound{}, node.Video: &media.Video{},
		node.String: "", node.Boolean: false, node.BoundingBox: map[string]any{}, node.Layers: &layers.Stack{},
	}[out.Type]
	if want != nil {
		if _, wrapped := value.([]any); wrapped && out.Type == node.String {
			return // ComfyUI's classes of datasets return lists of texts
		}
		require.IsType(t, want, value)
	}
}

// pixels requires that no result is larger than planning expects, and that a result larger than every argument is
// refused if the bound of the call is smaller. Planning may count one frame where the arguments have two.
func (s *suite) pixels(t *testing.T) {
	args := s.args(t)
	res, err := s.invoke(t, t.Context(), args, 0)
	require.NoError(t, err)
	largest := int64(0)
	for _, v := range args {
		largest = max(largest, pixelsOf(v))
	}
	expected := largest
	if s.class.Pixels != nil {
		expected = s.class.Pixels(s.constants(t), largest)
	}
	_, bounded := s.invoke(t, t.Context(), args, 1)
	for _, v := range res.Outputs {
		if n := pixelsOf(v); largest > 0 || s.class.Pixels != nil {
			require.LessOrEqual(t, n, max(2*expected, 64*64), "planning expects fewer pixels")
		}
		if pixelsOf(v) > largest {
			require.Equal(t, fault.Exhausted, fault.KindOf(bounded), "a result that is larger than every argument is bounded")
		}
	}
}

func pixelsOf(v node.Value) int64 {
	if p, ok := v.(interface{ Pixels() int64 }); ok {
		return p.Pixels()
	}
	return 0
}

func (s *suite) refuses(t *testing.T) {
	_, err := s.invoke(t, t.Context(), node.Args{}, 0)
	s.requireRefusal(t, err, "no arguments")
	good := s.args(t)
	wrong := []node.Value{
		struct{}{},
		nil, "text", int64(math.MinInt64), int64(math.MaxInt64), -1e300, 1e300, 0.0, true,
		node.List{},
		[]any{},
		map[string]any{},
	}
	for name := range good {
		for _, value := range wrong {
			args := make(node.Args, len(good))
			for n, v := range good {
				args[n] = v
			}
			args[name] = value
			_, err := s.invoke(t, t.Context(), args, 1<<20)
			s.requireRefusal(t, err, "%s = %#v", name, value)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.invoke(t, ctx, good, 0); err != nil {
		require.Equal(t, fault.Canceled, fault.KindOf(err), "a canceled call: %v", err)
	}
}

// requireRefusal accepts success, since some classes take any argument, and errors that blame the arguments.
func (s *suite) requireRefusal(t *testing.T, err error, format string, args ...any) {
	t.Helper()
	if err != nil {
		kinds := []fault.Kind{fault.Invalid, fault.NotFound, fault.Exhausted}
		require.Contains(t, kinds, fault.KindOf(err), fmt.Sprintf(format, args...)+": "+err.Error())
	}
}

func contents(t *testing.T, args node.Args) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, value := range args {
		out[name] = content(t, value)
	}
	return out
}

// content returns a value in a form that can be compared.
func content(t *testing.T, value node.Value) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, node.EncodeValue(&b, value))
	return b.String()
}

type quiet struct{}

func (quiet) Progress(int, int)      {}
func (quiet) Preview(string, []byte) {}
func (quiet) Picture(string, []byte) {}
func (quiet) Text(string)            {}
