package logic_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/logic"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

func class(t *testing.T, name string) *node.Class {
	t.Helper()
	r, err := node.NewRegistry(logic.Classes()...)
	require.NoError(t, err)
	c, ok := r.Lookup(name)
	require.True(t, ok, name)
	return c
}

func run(t *testing.T, name string, args node.Args) (node.Result, error) {
	t.Helper()
	return node.Invocation{Class: class(t, name), Inputs: args}.Run(t.Context(), node.Call{NodeID: "1"})
}

// value reads a literal as Python writes it: a float has a point or an exponent.
func value(t *testing.T, raw json.RawMessage) node.Value {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(raw, &v))
	if _, isNumber := v.(float64); isNumber && !strings.ContainsAny(string(raw), ".e") {
		var i int64
		require.NoError(t, json.Unmarshal(raw, &i))
		return i
	}
	return v
}

func TestClassesDoWhatPythonDoes(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var cases []struct {
		Class string
		Args  map[string]json.RawMessage
		Want  []string
		Fails bool
	}
	require.NoError(t, json.Unmarshal(raw, &cases))
	require.Greater(t, len(cases), 300)
	for _, c := range cases {
		args := node.Args{}
		for name, raw := range c.Args {
			args[name] = value(t, raw)
		}
		res, err := run(t, c.Class, args)
		if c.Fails {
			require.Equal(t, fault.Invalid, fault.KindOf(err), "%s %s: %v", c.Class, c.Args, err)
			continue
		}
		require.NoError(t, err, "%s %s", c.Class, c.Args)
		var got []string
		for _, out := range res.Outputs {
			got = append(got, python.Repr(out))
		}
		require.Equal(t, c.Want, got, "%s %s", c.Class, c.Args)
	}
}

func TestPrimitivesPassTheirValue(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]node.Value{"PrimitiveInt": int64(5), "PrimitiveFloat": 0.5, "PrimitiveBoolean": true} {
		res, err := run(t, name, node.Args{"value": v})
		require.NoError(t, err)
		require.Equal(t, []node.Value{v}, res.Outputs)
		res, err = run(t, name, node.Args{"value": "text"})
		require.NoError(t, err)
		require.Equal(t, []node.Value{"text"}, res.Outputs)
		_, err = run(t, name, nil)
		require.Equal(t, fault.Invalid, fault.KindOf(err))
	}
}

// A switch passes values of any type on; what ComfyUI computes with them was run there.
func TestArgumentsOfOtherTypesAreUsedAsPythonDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class string
		args  node.Args
		want  node.Value
	}{
		{"PrimitiveBoundingBox", node.Args{"x": 2.5, "y": true, "width": "text", "height": 3.0}, map[string]any{
			"x": 2.5, "y": true, "width": "text", "height": int64(3),
		}},
		{"ComfySwitchNode", node.Args{"switch": "text", "on_true": "x", "on_false": "y"}, "x"},
		{"ComfySwitchNode", node.Args{"switch": int64(0), "on_true": "x", "on_false": "y"}, "y"},
		{"ResolutionSelector", node.Args{"aspect_ratio": "1:1 (Square)", "megapixels": 1.0, "multiple": true}, int64(1024)},
	} {
		res, err := run(t, c.class, c.args)
		require.NoError(t, err, c.class)
		require.Equal(t, c.want, res.Outputs[0], c.class)
	}
}

