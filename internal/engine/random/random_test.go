package random_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/random"
)

func golden(t *testing.T) map[string][]float64 {
	t.Helper()
	raw, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var out map[string][]float64
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

func floats[T int | uint32](values []T) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

func TestNumbersAreThoseOfNumPy(t *testing.T) {
	t.Parallel()
	want := golden(t)
	r := random.New(7)
	ints := make([]uint32, 6)
	for i := range ints {
		ints[i] = r.Below(100)
	}
	require.Equal(t, want["ints"], floats(ints))
	require.Equal(t, want["permutation"], floats(random.ForNumPy(12345).Permutation(10)))
	require.Equal(t, want["choice"], floats(random.New(3).Permutation(50)[:5]))
	require.Equal(t, random.New(1).Uint32(), random.ForNumPy(1<<32).Uint32(), "reduced by 2³²−1")
}

func TestNormalNumbersAreThoseOfPyTorch(t *testing.T) {
	t.Parallel()
	want := golden(t)
	for _, n := range []int{3, 7, 16, 20, 40} {
		got := make([]float32, n)
		random.New(42).Normal(got)
		for i := range got {
			require.InDelta(t, want[fmt.Sprintf("normal%d", n)][i], got[i], 2e-6, "%d of %d", i, n)
		}
	}
}
