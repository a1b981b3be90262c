package python_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node/python"
)

// TestJSONIsWhatPythonWrites compares with results of Python (testdata/make_golden.py).
func TestJSONIsWhatPythonWrites(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/json.json")
	require.NoError(t, err)
	var cases []struct{ Text, Want string }
	require.NoError(t, json.Unmarshal(raw, &cases))
	require.Greater(t, len(cases), 300)
	for _, c := range cases {
		d := json.NewDecoder(strings.NewReader(c.Text))
		d.UseNumber()
		var value any
		require.NoError(t, d.Decode(&value))
		require.Equal(t, c.Want, python.JSON(value, 4), c.Text)
	}
}

func TestJSONOfValues(t *testing.T) {
	t.Parallel()
	require.Equal(t, "[\n  1,\n  2.0,\n  NaN,\n  Infinity,\n  \"x\"\n]",
		python.JSON([]any{int64(1), 2.0, math.NaN(), math.Inf(1), "x"}, 2))
	require.Equal(t, "{\n \"y\": 1,\n \"x\": 2,\n \"a\": 3\n}",
		python.JSON(map[string]any{"a": int64(3), "x": int64(2), "y": int64(1)}, 1, "y", "x"))
	require.Equal(t, `"[a b]"`, python.JSON([2]string{"a", "b"}, 2), "what no JSON has is shown as text")
}
