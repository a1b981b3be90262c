package label_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/label"
)

// Labels are sorted, each once, and a list has at most 32 of at most 63 characters.
func TestLabelsAreSortedAndBounded(t *testing.T) {
	t.Parallel()
	asked := []string{"eu", "GPU:24.0_gb/x-1", "eu", "0", strings.Repeat("x", 63)}
	got, err := label.Parse(asked)
	require.NoError(t, err)
	require.Equal(t, []string{"0", "GPU:24.0_gb/x-1", "eu", strings.Repeat("x", 63)}, got)
	require.Equal(t, "eu", asked[0], "the caller's list is not changed")
	got, err = label.Parse(nil)
	require.NoError(t, err)
	require.Equal(t, []string{}, got)
	for _, wrong := range []string{"", "-a", ".a", "a b", "ü", strings.Repeat("x", 64), "a\n"} {
		got, err = label.Parse([]string{"eu", wrong})
		require.ErrorContains(t, err, "is not a label: letters, digits and . _ : / -, at most 63", "%q", wrong)
		require.Nil(t, got)
	}
	many := make([]string, label.Max+1)
	for i := range many {
		many[i] = "x"
	}
	_, err = label.Parse(many)
	require.EqualError(t, err, "a list of labels may have at most 32 entries")
	got, err = label.Parse(many[1:])
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, got)
}
