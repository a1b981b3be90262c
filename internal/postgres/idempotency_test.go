package postgres_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres"
)

// A flood of keys is forgotten whole a day later, however large, and no other is.
func TestSpentKeysAreForgotten(t *testing.T) {
	t.Parallel()
	b := newAssets(t)
	_, err := b.pool.Exec(t.Context(), `insert into idempotency_keys (account, operation, key, expires_at)
		select 'a', 'assets', n::text, now() - interval '1 second' from generate_series(1, 25000) n`)
	require.NoError(t, err)
	keys := postgres.NewKeys(b.pool)
	require.NoError(t, keys.Claim(t.Context(), "a", "assets", "1", uuid.New()), "its day is over")
	require.NoError(t, keys.Claim(t.Context(), "a", "assets", "live", uuid.New()))
	require.NoError(t, b.store.Forget(t.Context()))
	var left []string
	require.NoError(t, b.pool.QueryRow(t.Context(), `select array_agg(key order by key) from idempotency_keys`).Scan(&left))
	require.Equal(t, []string{"1", "live"}, left)
}
