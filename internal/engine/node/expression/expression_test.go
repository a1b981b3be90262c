package expression_test

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node/expression"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

func variables() map[string]any {
	list := []any{int64(7), int64(-3), 2.5, 0.0, true, -0.75, int64(0)}
	vars := map[string]any{"values": list}
	for i, v := range list {
		vars[string(rune('a'+i))] = v
	}
	return vars
}

// inexact lists the functions whose last digit depends on the library.
var inexact = regexp.MustCompile(`log|sin|cos|tan|\*\*|pow`)

func TestEvaluatesAsPythonDoes(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var cases []struct {
		Source, Type, Repr string
		Fails              bool
	}
	require.NoError(t, json.Unmarshal(raw, &cases))
	require.Greater(t, len(cases), 3000)
	for _, c := range cases {
		got, err := expression.Eval(c.Source, variables())
		switch {
		case c.Fails && err == nil:
			t.Errorf("%s: got %v instead of a failure", c.Source, got)
		case c.Fails:
			require.Equal(t, fault.Invalid, fault.KindOf(err))
		case err != nil:
			t.Errorf("%s: %v, want %s", c.Source, err, c.Repr)
		case !same(got, c.Type, c.Repr, inexact.MatchString(c.Source)):
			t.Errorf("%s: got %T %v, want %s %s", c.Source, got, got, c.Type, c.Repr)
		}
	}
}

// same compares a result with Python's rendering of it.
func same(got any, kind, repr string, inexact bool) bool {
	switch v := got.(type) {
	case bool:
		return kind == "bool" && python.Repr(v) == repr
	case *big.Int:
		return kind == "int" && v.String() == repr
	case []any:
		return kind == "list"
	case float64:
		want, err := strconv.ParseFloat(repr, 64)
		close := math.Abs(v-want) <= 1e-12*math.Abs(want)
		return kind == "float" && err == nil && (python.Float(v) == repr || inexact && close)
	}
	return false
}

func TestExpressionsAreBounded(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"exponent":              "2 ** 4001",
		"negative exponent":     "2.0 ** -4001",
		"size of a power":       "(2 ** 4000) ** 4000",
		"size of a product":     "(2 ** 4000) ** 16 * 2 ** 4000",
		"size of a shift":       "1 << 100000000000",
		"nested brackets":       strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200),
		"nested signs":          strings.Repeat("-", 5000) + "1",
		"nested nots":           strings.Repeat("not ", 1500) + "1",
		"nested powers":         strings.Repeat("1**", 1500) + "1",
		"nested conditionals":   strings.Repeat("1 if 1 else ", 600) + "1",
		"length":                strings.Repeat("1+", 5000) + "1",
		"digits":                strings.Repeat("9", 8000) + "**4000",
		"a value of other kind": "x",
	} {
		_, err := expression.Eval(source, nil)
		require.Equal(t, fault.Invalid, fault.KindOf(err), name)
		require.Less(t, len(err.Error()), 300, name)
	}
	_, err := expression.Eval("a", map[string]any{"a": "text"})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

func TestShortCircuitsDoNotEvaluateTheRest(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"0 and 1/0", "1 or 1/0", "1 if 1 else 1/0", "2 > 1 or unknown", "1 > 2 > 1/0"} {
		_, err := expression.Eval(source, nil)
		require.NoError(t, err, source)
	}
}

func FuzzEval(f *testing.F) {
	for _, s := range []string{
		"a + b * 2", "round(c, 2) if e else values[0]", "-2 ** 3 // 4 % 5", "min([1, 2.5]) << 3", "0x1f_e & ~1",
		"1e400",
	} {
		f.Add(s)
	}
	vars := variables()
	f.Fuzz(func(t *testing.T, source string) {
		v, err := expression.Eval(source, vars)
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		again, err := expression.Eval(source, vars)
		require.NoError(t, err)
		require.Equal(t, python.Repr(v), python.Repr(again))
	})
}
