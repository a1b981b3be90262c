package jobstore_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// A flood of keys is forgotten whole a day later, however large, and no other is.
func TestSpentKeysAreForgotten(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	_, err := pool.Exec(t.Context(), `insert into idempotency_keys (account, operation, key, expires_at)
		select 'a', 'assets', n::text, now() - interval '1 second' from generate_series(1, 25000) n`)
	require.NoError(t, err)
	keys := jobstore.NewKeys(pool)
	require.NoError(t, keys.Claim(t.Context(), "a", "assets", "1", uuid.New()), "its day is over")
	require.NoError(t, keys.Claim(t.Context(), "a", "assets", "live", uuid.New()))
	require.NoError(t, assetstore.New(pool, eventstore.New(pool, eventlog.NewRegistry(), nil)).Forget(t.Context()))
	var left []string
	require.NoError(t, pool.QueryRow(t.Context(), `select array_agg(key order by key) from idempotency_keys`).Scan(&left))
	require.Equal(t, []string{"1", "live"}, left)
}
