//go:build unix

package projections_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/projections/fanout"
	"github.com/millrace-dev/millrace/projections/jobs"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

// watchers is what one API process tells its sockets.
type watchers struct {
	tail  *eventstore.Tailer
	fan   *fanout.Fanout
	ended chan error // of the tail
	stop  func()
}

func newWatchers(t *testing.T, pool *pgxpool.Pool, store *eventstore.Store, registry *eventlog.Registry,
	tail *eventstore.Tailer,
) *watchers {
	t.Helper()
	w := &watchers{tail: tail, ended: make(chan error, 1)}
	w.fan = fanout.New(jobs.NewReader(pool, registry, nil), store, registry, stream.NewHub(stream.HubOptions{}), slog.New(slog.DiscardHandler))
	process, end := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	go func() { // the process ends with its tail
		err := tail.Run(process)
		end()
		w.ended <- err
		done <- struct{}{}
	}()
	go func() {
		_ = w.fan.Run(process, tail, stream.NewLocal()) // it ends with the process
		done <- struct{}{}
	}()
	w.stop = func() { end(); <-done; <-done }
	return w
}

// jobEvents appends events of a job, and gives it a slot until the event that ends it, as the transactions of these events do.
func jobEvents(t *testing.T, pool *pgxpool.Pool, store *eventstore.Store, id job.ID, events ...eventlog.Event) {
	t.Helper()
	_, err := store.Append(t.Context(), eventlog.Append{Stream: id.Stream(), Account: "acme", Expected: eventlog.AnyVersion, Events: events})
	require.NoError(t, err)
	if events[len(events)-1].Type == job.TypeSucceeded {
		_, err = pool.Exec(t.Context(), `delete from job_slots where job_id = $1::uuid`, id)
	} else {
		_, err = pool.Exec(t.Context(), `insert into job_slots (job_id, account, run) values ($1::uuid, 'acme', 1)`, id)
	}
	require.NoError(t, err)
}

func begun() []eventlog.Event {
	return []eventlog.Event{
		{ID: uuid.New(), Type: job.TypeSubmitted, Data: job.SubmittedV1{Targets: []string{"9"}}},
		{ID: uuid.New(), Type: job.TypeAdmitted, Data: job.AdmittedV1{Run: 1}},
		{ID: uuid.New(), Type: job.TypeStarted, Data: job.StartedV1{Run: 1, NodesTotal: 1}},
	}
}

func succeeded(id job.ID) eventlog.Event {
	return eventlog.Event{ID: job.EventID(id, 1, "", 0, job.TypeSucceeded), Type: job.TypeSucceeded, Data: job.SucceededV1{Run: 1}}
}

// ends counts the ends of jobs that a subscription delivers, until enough says so or the subscription is closed.
func ends(t *testing.T, sub *stream.Subscription, enough func(map[job.ID]int) bool) (delivered map[job.ID]int, closed error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	delivered = map[job.ID]int{}
	for !enough(delivered) {
		messages, err := sub.Next(ctx)
		if err != nil {
			require.NoError(t, ctx.Err(), "delivered %v", delivered)
			return delivered, err
		}
		for _, m := range messages {
			var frame struct {
				Type string `json:"type"`
			}
			if m.Text != nil {
				require.NoError(t, json.Unmarshal(m.Text, &frame))
			}
			if frame.Type == "execution_success" {
				delivered[m.Job]++
			}
		}
	}
	return delivered, nil
}

// A standby that lagged is promoted: it does not have the ends that watchers have received, and the jobs end once more. A
// connection, which ends with the process, delivers no end twice; who watches afterwards receives each end once, also one
// that stands before what the process had seen of the other past.
func TestEndsAreDeliveredOnceAcrossAFailover(t *testing.T) {
	t.Parallel()
	pair := pgtest.NewPair(t)
	dsn, registry := pair.URL(), eventlogtest.Registry(t)
	require.NoError(t, job.Register(registry))
	require.NoError(t, postgres.Migrate(t.Context(), dsn, t.Logf))
	pool := projectiontest.OpenPool(t, dsn)
	store := eventstore.New(pool, registry, nil)
	toPrimary, toStandby := pgtest.NewProxy(t, pair.PrimaryURL()), pgtest.NewProxy(t, pair.StandbyURL())
	toStandby.Outage(true) // the tail is the last to come back
	first := newWatchers(t, pool, store, registry, projectiontest.OpenTail(t, pool, eitherOf(t, toPrimary, toStandby), nil,
		eventstore.TailerOptions{Poll: 10 * time.Millisecond, RingEvents: 8}))
	sub, _, err := first.fan.Subscribe(t.Context(), "acme")
	require.NoError(t, err)
	soon, late := job.NewID(), job.NewID()
	for _, id := range []job.ID{soon, late} {
		jobEvents(t, pool, store, id, begun()...)
	}
	var replayed bool
	for !replayed { // the standby has both jobs
		require.NoError(t, pool.QueryRow(t.Context(), `select coalesce(bool_and(replay_lsn >= pg_current_wal_lsn()), false)
			from pg_stat_replication`).Scan(&replayed))
	}
	pair.Disconnect()
	for _, id := range []job.ID{soon, late} {
		jobEvents(t, pool, store, id, succeeded(id))
	}
	both := func(delivered map[job.ID]int) bool { return delivered[soon] > 0 && delivered[late] > 0 }
	delivered, err := ends(t, sub, both)
	require.NoError(t, err)
	require.Equal(t, map[job.ID]int{soon: 1, late: 1}, delivered)

	pair.Promote()
	pair.Kill()
	require.Eventually(t, func() bool { return pool.Ping(t.Context()) == nil }, 2*time.Minute, 10*time.Millisecond)
	pool.Reset()
	jobEvents(t, pool, store, soon, succeeded(soon)) // while the process has not noticed
	toStandby.Outage(false)
	require.ErrorIs(t, receive(t, first.ended), eventlog.ErrRewound)
	delivered, err = ends(t, sub, func(map[job.ID]int) bool { return false })
	require.Error(t, err, "the connection ends with the process")
	require.Empty(t, delivered, "nobody receives an end twice over one connection")
	first.stop()

	second := newWatchers(t, pool, store, registry,
		projectiontest.OpenTail(t, pool, dsn, nil, eventstore.TailerOptions{Poll: 10 * time.Millisecond}))
	defer second.stop()
	sub, snap, err := second.fan.Subscribe(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, snap.Jobs, 1, "the job whose end was lost runs")
	require.Equal(t, late, snap.Jobs[0].Job.ID)
	jobEvents(t, pool, store, late, succeeded(late))
	delivered, err = ends(t, sub, func(delivered map[job.ID]int) bool { return delivered[late] > 0 })
	require.NoError(t, err)
	require.Equal(t, map[job.ID]int{late: 1}, delivered)
}
