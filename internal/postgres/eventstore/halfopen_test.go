package eventstore_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// hearing is how long the connections of these tests wait for an answer.
const hearing = 2 * time.Second

// A tailer whose connection is lost without a word, so that its reads wait and its writes succeed, goes on over
// another one.
func TestTailerNoticesAConnectionThatIsGone(t *testing.T) {
	t.Parallel()
	dsn := storetest.NewDatabase(t)
	proxy := pgtest.NewProxy(t, dsn)
	pool := storetest.OpenPool(t, dsn)
	wake := eventstore.NewWake(dsn, slog.New(slog.DiscardHandler))
	l := &tailing{dsn: dsn, pool: pool, store: eventstore.New(pool, eventlogtest.Registry(t), wake)}
	l.tail = openTail(t, pool, proxy.URL(), wake, eventstore.TailerOptions{Silence: hearing})
	background(t, l.tail.Run, wake.Run)
	first := l.append(t, noted("s", 0, "before"))
	require.Equal(t, positions(first), positions(l.collect(t, 0, 1)))
	proxy.Blacken()
	got := l.append(t, noted("s", 1, "after"))
	require.Equal(t, positions(got), positions(l.next(t, got[0].Position-1)))
}

// A group whose holder cannot be heard any more is another's soon: the server does not wait for the end of a
// connection that nobody will ever close, and the holder does not go on believing.
func TestAGroupOfAHolderThatIsGoneIsFree(t *testing.T) {
	t.Parallel()
	dsn := storetest.NewDatabase(t)
	proxy := pgtest.NewProxy(t, dsn)
	pool := storetest.OpenPool(t, dsn)
	quiet := slog.New(slog.DiscardHandler)
	gone, next := eventstore.NewCheckpoints(pool, proxy.URL(), quiet), eventstore.NewCheckpoints(pool, dsn, quiet)
	gone.SetSilenceTimeout(2 * hearing)
	background(t, gone.Run)
	held := within(t, func(ctx context.Context) (eventlog.LockedGroup, error) { return gone.Lock(ctx, "g") })
	background(t, next.Run)
	proxy.Outage(true)
	_ = within(t, func(ctx context.Context) (eventlog.LockedGroup, error) { return next.Lock(ctx, "g") })
	require.NoError(t, eventstore.SaveCheckpoint(t.Context(), pool, "g", 0, 5, nil))
	within(t, func(ctx context.Context) (struct{}, error) {
		select {
		case <-held.Lost():
			return struct{}{}, nil
		case <-ctx.Done():
			return struct{}{}, ctx.Err()
		}
	})
	require.Error(t, eventstore.SaveCheckpoint(t.Context(), pool, "g", 0, 3, nil), "what the former holder still writes is refused")
}

// A statement on a connection that is gone fails as one of a database that is away, and the pool goes on.
func TestAStatementOnAConnectionThatIsGoneEnds(t *testing.T) {
	t.Parallel()
	proxy := pgtest.NewProxy(t, storetest.NewDatabase(t))
	const silence = 3 * hearing // longer than a busy server takes for the last statement
	pool, err := postgres.Open(t.Context(), proxy.URL(), postgres.PoolOptions{MaxConns: 2, Silence: silence})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	conn, err := pool.Acquire(t.Context()) // without the look at it that an idle one gets
	require.NoError(t, err)
	proxy.Blacken()
	_, err = conn.Exec(t.Context(), `select 1`)
	require.True(t, fault.Is(postgres.Classify(err, "ask"), fault.Unavailable), "%v", err)
	conn.Release()
	within(t, func(ctx context.Context) (struct{}, error) {
		_, err := pool.Exec(ctx, `select 1`)
		return struct{}{}, err
	})
}

// A listener that hears nothing asks whether the server is there. One whose connection is gone misses no news for
// longer than that.
func TestWakeNoticesAConnectionThatIsGone(t *testing.T) {
	t.Parallel()
	dsn := storetest.NewDatabase(t)
	proxy := pgtest.NewProxy(t, dsn)
	pool := storetest.OpenPool(t, dsn)
	quiet := slog.New(slog.DiscardHandler)
	ours := eventstore.NewWake(proxy.URL(), quiet)
	ours.SetSilenceTimeout(hearing)
	l := &tailing{dsn: dsn, pool: pool, tail: openTail(t, pool, dsn, ours, eventstore.TailerOptions{Poll: time.Hour})}
	other := eventstore.NewWake(dsn, quiet)
	l.store = eventstore.New(pool, eventlogtest.Registry(t), other)
	background(t, l.tail.Run, ours.Run, other.Run)
	first := l.append(t, noted("s", 0, "before"))
	require.Equal(t, positions(first), positions(l.next(t, 0)))
	proxy.Blacken()
	got := l.append(t, noted("s", 1, "after"))
	require.Equal(t, positions(got), positions(l.next(t, first[0].Position)))
}
