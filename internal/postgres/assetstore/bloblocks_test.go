package assetstore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// A bucket that does not answer takes what waits for it, and nothing from anybody else.
func TestSlowBucketDoesNotStarveQueries(t *testing.T) {
	t.Parallel()
	const conns, many = 6, 40
	pool, err := postgres.Open(t.Context(), storetest.NewDatabase(t), postgres.PoolOptions{MaxConns: conns})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	locks := assetstore.NewBlobLocks(pool)
	begun, answer := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var under, most int // requests to the bucket at one time
	count := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		under += by
		most = max(most, under)
	}
	slow := func(ctx context.Context) error {
		count(1)
		defer count(-1)
		for {
			select {
			case begun <- struct{}{}:
			case <-answer:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	var requests sync.WaitGroup
	for i := range many {
		requests.Go(func() {
			lock := locks.Shared
			if i%4 == 0 {
				lock = locks.Exclusive
			}
			if err := lock(t.Context(), blob.Sum([]byte{byte(i)}), slow); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a slow request: %v", err) // on a machine at its limit it may be held for too long
			}
		})
	}
	for pool.Stat().AcquiredConns() < conns/3 { // all that may be taken are
		<-begun
	}
	var queries, together sync.WaitGroup
	together.Add(conns - conns/3)
	for range conns - conns/3 {
		queries.Go(func() {
			tx, err := pool.Begin(t.Context())
			if err != nil {
				together.Done()
				t.Errorf("a query beside slow requests: %v", err)
				return
			}
			together.Done()
			together.Wait() // each on a connection of its own
			if err := tx.Commit(t.Context()); err != nil {
				t.Errorf("a query beside slow requests: %v", err)
			}
		})
	}
	queries.Wait()
	close(answer)
	requests.Wait()
	require.LessOrEqual(t, most, conns/3)
	require.NoError(t, locks.Exclusive(t.Context(), blob.Sum(nil), func(context.Context) error { return nil }))
}

// Who waits for a connection can leave, and what is done under a lock ends before the server would take it away.
func TestALockOfABlobIsBounded(t *testing.T) {
	t.Parallel()
	pool, err := postgres.Open(t.Context(), storetest.NewDatabase(t), postgres.PoolOptions{MaxConns: 3})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	locks, ref := assetstore.NewBlobLocks(pool), blob.Sum(nil)
	err = locks.Exclusive(t.Context(), ref, func(ctx context.Context) error {
		until, bounded := ctx.Deadline()
		require.True(t, bounded)
		require.LessOrEqual(t, time.Until(until), 12*time.Second)
		var idle string
		require.NoError(t, pool.QueryRow(t.Context(), `show idle_in_transaction_session_timeout`).Scan(&idle))
		require.Equal(t, "15s", idle, "of other transactions")

		waiting, leave := context.WithCancel(t.Context())
		leave()
		require.ErrorIs(t, locks.Shared(waiting, ref, func(context.Context) error { return nil }), context.Canceled)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, locks.Shared(t.Context(), ref, func(context.Context) error { return nil }), "it is free again")
}

// Removers and touchers of one blob are kept apart, over processes; touchers are not kept from each other.
func TestLocksOfABlobKeepRemoversApart(t *testing.T) {
	t.Parallel()
	dsn := storetest.NewDatabase(t)
	here, there := assetstore.NewBlobLocks(storetest.OpenPool(t, dsn)), assetstore.NewBlobLocks(storetest.OpenPool(t, dsn))
	ref := blob.Sum(nil)
	removed := make(chan error, 1)
	var touching atomic.Bool
	err := here.Shared(t.Context(), ref, func(ctx context.Context) error {
		touching.Store(true)
		defer touching.Store(false)
		require.NoError(t, there.Shared(ctx, ref, func(context.Context) error { return nil }))
		go func() {
			removed <- there.Exclusive(t.Context(), ref, func(context.Context) error {
				if touching.Load() {
					return errors.New("a remover beside a toucher")
				}
				return nil
			})
		}()
		pool := storetest.OpenPool(t, dsn)
		for waits := false; !waits; { // until the remover stands behind us
			require.NoError(t, pool.QueryRow(ctx, `select exists (select from pg_locks where locktype = 'advisory' and not granted
				and database = (select oid from pg_database where datname = current_database()))`).Scan(&waits))
		}
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, <-removed)
}

// What fails is either the database, which clients may ask again later, or what was done under the lock.
func TestABlobLockSaysWhatFailed(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	locks := assetstore.NewBlobLocks(pool)
	bucket := errors.New("no answer of the bucket")
	require.Equal(t, bucket, locks.Shared(t.Context(), blob.Sum([]byte("a")), func(context.Context) error { return bucket }))
	cfg := pool.Config()
	cfg.ConnConfig.Host = t.TempDir()
	away, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(away.Close)
	err = assetstore.NewBlobLocks(away).Exclusive(t.Context(), blob.Sum([]byte("a")), func(context.Context) error { return nil })
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
}
