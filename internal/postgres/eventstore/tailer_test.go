package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// tailing is a log with a running tailer.
type tailing struct {
	dsn   string
	pool  *pgxpool.Pool
	store *eventstore.Store
	tail  *eventstore.Tailer
}

// startTailing runs a tailer over a fresh log until the test ends.
func startTailing(t testing.TB, opts eventstore.TailerOptions) *tailing {
	t.Helper()
	l := &tailing{dsn: storetest.NewDatabase(t)}
	l.pool = storetest.OpenPool(t, l.dsn)
	wake := eventstore.NewWake(l.dsn, slog.New(slog.DiscardHandler))
	l.store = eventstore.New(l.pool, eventlogtest.Registry(t), wake)
	l.tail = openTail(t, l.pool, l.dsn, wake, opts)
	background(t, l.tail.Run, wake.Run)
	return l
}

// openTail opens a tailer that nobody runs yet.
func openTail(t testing.TB, pool *pgxpool.Pool, dsn string, wake *eventstore.Wake, opts eventstore.TailerOptions) *eventstore.Tailer {
	t.Helper()
	tail, err := eventstore.OpenTailer(t.Context(), pool, dsn, wake, opts)
	require.NoError(t, err)
	return tail
}

// settled waits until a tailer has reached the end of the log, and returns it.
func settled(t testing.TB, tail *eventstore.Tailer) (end int64) {
	t.Helper()
	require.Eventually(t, func() (ok bool) {
		end, ok = tail.End()
		return ok
	}, generous, time.Millisecond)
	return end
}

// background runs tasks until the test ends.
func background(t testing.TB, tasks ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, task := range tasks {
		wg.Go(func() { _ = task(ctx) })
	}
	t.Cleanup(func() { cancel(); wg.Wait() })
}

func (l *tailing) append(t testing.TB, a eventlog.Append) []eventlog.Recorded {
	t.Helper()
	recorded, err := l.store.Append(t.Context(), a)
	require.NoError(t, err)
	return recorded
}

// hold opens a transaction that has appended and is not yet ended.
func (l *tailing) hold(t testing.TB, a eventlog.Append) (pgx.Tx, int64) {
	t.Helper()
	tx, err := l.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	recorded, err := l.store.AppendIn(t.Context(), tx, a)
	require.NoError(t, err)
	return tx, recorded[0].Position
}

// generous is how long anything may take; far more than it does.
const generous = 2 * time.Minute

// within fails the test if f takes longer than a generous bound.
func within[T any](t testing.TB, f func(ctx context.Context) (T, error)) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), generous)
	defer cancel()
	v, err := f(ctx)
	require.NoError(t, err)
	return v
}

func (l *tailing) next(t testing.TB, after int64) []eventlog.Recorded {
	t.Helper()
	return within(t, func(ctx context.Context) ([]eventlog.Recorded, error) { return l.tail.Next(ctx, after, 500) })
}

// collect follows the log from after until it has n events.
func (l *tailing) collect(t testing.TB, after int64, n int) []eventlog.Recorded {
	t.Helper()
	var got []eventlog.Recorded
	for len(got) < n {
		page := l.next(t, after)
		got = append(got, page...)
		after = page[len(page)-1].Position
	}
	return got
}

func (l *tailing) naive(t testing.TB, after int64) []int64 {
	t.Helper()
	rows, err := l.pool.Query(t.Context(), `select position from events where position > $1 order by position`, after)
	require.NoError(t, err)
	positions, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	require.NoError(t, err)
	return positions
}

func positions(events []eventlog.Recorded) []int64 {
	out := make([]int64, len(events))
	for i, e := range events {
		out[i] = e.Position
	}
	return out
}

// holdForeign opens a write transaction in another database of the same cluster.
func holdForeign(t testing.TB) {
	t.Helper()
	pool := storetest.OpenPool(t, pgtest.Database(t))
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	_, err = tx.Exec(t.Context(), `create table t (x int)`)
	require.NoError(t, err)
	// Even the same advisory key there is not ours.
	_, err = tx.Exec(t.Context(), `select pg_advisory_xact_lock_shared($1, hashtext(current_schema()))`, 0x6d696c6c)
	require.NoError(t, err)
}

