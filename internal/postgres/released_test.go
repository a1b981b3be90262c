package postgres_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// appliedRow is a row of schema_migrations in a dump.
var appliedRow = regexp.MustCompile(`\(\d+, '(\d{4}_\w+\.sql)', '([0-9a-f]{64})'`)

// A migration of a tagged version is never edited: databases have it. The recorded data of each such version says which
// migrations it had; any other has a later number.
func TestReleasedMigrationsAreNeverEdited(t *testing.T) {
	t.Parallel()
	dumps, err := filepath.Glob("../../test/durability/testdata/releases/*/database.sql")
	require.NoError(t, err)
	require.NotEmpty(t, dumps)
	released, last := map[string]string{}, ""
	for _, dump := range dumps {
		raw, err := os.ReadFile(dump) // a path from Glob
		require.NoError(t, err)
		for _, row := range appliedRow.FindAllStringSubmatch(string(raw), -1) {
			released[row[1]], last = row[2], max(last, row[1])
		}
	}
	require.NotEmpty(t, released)
	for _, pattern := range []string{"migrations/schema/*.sql", "migrations/*.sql"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range files {
			name := filepath.Base(path)
			sum, tagged := released[name]
			if !tagged {
				require.Greater(t, name, last, "databases have migrations up to %s", last)
				continue
			}
			sql, err := os.ReadFile(path) // as above
			require.NoError(t, err)
			require.Equal(t, sum, fmt.Sprintf("%x", sha256.Sum256(sql)),
				"%s is edited: write another migration or, before the tag, make release/data", name)
			delete(released, name)
		}
	}
	require.Empty(t, released, "a released migration is gone")
}
