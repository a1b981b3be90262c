package node_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
)

func growing(a node.Autogrow) *node.Class {
	return &node.Class{Name: "Grow", Inputs: []node.Input{
		{Name: "first", Type: node.Int},
		{Name: "values", Type: node.AutogrowType, Extra: map[string]any{"template": a}},
	}}
}

func TestDeclaredReplacesGrowingInputs(t *testing.T) {
	t.Parallel()
	c := growing(node.Autogrow{Each: node.Input{Name: "v", Type: node.Float}, Names: []string{"a", "b", "c"}, Min: 1})
	given := []string{"values.c", "values.zz", "values"}
	inputs := c.Declared(func(name string) (any, bool) { return 1, slices.Contains(given, name) })
	require.Equal(t, []node.Input{
		{Name: "first", Type: node.Int},
		{Name: "values.a", Type: node.Float, Section: node.Required},
		{Name: "values.c", Type: node.Float, Section: node.Optional},
	}, inputs)
	given = append(given, "values.b")
	inputs = c.Declared(func(name string) (any, bool) { return 1, slices.Contains(given, name) })
	require.Equal(t, node.Input{Name: "values.b", Type: node.Float, Section: node.Optional}, inputs[2])
	numbered := growing(node.Autogrow{Each: node.Input{Type: node.Image}, Prefix: "image", Min: 1, Max: 2})
	inputs = numbered.Declared(func(string) (any, bool) { return 1, true })
	require.Len(t, inputs, 3)
	require.Equal(t, "values.image1", inputs[2].Name)
}

func TestGrowingInputsAreDefinedByTheirTemplate(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(node.Autogrow{Each: node.Input{Name: "v", Type: "FLOAT,INT"}, Names: []string{"a"}, Min: 1})
	require.NoError(t, err)
	require.JSONEq(t, `{"input":{"required":{"v":["FLOAT,INT",{}]}},"names":["a"],"min":1}`, string(raw))
	raw, err = json.Marshal(node.Autogrow{Each: node.Input{Name: "image", Type: node.Image}, Prefix: "image", Min: 1, Max: 50})
	require.NoError(t, err)
	require.JSONEq(t, `{"input":{"required":{"image":["IMAGE",{}]}},"prefix":"image","min":1,"max":50}`, string(raw))
}

func TestChosenInputsFollowTheChoice(t *testing.T) {
	t.Parallel()
	bits := node.Choices{
		{Key: "png", Inputs: []node.Input{{Name: "depth", Type: node.Int}}},
		{Key: "none"},
	}
	c := &node.Class{Name: "Choose", Inputs: []node.Input{
		{Name: "format", Type: node.DynamicComboType, Extra: map[string]any{"options": node.Choices{
			{Key: "file", Inputs: []node.Input{{Name: "kind", Type: node.DynamicComboType, Extra: map[string]any{"options": bits}}}},
			{Key: "none"},
		}}},
		{Name: "last", Type: node.Int},
	}}
	names := func(given map[string]any) (names []string) {
		for _, in := range c.Declared(func(name string) (any, bool) { v, ok := given[name]; return v, ok }) {
			names = append(names, in.Name)
		}
		return names
	}
	require.Equal(t, []string{"last"}, names(nil), "no choice is made")
	require.Equal(t, []string{"last"}, names(map[string]any{"format": []any{"1", 0}}), "a link is no choice")
	require.Equal(t, []string{"format", "last"}, names(map[string]any{"format": "none", "format.kind": "png"}))
	require.Equal(t, []string{"format", "format.kind", "format.kind.depth", "last"},
		names(map[string]any{"format": "file", "format.kind": "png"}))
	raw, err := json.Marshal(bits)
	require.NoError(t, err)
	require.JSONEq(t, `[{"key":"png","inputs":{"required":{"depth":["INT",{}]}}},{"key":"none","inputs":{"required":{}}}]`, string(raw))
}