func TestTailerWaitsForALateCommit(t *testing.T) {
	t.Parallel()
	l := startTailing(t, eventstore.TailerOptions{})
	holdForeign(t)
	_ = settled(t, l.tail)
	late, first := l.hold(t, noted("late", 0, "takes its position first"))
	second := l.append(t, noted("early", 0, "commits first"))[0].Position
	require.Less(t, first, second)

	naive := l.naive(t, 0)
	require.Equal(t, []int64{second}, naive, "a naive reader goes past the open transaction")

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := l.tail.Next(ctx, 0, 500)
	require.ErrorIs(t, err, context.DeadlineExceeded, "nothing behind the gap is delivered")

	require.NoError(t, late.Commit(t.Context()))
	require.Equal(t, []int64{first, second}, positions(l.collect(t, 0, 2)))
	require.Empty(t, l.naive(t, naive[0]), "and so the naive reader has lost the late event")
}

func TestTailerSkipsARolledBackPosition(t *testing.T) {
	t.Parallel()
	l := startTailing(t, eventstore.TailerOptions{})
	holdForeign(t)
	_ = settled(t, l.tail)
	undone, first := l.hold(t, noted("undone", 0, "rolled back"))
	second := l.append(t, noted("s", 0, "stays"))[0].Position
	require.NoError(t, undone.Rollback(t.Context()))
	third := l.append(t, noted("s", 1, "next"))[0].Position
	require.Less(t, first, second)
	require.Equal(t, []int64{second, third}, positions(l.collect(t, 0, 2)))
}

func TestTailerStartsBehindOpenAppends(t *testing.T) {
	t.Parallel()
	dsn := storetest.NewDatabase(t)
	l := &tailing{dsn: dsn, pool: storetest.OpenPool(t, dsn)}
	l.store = eventstore.New(l.pool, eventlogtest.Registry(t), nil)
	open, first := l.hold(t, noted("open", 0, "open when the tailer starts"))
	second := l.append(t, noted("s", 0, "committed"))[0].Position
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := eventstore.OpenTailer(ctx, l.pool, dsn, nil, eventstore.TailerOptions{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, open.Commit(t.Context()))
	l.tail = openTail(t, l.pool, dsn, nil, eventstore.TailerOptions{Poll: 10 * time.Millisecond})
	require.Equal(t, second, l.tail.Start())
	background(t, l.tail.Run)
	require.Equal(t, []int64{first, second}, positions(l.collect(t, 0, 2)))
}

func TestTailerReportsWhoHoldsAGap(t *testing.T) {
	t.Parallel()
	gaps := make(chan eventstore.Gap, 1)
	l := startTailing(t, eventstore.TailerOptions{SlowGap: 20 * time.Millisecond, OnSlowGap: func(g eventstore.Gap) { gaps <- g }})
	_ = settled(t, l.tail)
	tx, first := l.hold(t, noted("slow", 0, "x"))
	var pid int32
	require.NoError(t, tx.QueryRow(t.Context(), `select pg_backend_pid()`).Scan(&pid))
	second := l.append(t, noted("s", 0, "y"))[0].Position
	gap := within(t, func(ctx context.Context) (eventstore.Gap, error) {
		select {
		case g := <-gaps:
			return g, nil
		case <-ctx.Done():
			return eventstore.Gap{}, ctx.Err()
		}
	})
	require.Equal(t, first-1, gap.After)
	require.Equal(t, second, gap.UpTo)
	i := slices.IndexFunc(gap.Holders, func(h eventstore.Holder) bool { return h.PID == pid })
	require.GreaterOrEqual(t, i, 0, "%v", gap.Holders)
	require.Equal(t, "idle in transaction", gap.Holders[i].State)
	require.Equal(t, "millrace", gap.Holders[i].Application)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, []int64{first, second}, positions(l.collect(t, 0, 2)))
}

