package text_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/engine/node/text"
	"github.com/millrace-dev/millrace/internal/fault"
)

// golden is a case with the result of Python (testdata/make_golden.py).
type golden struct {
	Class string                     `json:"class"`
	Args  map[string]json.RawMessage `json:"args"`
	Want  string                     `json:"want"`
	Fails bool                       `json:"fails"`
}

// value reads a literal as Python writes it: a float has a point or an exponent.
func value(t *testing.T, raw json.RawMessage) node.Value {
	t.Helper()
	if strings.ContainsAny(string(raw), ".e") && raw[0] != '"' && raw[0] != 't' && raw[0] != 'f' {
		var f float64
		require.NoError(t, json.Unmarshal(raw, &f))
		return f
	}
	var i int64
	if json.Unmarshal(raw, &i) == nil {
		return i
	}
	var v any
	require.NoError(t, json.Unmarshal(raw, &v))
	return v
}

func class(t *testing.T, name string) *node.Class {
	t.Helper()
	r, err := node.NewRegistry(text.Classes()...)
	require.NoError(t, err)
	c, ok := r.Lookup(name)
	require.True(t, ok, name)
	return c
}

func run(t *testing.T, name string, args node.Args) (node.Result, error) {
	t.Helper()
	return node.Invocation{Class: class(t, name), Inputs: args}.Run(t.Context(), node.Call{NodeID: "1", Files: nodetest.NewFiles()})
}

// goldens reads cases with results of Python and requires more than least of them.
func goldens(t *testing.T, file string, least int) []golden {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	var cases []golden
	require.NoError(t, json.Unmarshal(raw, &cases))
	require.Greater(t, len(cases), least)
	return cases
}

func (c golden) run(t *testing.T) (node.Result, error) {
	t.Helper()
	args := node.Args{}
	for name, raw := range c.Args {
		args[name] = value(t, raw)
	}
	return run(t, c.Class, args)
}

func TestClassesDoWhatPythonDoes(t *testing.T) {
	t.Parallel()
	for _, c := range goldens(t, "golden.json", 1000) {
		res, err := c.run(t)
		if c.Fails {
			if err == nil {
				t.Errorf("%s %s: got %q instead of a failure", c.Class, c.Args, res.Outputs[0])
			} else if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s %s: %v", c.Class, c.Args, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", c.Class, c.Args, err)
		} else if res.Outputs[0] != c.Want {
			t.Errorf("%s %s: got %q, want %q", c.Class, c.Args, res.Outputs[0], c.Want)
		}
	}
}

func TestRegexFindsWhatPythonFinds(t *testing.T) {
	t.Parallel()
	for _, c := range goldens(t, "golden_find.json", 2000) {
		res, err := c.run(t)
		if err != nil {
			t.Errorf("%s %s: %v", c.Class, c.Args, err)
		} else if got := python.Repr(res.Outputs[0]); got != c.Want {
			t.Errorf("%s %s: got %s, want %s", c.Class, c.Args, got, c.Want)
		}
	}
}

// TestRegexReplaceFailsAsPythonDoes compares with re.sub (testdata/make_refused.py).
func TestRegexReplaceFailsAsPythonDoes(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/refused.json")
	require.NoError(t, err)
	var cases []struct{ Pattern, Replace, Raises, Sentence string }
	require.NoError(t, json.Unmarshal(raw, &cases))
	require.Greater(t, len(cases), 60)
	for _, c := range cases {
		_, err := run(t, "RegexReplace", node.Args{"string": "text", "regex_pattern": c.Pattern, "replace": c.Replace})
		var refusal *fault.Error
		require.True(t, errors.As(err, &refusal), "%q by %q: %v", c.Pattern, c.Replace, err)
		sentence, _, _ := strings.Cut(refusal.Message, "\n")
		require.Equal(t, c.Raises+": "+c.Sentence, refusal.Exception+": "+sentence, "%q by %q", c.Pattern, c.Replace)
	}
}
