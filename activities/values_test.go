package activities_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/blob/mem"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/job"
)

// Two runs of the same graph make the same values; the end of one must not cost the other its own.
func TestAJobThatEndsForgetsItsOwnValuesOnly(t *testing.T) {
	t.Parallel()
	for name, budget := range map[string]int64{"from memory": 1 << 20, "from the store": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values, text := activities.NewValues(mem.New(), budget, 1<<20), strings.Repeat("long enough for a blob ", 50)
			ended, err := values.Put(t.Context(), job.NewID(), text)
			require.NoError(t, err)
			goesOn, err := values.Put(t.Context(), job.NewID(), text)
			require.NoError(t, err)
			require.NoError(t, values.Forget(t.Context(), []string{ended}))
			got, err := values.Get(t.Context(), goesOn)
			require.NoError(t, err)
			require.Equal(t, text, got)
			_, err = values.Get(t.Context(), ended)
			require.Equal(t, activities.CodeValueMissing, fault.CodeOf(err))
		})
	}
}