// TestTailerUnderLateCommits is the measured failure case: writers hold transactions open for up
// to 15 ms after taking positions and roll one in eight back, a foreign transaction is open, and a
// naive reader beside the tailer shows that the load does lose events.
func TestTailerUnderLateCommits(t *testing.T) {
	t.Parallel()
	l := startTailing(t, eventstore.TailerOptions{RingEvents: 64}) // small: readers also fall back to the database
	holdForeign(t)
	_ = settled(t, l.tail)
	const writers, each = 16, 40
	done := make(chan struct{})
	naive := make(chan int)
	go func() { naive <- l.readNaively(t, done) }()

	readers := make([]chan []eventlog.Recorded, 3)
	end := make(chan int64)
	for i := range readers {
		readers[i] = make(chan []eventlog.Recorded, 1)
		go func() { readers[i] <- l.readUntil(t, end) }()
	}
	var mu sync.Mutex
	var committed []int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			got := l.writeLate(t, fmt.Sprintf("w-%d", w), each)
			mu.Lock()
			defer mu.Unlock()
			committed = append(committed, got...)
		})
	}
	wg.Wait()
	last := l.append(t, noted("end", 0, "end"))[0].Position
	committed = append(committed, last)
	slices.Sort(committed)
	close(done)
	for range readers {
		end <- last
	}
	for _, r := range readers {
		got := <-r
		require.Equal(t, committed, positions(got), "nothing missed, nothing twice, in order")
		requireStreamOrder(t, got)
	}
	missed := len(committed) - <-naive
	t.Logf("%d committed, 0 missed; the naive reader missed %d", len(committed), missed)
	require.Positive(t, missed, "the load must be able to lose events")
}

// writeLate appends n times to one stream, holding each transaction open for up to 15 ms.
func (l *tailing) writeLate(t testing.TB, stream string, n int) []int64 {
	var committed []int64
	undo := errors.New("undo")
	for range n {
		var recorded []eventlog.Recorded
		err := pgx.BeginFunc(t.Context(), l.pool, func(tx pgx.Tx) error {
			var err error
			a := noted(stream, eventlog.AnyVersion, "a", "b")
			if recorded, err = l.store.AppendIn(t.Context(), tx, a); err != nil {
				return err
			}
			<-time.After(time.Duration(rand.IntN(15)) * time.Millisecond)
			if rand.IntN(8) == 0 {
				return undo
			}
			return nil
		})
		if errors.Is(err, undo) {
			continue
		}
		if err != nil {
			t.Errorf("append: %v", err)
			return committed
		}
		if rand.IntN(2) == 0 {
			l.store.Signal()
		} else {
			l.store.Announce(recorded)
		}
		committed = append(committed, positions(recorded)...)
	}
	return committed
}

// readUntil follows the log from its start to the position that end names.
func (l *tailing) readUntil(t testing.TB, end <-chan int64) []eventlog.Recorded {
	var got []eventlog.Recorded
	last, after := int64(-1), int64(0)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), generous)
		page, err := l.tail.Next(ctx, after, 7)
		cancel()
		if err != nil {
			t.Errorf("read: %v", err)
			return got
		}
		got = append(got, page...)
		after = page[len(page)-1].Position
		if last < 0 { // each reader receives one position
			select {
			case last = <-end:
			default:
			}
		}
		if after == last {
			return got
		}
		if last < 0 && page[len(page)-1].Stream == "end" {
			<-end
			return got
		}
	}
}

// readNaively counts what "position > last" sees.
func (l *tailing) readNaively(t testing.TB, done <-chan struct{}) int {
	seen, last := 0, int64(0)
	for {
		finished := false
		select {
		case <-done:
			finished = true
		default:
		}
		for _, p := range l.naive(t, last) {
			seen, last = seen+1, p
		}
		if finished {
			return seen
		}
		<-time.After(2 * time.Millisecond)
	}
}

func requireStreamOrder(t *testing.T, events []eventlog.Recorded) {
	t.Helper()
	versions := map[string]int64{}
	for _, e := range events {
		require.Equal(t, versions[e.Stream]+1, e.Version, "stream %s", e.Stream)
		versions[e.Stream] = e.Version
	}
}

