package jobstore_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// A flood of keys is forgotten whole a day later, however large, and no other is.
func TestExpiredKeysAreForgotten(t *testing.T) {
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

// A claim that arrives after it was undone takes nothing, and leaves the key to others.
func TestRevokedClaimIsNotRecordedLater(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	keys, late, other := jobstore.NewKeys(pool), uuid.New(), uuid.New()
	require.NoError(t, keys.Revoke(t.Context(), "a", "assets", "k", late))
	require.True(t, fault.Is(keys.Claim(t.Context(), "a", "assets", "k", late), fault.Conflict))
	require.NoError(t, keys.Check(t.Context(), "a", "assets", "k"), "nobody has it")
	require.NoError(t, keys.Claim(t.Context(), "a", "assets", "k", other))
	require.NoError(t, keys.Claim(t.Context(), "a", "assets", "k", other), "its own claim, once more")
	require.NoError(t, keys.Revoke(t.Context(), "a", "assets", "k", late), "of what another has")
	require.True(t, fault.Is(keys.Check(t.Context(), "a", "assets", "k"), fault.Conflict))
}

// A key names its job until the job was answered.
func TestUnfinishedKeyNamesItsJob(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	keys, made := jobstore.NewKeys(pool), uuid.New()
	_, ok, err := keys.Unanswered(t.Context(), "a", "jobs", "k")
	require.NoError(t, err)
	require.False(t, ok, "a key that nobody claimed")
	require.NoError(t, keys.Claim(t.Context(), "a", "jobs", "k", made))
	id, ok, err := keys.Unanswered(t.Context(), "a", "jobs", "k")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, made, id)
	require.NoError(t, keys.Answered(t.Context(), "a", "jobs", "k", made))
	_, ok, err = keys.Unanswered(t.Context(), "a", "jobs", "k")
	require.NoError(t, err)
	require.False(t, ok)
	require.True(t, fault.Is(keys.Check(t.Context(), "a", "jobs", "k"), fault.Conflict), "it stays used")
}