func TestSwitchPassesTheChosenValue(t *testing.T) {
	t.Parallel()
	c := class(t, "ComfySwitchNode")
	for on, want := range map[bool]string{true: "on_true", false: "on_false"} {
		lazy := node.Invocation{Class: c, Inputs: node.Args{"switch": on}, Lazy: []string{"on_false", "on_true"}}
		require.Equal(t, []string{want}, lazy.Needs())
		res, err := run(t, "ComfySwitchNode", node.Args{"switch": on, want: "x"})
		require.NoError(t, err)
		require.Equal(t, []node.Value{"x"}, res.Outputs)
	}
	_, err := run(t, "ComfySwitchNode", node.Args{"switch": true, "on_false": "x"})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	_, err = run(t, "ComfySwitchNode", node.Args{"on_false": "x"})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

func TestConditionsGoByPythonsTruth(t *testing.T) {
	t.Parallel()
	im, err := raster.NewImage8(1, 1, 1, 3, []byte{1, 2, 3})
	require.NoError(t, err)
	sound, err := media.Silence(8000, 1, 10)
	require.NoError(t, err)
	holds := []node.Value{true, int64(-1), 0.1, math.NaN(), "False", []any{nil}, map[string]any{"a": nil}, sound}
	fails := []node.Value{nil, false, int64(0), 0.0, math.Copysign(0, -1), "", []any{}, map[string]any{}}
	for want, values := range map[bool][]node.Value{false: holds, true: fails} {
		for _, v := range values {
			res, err := run(t, "ComfyNotNode", node.Args{"value": v})
			require.NoError(t, err)
			require.Equal(t, []node.Value{want}, res.Outputs, "%T %v", v, v)
		}
	}
	for _, c := range []struct {
		values  []node.Value
		all, or bool
	}{
		{[]node.Value{true}, true, true},
		{[]node.Value{""}, false, false},
		{[]node.Value{int64(1), "x", true}, true, true},
		{[]node.Value{int64(1), "", true}, false, true},
		{[]node.Value{false, nil, int64(0)}, false, false},
	} {
		args := node.Args{}
		for i, v := range c.values {
			args["values.value"+strconv.Itoa(i)] = v
		}
		for class, want := range map[string]bool{"ComfyAndNode": c.all, "ComfyOrNode": c.or} {
			res, err := run(t, class, args)
			require.NoError(t, err)
			require.Equal(t, []node.Value{want}, res.Outputs, "%s %v", class, c.values)
		}
	}
	for class, args := range map[string]node.Args{
		"ComfyNotNode": {"value": im}, "ComfyAndNode": {"values.value0": true, "values.value1": im}, "ComfyOrNode": {"values.value0": im},
	} {
		_, err := run(t, class, args)
		require.Equal(t, fault.Invalid, fault.KindOf(err), class)
	}
	res, err := run(t, "ComfyOrNode", node.Args{"values.value0": true, "values.value1": im})
	require.NoError(t, err)
	require.Equal(t, []node.Value{true}, res.Outputs, "what the first decides is not asked of the others")
}

func TestBoundingBoxFromFourNumbers(t *testing.T) {
	t.Parallel()
	class := logic.PrimitiveBoundingBox()
	res, err := class.Run(t.Context(), &node.Call{Args: node.Args{"x": int64(1), "y": int64(2), "width": int64(3), "height": int64(4)}})
	require.NoError(t, err)
	require.Equal(t, []node.Value{map[string]any{"x": int64(1), "y": int64(2), "width": int64(3), "height": int64(4)}}, res.Outputs)
	_, err = node.Invocation{Class: class, Inputs: node.Args{"x": int64(1)}}.Run(t.Context(), node.Call{})
	require.Error(t, err)
	var defaults []any
	for _, in := range class.Inputs {
		defaults = append(defaults, in.Default)
	}
	require.Equal(t, []any{0, 0, 512, 512}, defaults)
}

// TestMathExpressionFailsAsComfyUI compares with ComfyUI's class (testdata/make_refused.py).
func TestMathExpressionFailsAsComfyUI(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/refused.json")
	require.NoError(t, err)
	var cases []struct{ Expression, Raises, Sentence string }
	require.NoError(t, json.Unmarshal(raw, &cases))
	require.Greater(t, len(cases), 40)
	for _, c := range cases {
		_, err := node.Invocation{Class: logic.MathExpression(), Inputs: node.Args{
			"expression": c.Expression, "values.a": int64(3), "values.b": 2.5,
		}}.Run(t.Context(), node.Call{})
		var refusal *fault.Error
		require.True(t, errors.As(err, &refusal), "%q: %v", c.Expression, err)
		sentence, _, _ := strings.Cut(refusal.Message, "\n")
		if want, got := c.Raises+": "+c.Sentence, refusal.Exception+": "+sentence; got != want {
			t.Errorf("%q: got %s, want %s", c.Expression, got, want)
		}
	}
}
