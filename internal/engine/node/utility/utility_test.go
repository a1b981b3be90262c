package utility_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/utility"
	"github.com/millrace-dev/millrace/internal/fault"
)

func run(t *testing.T, c *node.Class, args node.Args) (node.Result, error) {
	t.Helper()
	return node.Invocation{Class: c, Inputs: args}.Run(t.Context(), node.Call{NodeID: "1"})
}

func must(t *testing.T, c *node.Class, args node.Args) node.Result {
	t.Helper()
	res, err := run(t, c, args)
	require.NoError(t, err)
	return res
}

func TestAListHoldsAllInputs(t *testing.T) {
	t.Parallel()
	res := must(t, utility.CreateList(), node.Args{"inputs.input0": "a", "inputs.input2": node.List{"b", "c"}})
	require.Equal(t, node.List{"a", "b", "c"}, res.Outputs[0])
}

func TestAChoiceIsPassedOn(t *testing.T) {
	t.Parallel()
	require.Equal(t, []node.Value{"any", int64(3)}, must(t, utility.CustomCombo(), node.Args{"choice": "any", "index": int64(3)}).Outputs)
	require.Equal(t, []node.Value{"any", int64(0)}, must(t, utility.CustomCombo(), node.Args{"choice": "any"}).Outputs)
	require.Equal(t, []node.Value{int64(7)}, must(t, utility.SeedNode(), node.Args{"seed": int64(7)}).Outputs)
}

func TestColours(t *testing.T) {
	t.Parallel()
	require.Equal(t, []node.Value{int64(0x0a0bff), "#0a0bff", 1.0}, must(t, utility.ColorToRGBInt(), node.Args{"color": "#0a0bff"}).Outputs)
	require.Equal(t, []node.Value{int64(0x0a0bff), "#0A0bff", 0.2}, must(t, utility.ColorToRGBInt(), node.Args{"color": "#0A0bff33"}).Outputs)
	for _, bad := range []string{"", "red", "0a0bff", "#0a0bf", "#0a0bgg", "#-a0bff"} {
		_, err := run(t, utility.ColorToRGBInt(), node.Args{"color": bad})
		require.Equal(t, fault.Invalid, fault.KindOf(err), bad)
	}
}

func TestCurves(t *testing.T) {
	t.Parallel()
	points := []any{[]any{0.0, 0.0}, []any{1.0, 0.5}}
	want := map[string]any{"points": points, "interpolation": "monotone_cubic"}
	res := must(t, utility.CurveEditor(), node.Args{"curve": points, "histogram": []any{int64(1), int64(2)}})
	require.Equal(t, want, res.Outputs[0])
	require.Equal(t, map[string][]any{"histogram": {int64(1), int64(2)}}, res.UI)
	require.Equal(t, want, must(t, utility.CurveEditor(), node.Args{"curve": map[string]any{"points": points}}).Outputs[0])
	_, err := run(t, utility.CurveEditor(), node.Args{"curve": "straight"})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}
