package eventstore_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

func TestEventStoreConforms(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	eventlogtest.Run(t, func(_ testing.TB, r *eventlog.Registry) eventlog.Store {
		return eventstore.New(pool, r, nil)
	})
}

func noted(stream string, expected int64, texts ...string) eventlog.Append {
	a := eventlog.Append{Stream: stream, Account: "acme", Expected: expected}
	for _, text := range texts {
		a.Events = append(a.Events, eventlogtest.Noted(text))
	}
	return a
}

func TestAStreamIsNamedOnceInADecision(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	_, err := w.store.Write(t.Context(), noting("twice", noted("e", 0, "1"), noted("e", 1, "2")))
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

func TestAnIDOfARolledBackAppendIsFree(t *testing.T) {
	t.Parallel()
	w := newWriting(t)
	a := noted("s", 0, "x")
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = w.store.AppendIn(t.Context(), tx, a)
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(t.Context()))
	got, err := w.store.Append(t.Context(), a)
	require.NoError(t, err)
	head, err := w.store.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, got[0].Position, head)
	require.Equal(t, int64(2), head, "the rolled-back append burnt a position")
}

func TestRecordedEventsCannotChange(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	store := eventstore.New(pool, eventlogtest.Registry(t), nil)
	_, err := store.Append(t.Context(), noted("s", 0, "x"))
	require.NoError(t, err)
	for _, sql := range []string{`update events set type = 'y'`, `delete from events`, `truncate events`} {
		_, err := pool.Exec(t.Context(), sql)
		require.ErrorContains(t, err, "append-only", sql)
	}
}

func TestConflictingAppendsBurnNoPositions(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	store := eventstore.New(pool, eventlogtest.Registry(t), nil)
	for range 3 {
		_, _ = store.Append(t.Context(), noted("s", 5, "refused"))
	}
	got, err := store.Append(t.Context(), noted("s", 0, "x"))
	require.NoError(t, err)
	require.Equal(t, int64(1), got[0].Position)
}

func TestAwayDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), "host="+t.TempDir()+" user=nobody dbname=none", postgres.PoolOptions{})
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	_, err = postgres.Open(t.Context(), "postgres://%zz", postgres.PoolOptions{})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

// What passes must not fail the runs that meet it: they would be given up for a full disk, or because a replica is not
// promoted yet.
func TestReadOnlyDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	for name, sql := range map[string]string{
		"no space left":      `do $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`,
		"its files fail":     `do $$ begin raise exception 'could not write to file' using errcode = '58030'; end $$`,
		"a standby":          `begin transaction read only; insert into streams (id, account, version) values ('s', 'a', 1)`,
		"lost a deadlock":    `do $$ begin raise exception 'deadlock detected' using errcode = '40P01'; end $$`,
		"statement too long": `set statement_timeout = 10; select pg_sleep(60)`,
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.Error(t, err, name)
		require.Equal(t, fault.Unavailable, fault.KindOf(postgres.Classify(err, "write")), name)
	}
}

// Whoever runs the database may prefer another isolation; ours reads what stands behind a lock.
func TestTransactionsReadWhatIsCommitted(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	_, err := pool.Exec(t.Context(), `alter database `+pgx.Identifier{pool.Config().ConnConfig.Database}.Sanitize()+`
		set default_transaction_isolation = 'repeatable read'`)
	require.NoError(t, err)
	again := storetest.OpenPool(t, pool.Config().ConnString())
	var isolation string
	require.NoError(t, again.QueryRow(t.Context(), `show transaction_isolation`).Scan(&isolation))
	require.Equal(t, "read committed", isolation)
}
