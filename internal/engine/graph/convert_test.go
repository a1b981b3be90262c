package graph_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
)

// TestConstantsAreConvertedAsPythonDoes compares with results of Python (testdata/make_golden.py).
func TestConstantsAreConvertedAsPythonDoes(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/convert.json")
	require.NoError(t, err)
	var cases []struct {
		Type, Value string
		Want, Error *string
	}
	require.NoError(t, json.Unmarshal(raw, &cases))
	require.Greater(t, len(cases), 400)
	registry := convertible(t)
	for _, c := range cases {
		got, refusal := converted(t, registry, c.Type, c.Value)
		switch {
		case c.Error != nil && refusal == "":
			t.Errorf("%s of %s: got %s, want the error %q", c.Type, c.Value, got, *c.Error)
		case c.Error != nil && refusal != *c.Error:
			t.Errorf("%s of %s: got the error %q, want %q", c.Type, c.Value, refusal, *c.Error)
		case c.Error == nil && refusal != "":
			t.Errorf("%s of %s: got the error %q, want %s", c.Type, c.Value, refusal, *c.Want)
		case c.Error == nil && got != *c.Want:
			t.Errorf("%s of %s: got %s, want %s", c.Type, c.Value, got, *c.Want)
		}
	}
}

// TestLargeIntegersAreOutOfRange checks integers of more than 64 bits against the bounds of their input.
func TestLargeIntegersAreOutOfRange(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"9223372036854775808":      "Value 9223372036854775808 bigger than max of 10",
		`" 1_0000000000000000000"`: "Value 10000000000000000000 bigger than max of 10",
		"-9223372036854775809":     "Value -9223372036854775809 smaller than min of 1",
		"1e25":                     "Value 10000000000000000905969664 bigger than max of 10",
	} {
		e := refused(t, `{"1":{"class_type":"Set","inputs":{"int":`+value+`}}}`)
		require.Equal(t, want, e.NodeErrors[0].Errors[0].Message)
		require.True(t, json.Valid([]byte(toJSON(t, e))))
	}
	_, refusal := converted(t, convertible(t), "INT", "9223372036854775808")
	require.Equal(t, "Python int too large to convert to C long", refusal)
	_, refusal = converted(t, convertible(t), "INT", `"`+strings.Repeat("1", 4301)+`"`)
	require.Contains(t, refusal, "invalid literal")
}

// convertible has one output class for each type, named after the type.
func convertible(t *testing.T) *node.Registry {
	t.Helper()
	var list []*node.Class
	for _, kind := range []node.Type{node.Int, node.Float, node.String, node.Boolean} {
		list = append(list, &node.Class{
			Name: string(kind), OutputNode: true, Run: nothing, Inputs: []node.Input{{Name: "v", Type: kind}},
		})
	}
	registry, err := node.NewRegistry(list...)
	require.NoError(t, err)
	return registry
}

// converted returns the repr of a converted constant, or the message of its refusal.
func converted(t *testing.T, registry *node.Registry, class, value string) (repr, refusal string) {
	t.Helper()
	g := parse(t, `{"1":{"class_type":"`+class+`","inputs":{"v":`+value+`}}}`)
	accepted, err := (&graph.Validator{Classes: registry}).Validate(t.Context(), g, shelf{}, nil)
	var refused *graph.PromptError
	if err != nil {
		require.ErrorAs(t, err, &refused)
		message, _ := refused.NodeErrors[0].Errors[0].ExtraInfo["exception_message"].(string)
		require.NotEmpty(t, message)
		return "", message
	}
	plan, err := graph.BuildPlan(g, registry, accepted.Outputs, nil)
	require.NoError(t, err)
	return python.Repr(plan.Nodes[0].Constants["v"]), ""
}