func TestTailerSurvivesLostConnections(t *testing.T) {
	t.Parallel()
	l := startTailing(t, eventstore.TailerOptions{Poll: time.Hour}) // only wake-ups
	first := l.append(t, noted("s", 0, "before"))
	require.Equal(t, positions(first), positions(l.collect(t, 0, 1)))
	for i := range 3 {
		_, err := l.pool.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and application_name like 'millrace %'`)
		require.NoError(t, err)
		got := l.append(t, noted("s", int64(i+1), "after"))
		require.Equal(t, positions(got), positions(l.next(t, got[0].Position-1)))
	}
}

func TestWakeCrossesProcesses(t *testing.T) {
	t.Parallel()
	reader := startTailing(t, eventstore.TailerOptions{Poll: time.Hour})
	_ = settled(t, reader.tail)
	other := eventstore.NewWake(reader.dsn, slog.New(slog.DiscardHandler)) // as another process has one
	background(t, other.Run)
	writer := eventstore.New(reader.pool, eventlogtest.Registry(t), other)
	after := int64(0)
	for i := range 20 {
		got, err := writer.Append(t.Context(), noted("s", int64(i), "x"))
		require.NoError(t, err)
		require.Equal(t, positions(got), positions(reader.next(t, after)))
		after = got[0].Position
	}
}

func TestACommandNotifiesTheProcessesThatRun(t *testing.T) {
	t.Parallel()
	reader := startTailing(t, eventstore.TailerOptions{Poll: time.Hour})
	after := settled(t, reader.tail)
	writer := eventstore.New(reader.pool, eventlogtest.Registry(t), eventstore.NewCommandWake(reader.pool))
	got, err := writer.Append(t.Context(), noted("s", 0, "x"))
	require.NoError(t, err)
	require.Equal(t, positions(got), positions(reader.next(t, after)))
}

// The writer was killed between its commit and the notification of others.
func TestAnEventIsReadAlthoughItsNotificationIsLost(t *testing.T) {
	t.Parallel()
	reader := startTailing(t, eventstore.TailerOptions{})
	after := settled(t, reader.tail)
	writer := eventstore.New(reader.pool, eventlogtest.Registry(t), nil)
	got, err := writer.Append(t.Context(), noted("s", 0, "x"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	read, err := reader.tail.Next(ctx, after, 10)
	require.NoError(t, err)
	require.Equal(t, positions(got), positions(read))
}

// A process alone notifies nobody: each notification is a commit. One that begins to listen learns of what comes.
func TestWakeNotifiesOnlyWhereAnotherProcessListens(t *testing.T) {
	t.Parallel()
	dsn := storetest.NewDatabase(t)
	pool, quiet := storetest.OpenPool(t, dsn), slog.New(slog.DiscardHandler)
	alone := eventstore.NewWake(dsn, quiet)
	background(t, alone.Run)
	awaitListening(t, pool)
	writer := eventstore.New(pool, eventlogtest.Registry(t), alone)
	heard, err := pgx.Connect(t.Context(), dsn) // its name is not that of a process that listens
	require.NoError(t, err)
	defer heard.Close(context.Background())
	_, err = heard.Exec(t.Context(), `select set_config('application_name', 'spy', false)`)
	require.NoError(t, err)
	_, err = heard.Exec(t.Context(), `listen millrace_public`)
	require.NoError(t, err)
	for i := range 5 {
		_, err := writer.Append(t.Context(), noted("s", int64(i), "x"))
		require.NoError(t, err)
	}
	quietly, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err = heard.WaitForNotification(quietly)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	other := eventstore.NewWake(dsn, quiet)
	tail := openTail(t, pool, dsn, other, eventstore.TailerOptions{Poll: time.Hour})
	l := &tailing{dsn: dsn, pool: pool, tail: tail, store: writer}
	background(t, other.Run, tail.Run)
	_ = settled(t, tail)
	got := l.append(t, noted("s", 5, "x"))
	require.Equal(t, positions(got), positions(l.next(t, got[0].Position-1)))
}

// awaitListening waits until a process listens for notifications. Until then it does not know its own session.
func awaitListening(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	require.Eventually(t, func() bool {
		var listens bool
		err := pool.QueryRow(t.Context(), `select exists (select from pg_stat_activity where datname = current_database()
			and application_name = 'millrace listen' and query like 'listen %')`).Scan(&listens)
		return err == nil && listens
	}, generous, 5*time.Millisecond)
}

func TestTailerServesOldPositionsFromTheDatabase(t *testing.T) {
	t.Parallel()
	l := startTailing(t, eventstore.TailerOptions{RingEvents: 10})
	var want []int64
	for i := range 50 {
		want = append(want, positions(l.append(t, noted("s", int64(i), "x")))...)
	}
	require.Equal(t, want, positions(l.collect(t, 0, 50)))
	require.Equal(t, want[30:], positions(l.collect(t, want[29], 20)))
}
