package projections_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

// notes is a view for these tests: the last text and the number of notes of each stream.
type notes struct {
	poisoned atomic.Bool   // whether "poison" fails
	entered  chan struct{} // notified of each batch, if not nil
	gate     chan struct{} // each batch waits for it, if not nil
}

const notesTable = `create table notes_v1 (stream text not null, version bigint not null, last text not null,
	constraint notes_v1_stream primary key (stream)) with (fillfactor = 80); create index notes_v1_last on notes_v1 (last) where version > 1`

func (n *notes) projection() projections.Projection {
	return projections.Projection{Name: "notes_v1", Tables: []string{"notes_v1"}, Fold: n.fold}
}

var errPoison = errors.New("poisonous note")

func (n *notes) fold(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
	if n.entered != nil {
		n.entered <- struct{}{}
	}
	if n.gate != nil {
		select {
		case <-n.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, rec := range batch {
		var note eventlogtest.NotedV1
		if err := json.Unmarshal(rec.Data, &note); err != nil {
			return err
		}
		switch {
		case n.poisoned.Load() && note.Text == "poison":
			return errPoison
		case n.poisoned.Load() && note.Text == "panic":
			panic("a bug")
		}
		_, err := tx.Exec(ctx, `insert into notes_v1 as n (stream, version, last) values ($1, $2, $3)
			on conflict (stream) do update set version = excluded.version, last = excluded.last
			where n.version = excluded.version - 1`, rec.Stream, rec.Version, note.Text)
		if err != nil {
			return err
		}
	}
	return nil
}

// system is a log with the parts of one process.
type system struct {
	dsn  string
	pool *pgxpool.Pool
	*part
}

// part is the log's parts of one process; stop ends them.
type part struct {
	store       *eventstore.Store
	tail        *eventstore.Tailer
	checkpoints *eventstore.Checkpoints
	stop        func()
}

func newSystem(t testing.TB) *system {
	t.Helper()
	s := &system{dsn: projectiontest.NewDatabase(t)}
	s.pool = projectiontest.OpenPool(t, s.dsn)
	_, err := s.pool.Exec(t.Context(), notesTable)
	require.NoError(t, err)
	s.part = s.process(t)
	return s
}

// process starts the parts of one more process.
func (s *system) process(t testing.TB) *part {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	wake := eventstore.NewWake(s.dsn, quiet)
	p := &part{
		store:       eventstore.New(s.pool, eventlogtest.Registry(t), wake),
		tail:        projectiontest.OpenTail(t, s.pool, s.dsn, wake, eventstore.TailerOptions{}),
		checkpoints: eventstore.NewCheckpoints(s.pool, s.dsn, quiet),
	}
	p.stop = projectiontest.Background(t, wake.Run, p.tail.Run, p.checkpoints.Run)
	return p
}

// run starts a runner of projections on a process.
func (s *system) run(t testing.TB, p *part, opts projections.Options, views ...projections.Projection) func() {
	t.Helper()
	runner, err := projections.NewRunner(s.pool, p.tail, p.checkpoints, opts, views...)
	require.NoError(t, err)
	return projectiontest.Background(t, runner.Run)
}

// note appends texts to a stream and returns the last position.
func (s *system) note(t testing.TB, stream string, texts ...string) int64 {
	t.Helper()
	a := eventlog.Append{Stream: stream, Account: "acme", Expected: eventlog.AnyVersion}
	for _, text := range texts {
		a.Events = append(a.Events, eventlogtest.Noted(text))
	}
	recorded, err := s.store.Append(t.Context(), a)
	require.NoError(t, err)
	return recorded[len(recorded)-1].Position
}

func (s *system) last(t testing.TB, stream string) string {
	t.Helper()
	var last string
	err := s.pool.QueryRow(t.Context(), `select coalesce(max(last), '') from notes_v1 where stream = $1`, stream).Scan(&last)
	require.NoError(t, err)
	return last
}

func receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(2 * time.Minute):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}
