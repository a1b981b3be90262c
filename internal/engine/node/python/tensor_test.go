package python_test

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node/python"
)

// The texts come from PyTorch (testdata/make_tensors.py).
func TestTensorsArePrintedAsPyTorchDoes(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/tensors.json")
	require.NoError(t, err)
	var cases []struct {
		Shape  []int
		Values []any
		Text   string
	}
	require.NoError(t, json.Unmarshal(raw, &cases))
	require.NotEmpty(t, cases)
	for _, c := range cases {
		tensor := python.Tensor{Shape: c.Shape, Value: func(i int) float32 {
			if text, ok := c.Values[i].(string); ok {
				v, err := strconv.ParseFloat(text, 32)
				require.NoError(t, err)
				return float32(v)
			}
			return float32(c.Values[i].(float64))
		}}
		require.Equal(t, c.Text, tensor.String(6), "%v", c.Shape)
	}
}
