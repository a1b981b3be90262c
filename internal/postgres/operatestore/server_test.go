package operatestore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// PostgreSQL's processes report what they counted within some seconds.
func TestDatabaseWorkIsCounted(t *testing.T) {
	t.Parallel()
	var statements atomic.Int64
	pool, err := postgres.Open(t.Context(), storetest.NewDatabase(t), postgres.PoolOptions{Statements: &statements})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	store := operatestore.New(pool)
	before, err := store.Work(t.Context())
	require.NoError(t, err)
	require.Positive(t, before.LogBytes)

	const writes = 50
	sent := statements.Load()
	for range writes {
		_, err := pool.Exec(t.Context(), `create table if not exists written (n int)`)
		require.NoError(t, err)
		_, err = pool.Exec(t.Context(), `insert into written values (1)`)
		require.NoError(t, err)
	}
	require.Equal(t, int64(2*writes), statements.Load()-sent)
	require.Eventually(t, func() bool {
		after, err := store.Work(t.Context())
		return err == nil && after.Transactions-before.Transactions >= 2*writes && after.LogBytes > before.LogBytes &&
			after.LogSyncs >= before.LogSyncs
	}, time.Minute, 200*time.Millisecond)
}
