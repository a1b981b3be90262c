package eventstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// A tailer that comes back to a log without the events that it has handed out, as of a replica that lagged, ends with
// its process: waiting for the log to pass where it stands, it would deliver none of the events that take the
// lost ones' positions.
func TestTailerEndsAtALogThatWasRewound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lose    string
		again   bool   // events that take the positions
		before  string // what else happens to the log
		rewound bool
	}{
		"events are lost": {lose: `position > 1`, rewound: true},
		"events are lost, and others take their positions": {lose: `position > 1`, again: true, rewound: true},
		"events are lost, and others have later positions": {
			lose: `position > 1`, again: true, rewound: true,
			before: `select setval(pg_get_serial_sequence('events', 'position'), 40)`,
		},
		"an event among others is lost": {lose: `position = 2`, rewound: true},
		"events of a retired job are erased": {
			lose: `position = 1`, before: `insert into events (stream, version, id, type, account, data, meta, recorded_at)
				values ('s', 4, gen_random_uuid(), 'job.retired.v1', 'acme', '{}', '{}', now()); update streams set version = 4`,
		},
		"nothing happened to it": {lose: `false`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := storetest.NewDatabase(t)
			pool := storetest.OpenPool(t, dsn)
			store := eventstore.New(pool, eventlogtest.Registry(t), nil)
			add := func() {
				_, err := store.Append(t.Context(), noted("s", eventlog.AnyVersion, "x"))
				require.NoError(t, err)
			}
			tail := openTail(t, pool, dsn, nil, eventstore.TailerOptions{Poll: 10 * time.Millisecond})
			ended := make(chan error, 1)
			background(t, func(ctx context.Context) error { ended <- tail.Run(ctx); return nil })
			_ = settled(t, tail)
			for range 3 {
				add()
			}
			require.Len(t, (&tailing{tail: tail}).collect(t, 0, 3), 3)
			_, err := pool.Exec(t.Context(), `alter table events disable trigger events_are_final; delete from events where `+c.lose+`;
				delete from streams; insert into streams select stream, max(account), max(version) from events group by stream;
				select setval(pg_get_serial_sequence('events', 'position'), (select max(position) from events)); `+c.before)
			require.NoError(t, err)
			for range 2 {
				if c.again {
					add()
				}
			}
			_, err = pool.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
				where datname = current_database() and application_name = 'millrace tail'`)
			require.NoError(t, err)
			if c.rewound {
				require.ErrorContains(t, within(t, func(ctx context.Context) (error, error) {
					select {
					case err := <-ended:
						return err, nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}), "start this process again")
				return
			}
			add()
			require.NotEmpty(t, (&tailing{tail: tail}).collect(t, 3, 1))
		})
	}
}

// A reader that lags behind the ring reads through the pool, which may lead to the new primary before the tail notices. It
// is given nothing of the new past, by which it could receive an event twice.
func TestEventsOfALostLogAreNotReadFromMemory(t *testing.T) {
	t.Parallel()
	dsn := storetest.NewDatabase(t)
	pool := storetest.OpenPool(t, dsn)
	store := eventstore.New(pool, eventlogtest.Registry(t), nil)
	add := func() {
		_, err := store.Append(t.Context(), noted("s", eventlog.AnyVersion, "x"))
		require.NoError(t, err)
	}
	proxy := pgtest.NewProxy(t, dsn)
	tail := openTail(t, pool, proxy.URL(), nil, eventstore.TailerOptions{Poll: 10 * time.Millisecond, RingEvents: 2})
	ended := make(chan error, 1)
	background(t, func(ctx context.Context) error { ended <- tail.Run(ctx); return nil })
	_ = settled(t, tail)
	for range 6 {
		add()
	}
	require.Len(t, (&tailing{tail: tail}).collect(t, 4, 2), 2)
	require.Len(t, within(t, func(ctx context.Context) ([]eventlog.Recorded, error) { return tail.Next(ctx, 1, 10) }), 3,
		"what the ring has no longer")
	proxy.Outage(true)
	_, err := pool.Exec(t.Context(), `alter table events disable trigger events_are_final; delete from events where position > 2;
		delete from streams; insert into streams select stream, max(account), max(version) from events group by stream;
		select setval(pg_get_serial_sequence('events', 'position'), 2)`)
	require.NoError(t, err)
	for range 3 {
		add()
	}
	_, err = tail.Next(t.Context(), 1, 10)
	require.ErrorIs(t, err, eventlog.ErrRewound)
	proxy.Outage(false)
	require.ErrorIs(t, within(t, func(ctx context.Context) (error, error) {
		select {
		case err := <-ended:
			return err, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}), eventlog.ErrRewound)
}
