package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/domain/job"
)

// The cache uses files only in the first half of their life. With the default settings, a cache entry ends before the
// second half.
func TestFilesOutliveTheirNodeCacheEntries(t *testing.T) {
	t.Parallel()
	c := config.Default()
	require.Greater(t, job.OutputRetention(c.JobRetention)/2, c.CacheAge)
	require.GreaterOrEqual(t, job.OutputRetention(c.JobRetention)/2, c.JobRetention, "a job that is shown a file may live as long")
}
