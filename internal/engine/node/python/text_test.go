package python_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
)

func TestReprIsPythons(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{
		"None": nil, "True": true, "False": false, "3": 3, "-4": int64(-4), "1.0": 1.0, "0.0001": 0.0001, "1e-05": 0.00001,
		"1e+16": 1e16, "1234567890123456.0": 1234567890123456.0, "inf": math.Inf(1), "-inf": math.Inf(-1), "nan": math.NaN(),
		"-0.0": math.Copysign(0, -1),
		"12":   json.Number("12"), "0": json.Number("-0"), "12.0": json.Number("1.2e1"),
		`'it is'`: "it is", `"it's"`: "it's", `'it\'s "so"'`: `it's "so"`, `'\\ \n\r\t\x00\x7f\xa0'`: "\\ \n\r\t\x00\x7f\u00a0",
		`'ä日\u200b\U000e0001'`: "ä日\u200b\U000e0001",
		"['a', \"b'\"]":        []string{"a", "b'"}, "[1, [], {}]": []any{int64(1), []any{}, map[string]any{}},
		"{'a': None, 'b': [True]}": map[string]any{"b": []any{true}, "a": nil},
	} {
		require.Equal(t, want, python.Repr(value))
	}
	require.Equal(t, "it's", python.Str("it's"))
	require.Equal(t, "[1]", python.Str([]any{int64(1)}))
}

func TestDigits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" 12 ": "12", "1_000": "1000", "_1": "", "1_": "", "1__0": "", "1_.5": "", "1._5": "", "-_1": "", "-1_0.0_1e1_0": "-10.01e10",
	} {
		require.Equal(t, want, python.Digits(text), text)
	}
}

func TestFormatStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	template := strings.Repeat("{a:10000}", 1<<20)
	_, err := python.Format(template, map[string]any{"a": "x"}, 1<<16)
	require.ErrorIs(t, err, python.ErrTooLong)
	text, err := python.Format("{a:>5}", map[string]any{"a": "x"}, 5)
	require.NoError(t, err)
	require.Equal(t, "    x", text)
	_, err = python.Format("{a:>6}", map[string]any{"a": "x"}, 5)
	require.ErrorIs(t, err, python.ErrTooLong)
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{"{a}", "{a:>5}", "{a:08.2f}", "{b!r:*^10}", "{{}}", "{a:,}", "{c:#x}", "{d}"} {
		f.Add(s)
	}
	values := map[string]any{"a": 1234.5, "b": "it's", "c": int64(-255), "d": []any{nil}, "e": true}
	f.Fuzz(func(t *testing.T, template string) {
		text, err := python.Format(template, values, 20_000)
		if err != nil {
			var exception *python.Exception
			require.True(t, errors.As(err, &exception) || errors.Is(err, python.ErrTooLong), "%v", err)
			return
		}
		require.LessOrEqual(t, len(text), 20_000)
	})
}

// TestFormatFailsAsPythonDoes compares with str.format (testdata/make_format.py).
func TestFormatFailsAsPythonDoes(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/format.json")
	require.NoError(t, err)
	var cases []struct {
		Template               string
		Values                 map[string]json.RawMessage
		Want, Raises, Sentence string
	}
	require.NoError(t, json.Unmarshal(raw, &cases))
	require.Len(t, cases, 413)
	for _, c := range cases {
		values := map[string]any{}
		for name, value := range c.Values {
			decoder := json.NewDecoder(strings.NewReader(string(value)))
			decoder.UseNumber()
			var decoded any
			require.NoError(t, decoder.Decode(&decoded))
			values[name] = node.PlainJSON(decoded)
		}
		text, err := python.Format(c.Template, values, 1<<16)
		if c.Raises == "" {
			require.NoError(t, err, "%s of %v", c.Template, values)
			require.Equal(t, c.Want, text, "%s of %v", c.Template, values)
			continue
		}
		require.EqualError(t, err, c.Raises+": "+c.Sentence, "%s of %v", c.Template, values)
	}
}
