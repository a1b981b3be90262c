package postgres_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A migration that was released is never edited: databases have it. What is not in the list yet has a later number
// and lies in migrations itself, where both new and older databases get it; a release appends it (sha256sum).
func TestReleasedMigrationsAreNeverEdited(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("testdata/released.sha256")
	require.NoError(t, err)
	released := map[string]bool{}
	last := ""
	for line := range strings.Lines(string(list)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, ok, line)
		sql, err := os.ReadFile(filepath.Join("migrations", name)) // a name from the list beside this test
		require.NoError(t, err, "a released migration is gone")
		require.Equal(t, sum, fmt.Sprintf("%x", sha256.Sum256(sql)), "%s was released, and is edited: write another migration", name)
		released[name], last = true, max(last, filepath.Base(name))
	}
	for _, pattern := range []string{"released/*.sql", "schema/*.sql", "*.sql"} {
		files, err := filepath.Glob(filepath.Join("migrations", pattern))
		require.NoError(t, err)
		for _, path := range files {
			name, err := filepath.Rel("migrations", path)
			require.NoError(t, err)
			later := filepath.Dir(name) == "." && name > last
			require.True(t, released[name] || later, "%s: databases have migrations up to %s", name, last)
		}
	}
}
