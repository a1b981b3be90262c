package harness_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/bench/harness"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
)

// Seeded assets are as uploads leave them: an event at a position of its own, a stream, a row and a row of the view.
func TestSeededAssetsAreInEveryTable(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	const assets = 7000 // more than a batch
	require.NoError(t, harness.SeedAssets(t.Context(), dsn, assets))
	pool, err := postgres.Open(t.Context(), dsn, postgres.PoolOptions{})
	require.NoError(t, err)
	defer pool.Close()
	for _, query := range []string{
		`select count(distinct position) from events`, `select count(*) from streams`, `select count(*) from files`,
		`select count(*) from assets_v1`,
	} {
		var n int
		require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&n), query)
		require.Equal(t, assets, n, query)
	}
}
