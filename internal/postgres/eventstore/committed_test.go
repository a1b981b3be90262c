package eventstore_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// newProxied returns a log whose tail has a connection of its own, through a proxy, and the position at which it begins.
func newProxied(t *testing.T) (l *tailing, proxy *pgtest.Proxy, after int64) {
	t.Helper()
	dsn := storetest.NewDatabase(t)
	proxy = pgtest.NewProxy(t, dsn)
	l = &tailing{dsn: dsn, pool: storetest.OpenPool(t, dsn)}
	wake := eventstore.NewWake(dsn, slog.New(slog.DiscardHandler))
	l.store = eventstore.New(l.pool, eventlogtest.Registry(t), wake)
	l.tail = openTail(t, l.pool, proxy.URL(), wake, eventstore.TailerOptions{})
	background(t, l.tail.Run)
	return l, proxy, settled(t, l.tail)
}

// The events that a process has committed reach its subscribers without being read back, and are those of the log.
func TestOwnEventsAreNotReadBack(t *testing.T) {
	t.Parallel()
	l, proxy, after := newProxied(t)
	const appends = 300
	before, began := proxy.Executed(), time.Now()
	var got []eventlog.Recorded
	for range appends {
		a := noted("s", eventlog.AnyVersion, "x", "y")
		a.Meta = eventlog.Meta{Actor: "somebody", RequestID: "r-1"}
		l.append(t, a)
		page := l.collect(t, after, 2)
		got, after = append(got, page...), page[1].Position
	}
	reads := proxy.Executed() - before
	require.LessOrEqual(t, reads, 10+int64(time.Since(began)/(100*time.Millisecond)))
	recorded, err := eventstore.ReadLog(t.Context(), l.pool, 0, after, 2*appends)
	require.NoError(t, err)
	require.Equal(t, recorded, got)
}

// A process that follows a log whose end was lost delivers nothing of the log's other continuation for long: neither
// where its own events take the positions of lost ones, nor where they follow what it has delivered.
func TestOwnEventsDoNotHideThatTheLogWasRewound(t *testing.T) {
	t.Parallel()
	const endTail = `; select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name ` +
		`= 'millrace tail'`
	for name, lost := range map[string]string{
		"own events take the positions of lost ones": `delete from events where position > 1;
			select setval(pg_get_serial_sequence('events', 'position'), 1)`,
		"own events follow the last one, and the connection ends": `delete from events where position = 2` + endTail,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := storetest.NewDatabase(t)
			pool := storetest.OpenPool(t, dsn)
			wake := eventstore.NewWake(dsn, slog.New(slog.DiscardHandler))
			store := eventstore.New(pool, eventlogtest.Registry(t), wake)
			tail := openTail(t, pool, dsn, wake, eventstore.TailerOptions{Poll: time.Hour})
			ended := make(chan error, 1)
			background(t, func(ctx context.Context) error { ended <- tail.Run(ctx); return nil })
			_ = settled(t, tail)
			add := func() {
				_, err := store.Append(t.Context(), noted("s", eventlog.AnyVersion, "x"))
				require.NoError(t, err)
			}
			for range 3 {
				add()
			}
			require.Len(t, (&tailing{tail: tail}).collect(t, 0, 3), 3)
			_, err := pool.Exec(t.Context(), `alter table events disable trigger events_are_final; delete from streams; `+lost+`;
				insert into streams select stream, max(account), max(version) from events group by stream`)
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				add()
				select {
				case err := <-ended:
					require.ErrorIs(t, err, eventlog.ErrRewound)
					return true
				default:
					return false
				}
			}, generous, 20*time.Millisecond)
		})
	}
}

// What another process has committed is delivered in its place among the events of this process, also if it notifies
// nobody.
func TestEventsOfOthersAreDeliveredAmongOwnOnes(t *testing.T) {
	t.Parallel()
	l := startTailing(t, eventstore.TailerOptions{Poll: time.Hour})
	after := settled(t, l.tail)
	other := eventstore.New(l.pool, eventlogtest.Registry(t), nil)
	var want []int64
	for i := range 100 {
		if i%3 == 0 {
			got, err := other.Append(t.Context(), noted("other", eventlog.AnyVersion, "x"))
			require.NoError(t, err)
			want = append(want, positions(got)...)
		}
		want = append(want, positions(l.append(t, noted("s", eventlog.AnyVersion, "x")))...)
	}
	require.Equal(t, want, positions(l.collect(t, after, len(want))))
}

// One notice is enough for more events of another process than one read returns, and for those behind a gap.
func TestEventsOfOthersAreReadToTheirEnd(t *testing.T) {
	t.Parallel()
	l := startTailing(t, eventstore.TailerOptions{Poll: time.Hour})
	after := settled(t, l.tail)
	other := eventstore.New(l.pool, eventlogtest.Registry(t), nil)
	var want []int64
	texts := make([]string, 300)
	for range 10 {
		undone, err := l.pool.Begin(t.Context()) // leaves a gap
		require.NoError(t, err)
		_, err = other.AppendIn(t.Context(), undone, noted("undone", eventlog.AnyVersion, "x"))
		require.NoError(t, err)
		require.NoError(t, undone.Rollback(t.Context()))
		got, err := other.Append(t.Context(), noted("other", eventlog.AnyVersion, texts...))
		require.NoError(t, err)
		want = append(want, positions(got)...)
	}
	l.store.Signal()
	require.Equal(t, want, positions(l.collect(t, after, len(want))))
}

// More events than memory is given for, while the tail's connection is away, are read from the log.
func TestOwnEventsBeyondMemoryAreReadFromTheLog(t *testing.T) {
	t.Parallel()
	l, proxy, after := newProxied(t)
	proxy.Stop(true)
	texts := make([]string, 500)
	var want []int64
	for range 10 {
		want = append(want, positions(l.append(t, noted("s", eventlog.AnyVersion, texts...)))...)
	}
	proxy.Stop(false)
	require.Equal(t, want, positions(l.collect(t, after, len(want))))
}
