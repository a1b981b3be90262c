package nodevalue_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// Two runs of the same graph make the same values; the end of one must not cost the other its own.
func TestAJobThatEndsForgetsItsOwnValuesOnly(t *testing.T) {
	t.Parallel()
	for name, budget := range map[string]int64{"from memory": 1 << 20, "from the store": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values, text := nodevalue.New(mem.New(), budget, 1<<20), strings.Repeat("long enough for a blob ", 50)
			ended, err := values.Put(t.Context(), job.NewID(), text)
			require.NoError(t, err)
			goesOn, err := values.Put(t.Context(), job.NewID(), text)
			require.NoError(t, err)
			require.NoError(t, values.Forget(t.Context(), []string{ended}))
			got, err := values.Get(t.Context(), goesOn)
			require.NoError(t, err)
			require.Equal(t, text, got)
			_, err = values.Get(t.Context(), ended)
			require.Equal(t, fault.CodeValueMissing, fault.CodeOf(err))
		})
	}
}

// What a node gave is kept for later jobs and may be handed on within its own, where it is the same blob.
func TestCachedValuesOutliveTheirJob(t *testing.T) {
	t.Parallel()
	values, owner, text := nodevalue.New(mem.New(), 0, 1<<20), job.NewID(), strings.Repeat("long enough for a blob ", 50)
	kept, err := values.Put(t.Context(), owner, text)
	require.NoError(t, err)
	other, err := values.Put(t.Context(), owner, text+"!")
	require.NoError(t, err)
	require.NoError(t, values.Forget(t.Context(), []string{kept, other, "cached:" + kept}))
	require.True(t, values.Has(t.Context(), []string{"cached:" + kept}))
	require.False(t, values.Has(t.Context(), []string{other}))
	require.NoError(t, values.ForgetCached(t.Context(), []string{"cached:" + kept}))
	require.False(t, values.Has(t.Context(), []string{kept}))
}
