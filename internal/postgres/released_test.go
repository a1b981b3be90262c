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

// A migration that was released is never edited: databases have it. What is not in the list yet has a later number;
// a release appends it (sha256sum).
func TestReleasedMigrationsAreNeverEdited(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("testdata/released.sha256")
	require.NoError(t, err)
	released := map[string]bool{}
	last := ""
	for line := range strings.Lines(string(list)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, ok, line)
		sql, err := os.ReadFile(filepath.Join("migrations/released", name)) // a name from the list beside this test
		require.NoError(t, err, "a released migration is gone")
		require.Equal(t, sum, fmt.Sprintf("%x", sha256.Sum256(sql)), "%s was released, and is edited: write another migration", name)
		released[name], last = true, max(last, name)
	}
	files, err := filepath.Glob("migrations/released/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		name := filepath.Base(path)
		require.True(t, released[name] || name > last, "%s would be applied before %s, which databases have", name, last)
	}
}
