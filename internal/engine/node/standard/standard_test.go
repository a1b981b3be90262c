package standard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
)

func TestEveryFamilyIsListed(t *testing.T) {
	t.Parallel()
	classes, err := standard.Registry(nil)
	require.NoError(t, err)
	for _, name := range []string{"LoadImage", "InvertMask", "StringConcatenate", "ComfySwitchNode"} {
		_, ok := classes.Lookup(name)
		require.True(t, ok, name)
	}
}

func TestClassesConform(t *testing.T) {
	t.Parallel()
	classes, err := standard.Registry(nil)
	require.NoError(t, err)
	nodetest.Conform(t, classes, nodetest.Example{
		"ComfyNotNode":        {"value": true},
		"ComfyAndNode":        {"values.value0": int64(1)},
		"ComfyOrNode":         {"values.value0": int64(1)},
		"StringFormat":        {"f_string": "{a}", "values.a": int64(1)},
		"ComfyNumberConvert":  {"value": " 3.5 "},
		"ComfyMathExpression": {"expression": "a + b", "values.a": int64(1), "values.b": 0.5},
	})
}

func TestReferencesNameClassesThatExist(t *testing.T) {
	t.Parallel()
	classes, err := standard.Registry(&ffmpeg.Tool{})
	require.NoError(t, err)
	for _, name := range standard.Referenced() {
		_, ok := classes.Lookup(name)
		require.True(t, ok, name)
	}
	require.Equal(t, standard.Pillow, standard.ReferenceOf("LoadImage"))
	require.Equal(t, standard.Exact, standard.ReferenceOf("ImageFlip"))
}
