package keystore_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/keystore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// claim claims a key as the transaction of a request does.
func claim(ctx context.Context, pool *pgxpool.Pool, operation, key string, made uuid.UUID) (refused error) {
	var batch pgx.Batch
	keystore.QueueClaim(&batch, "a", operation, key, made.String(), func(err error) { refused = err })
	if err := pool.SendBatch(ctx, &batch).Close(); err != nil {
		return err
	}
	return refused
}

// A flood of keys is forgotten whole a day later, however large, and no other is.
func TestExpiredKeysAreForgotten(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	_, err := pool.Exec(t.Context(), `insert into idempotency_keys (account, operation, key, expires_at)
		select 'a', 'assets', n::text, now() - interval '1 second' from generate_series(1, 25000) n`)
	require.NoError(t, err)
	require.NoError(t, claim(t.Context(), pool, "assets", "1", uuid.New()), "its day is over")
	require.NoError(t, claim(t.Context(), pool, "assets", "live", uuid.New()))
	require.NoError(t, assetstore.New(pool, eventstore.New(pool, eventlog.NewRegistry(), nil)).Forget(t.Context()))
	var left []string
	require.NoError(t, pool.QueryRow(t.Context(), `select array_agg(key order by key) from idempotency_keys`).Scan(&left))
	require.Equal(t, []string{"1", "live"}, left)
}

// A key names what it made until that was answered.
func TestUnansweredKeyNamesWhatItMade(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	keys, made := keystore.New(pool), uuid.New()
	_, ok, err := keys.Unanswered(t.Context(), "a", "jobs", "k")
	require.NoError(t, err)
	require.False(t, ok, "a key that nobody claimed")
	require.NoError(t, claim(t.Context(), pool, "jobs", "k", made))
	require.True(t, fault.Is(claim(t.Context(), pool, "jobs", "k", uuid.New()), fault.Conflict))
	require.True(t, fault.Is(keys.Check(t.Context(), "a", "jobs", "k"), fault.Conflict))
	require.NoError(t, keys.CheckAnswered(t.Context(), "a", "jobs", "k"))
	id, ok, err := keys.Unanswered(t.Context(), "a", "jobs", "k")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, made, id)
	require.NoError(t, keys.Answered(t.Context(), "a", "jobs", "k", made))
	_, ok, err = keys.Unanswered(t.Context(), "a", "jobs", "k")
	require.NoError(t, err)
	require.False(t, ok)
	require.True(t, fault.Is(keys.CheckAnswered(t.Context(), "a", "jobs", "k"), fault.Conflict), "it stays used")
	require.NoError(t, keys.Use(t.Context(), "a", "assets", "none"))
	require.True(t, fault.Is(keys.CheckAnswered(t.Context(), "a", "assets", "none"), fault.Conflict))
}
