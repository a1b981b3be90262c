package projections_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

func TestRunnerKeepsAViewUpToDate(t *testing.T) {
	t.Parallel()
	s, view := newSystem(t), &notes{}
	s.note(t, "note-1", "before the runner")
	s.run(t, s.part, projections.Options{}, view.projection())
	last := s.note(t, "note-2", "a", "b")
	projectiontest.WaitFor(t, s.pool, view.projection(), last)
	require.Equal(t, "before the runner", s.last(t, "note-1"))
	require.Equal(t, "b", s.last(t, "note-2"))
	projectiontest.RebuildsSame(t, s.pool, view.projection())
}

func TestRunnerHaltsAStreamThatFailsAndGoesOnWithOthers(t *testing.T) {
	t.Parallel()
	s, view := newSystem(t), &notes{}
	view.poisoned.Store(true)
	halted := make(chan projections.Halted, 10)
	s.run(t, s.part, projections.Options{OnHalt: func(h projections.Halted) { halted <- h }}, view.projection())
	for _, word := range []string{"poison", "panic"} {
		s.note(t, "note-"+word, "good")
		at := s.note(t, "note-"+word, word)
		s.note(t, "note-"+word, "held back")
		h := receive(t, halted)
		require.Equal(t, at, h.Position)
		require.Equal(t, "note-"+word, h.Stream)
	}
	last := s.note(t, "note-other", "goes on")
	projectiontest.WaitFor(t, s.pool, view.projection(), last)
	require.Equal(t, "goes on", s.last(t, "note-other"))
	require.Equal(t, "good", s.last(t, "note-poison"))

	list, err := projections.ListHalted(t.Context(), s.pool, "notes_v1")
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Contains(t, list[0].Error, "poisonous note")
	require.Contains(t, list[1].Error, "a bug")

	require.ErrorIs(t, projections.Resume(t.Context(), s.pool, view.projection(), "note-poison"), errPoison)
	require.Equal(t, "good", s.last(t, "note-poison"), "a resume that fails changes nothing")
	view.poisoned.Store(false)
	require.NoError(t, projections.Resume(t.Context(), s.pool, view.projection(), "note-poison"))
	require.Equal(t, "held back", s.last(t, "note-poison"))
	err = projections.Resume(t.Context(), s.pool, view.projection(), "note-poison")
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	last = s.note(t, "note-poison", "poison", "after")
	projectiontest.WaitFor(t, s.pool, view.projection(), last)
	require.Equal(t, "after", s.last(t, "note-poison"))
	require.Equal(t, "good", s.last(t, "note-panic"), "still halted")

	rebuilt, err := projections.Rebuild(t.Context(), s.pool, view.projection(), projections.RebuildOptions{})
	require.NoError(t, err)
	require.Empty(t, rebuilt.Halted)
	require.Equal(t, "held back", s.last(t, "note-panic"), "a rebuild with the repaired fold resumes")
	list, err = projections.ListHalted(t.Context(), s.pool, "")
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestRebuildHaltsWhatTheLiveViewHalted(t *testing.T) {
	t.Parallel()
	s, view := newSystem(t), &notes{}
	view.poisoned.Store(true)
	s.run(t, s.part, projections.Options{}, view.projection())
	s.note(t, "note-1", "good", "poison", "held")
	last := s.note(t, "note-2", "fine")
	projectiontest.WaitFor(t, s.pool, view.projection(), last)
	projectiontest.RebuildsSame(t, s.pool, view.projection())
	list, err := projections.ListHalted(t.Context(), s.pool, "")
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, int64(2), list[0].Position)
}

func TestRunnerOutlivesAnOutageOfTheDatabase(t *testing.T) {
	t.Parallel()
	s, view := newSystem(t), &notes{}
	_, err := s.pool.Exec(t.Context(), `alter table notes_v1 rename to notes_away`)
	require.NoError(t, err)
	view.entered = make(chan struct{}, 100)
	s.run(t, s.part, projections.Options{}, view.projection())
	last := s.note(t, "note-1", "patience")
	for range 3 {
		receive(t, view.entered)
	}
	_, err = s.pool.Exec(t.Context(), `alter table notes_away rename to notes_v1`)
	require.NoError(t, err)
	projectiontest.WaitFor(t, s.pool, view.projection(), last)
	require.Equal(t, "patience", s.last(t, "note-1"))
	list, err := projections.ListHalted(t.Context(), s.pool, "")
	require.NoError(t, err)
	require.Empty(t, list, "no event is to blame for a missing table")
}

func TestOneRunnerAtATimeAndTheOtherTakesOver(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	first, second := &notes{entered: make(chan struct{}, 1000)}, &notes{entered: make(chan struct{}, 1000)}
	stopFirst := s.run(t, s.part, projections.Options{}, first.projection())
	s.note(t, "note-0", "x")
	receive(t, first.entered)
	other := s.process(t)
	s.run(t, other, projections.Options{}, second.projection())
	var last int64
	for i := range 20 {
		last = s.note(t, fmt.Sprintf("note-%d", i), "x")
	}
	projectiontest.WaitFor(t, s.pool, first.projection(), last)
	require.Empty(t, second.entered, "the second stands by")
	stopFirst()
	last = s.note(t, "note-1", "taken over")
	receive(t, second.entered)
	projectiontest.WaitFor(t, s.pool, second.projection(), last)
	require.Equal(t, "taken over", s.last(t, "note-1"))
}

func TestRunnerWithoutItsLockCannotWrite(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	stuck := &notes{entered: make(chan struct{}, 1000), gate: make(chan struct{})}
	s.run(t, s.part, projections.Options{}, stuck.projection())
	s.note(t, "note-1", "one")
	receive(t, stuck.entered) // it is in its transaction, which has locked the checkpoint

	// Its lease ends: the session that holds the lock dies, while the batch's connection lives.
	_, err := s.pool.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and application_name = 'millrace checkpoints'`)
	require.NoError(t, err)
	second := &notes{}
	s.run(t, s.process(t), projections.Options{}, second.projection())
	last := s.note(t, "note-1", "two")
	close(stuck.gate)
	projectiontest.WaitFor(t, s.pool, second.projection(), last)
	require.Equal(t, "two", s.last(t, "note-1"))
	projectiontest.RebuildsSame(t, s.pool, second.projection())
}

// Commits are what keeping views costs: one that wants little makes few of them, and is still not
// behind the log for long.
func TestViewOfRareEventsKeepsItsCheckpointCurrent(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	batches := make(chan struct{}, 1000)
	view := (&notes{entered: batches}).projection()
	view.Wants = func(e eventlog.Recorded) bool { return e.Stream == "note-wanted" }
	s.run(t, s.part, projections.Options{}, view)
	last := s.note(t, "note-wanted", "first")
	projectiontest.WaitFor(t, s.pool, view, last)
	applied := len(batches)
	for i := range 50 {
		last = s.note(t, "note-other", fmt.Sprint(i))
	}
	projectiontest.WaitFor(t, s.pool, view, last)
	require.Len(t, batches, applied, "nothing was folded for events that it does not want")
	last = s.note(t, "note-wanted", "second")
	projectiontest.WaitFor(t, s.pool, view, last)
	require.Equal(t, "second", s.last(t, "note-wanted"))
	var rows int
	require.NoError(t, s.pool.QueryRow(t.Context(), `select count(*) from notes_v1`).Scan(&rows))
	require.Equal(t, 1, rows)
}

// statements collects what is sent to the database.
type statements struct {
	mu  sync.Mutex
	all []string
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, strings.Fields(data.SQL)[0])
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A view takes four statements for a batch beside its own, and no sync: what is halted is read where something is.
func TestABatchTakesFewStatementsAndNoSync(t *testing.T) {
	t.Parallel()
	s, view, seen := newSystem(t), (&notes{}).projection(), &statements{}
	var waits atomic.Value
	fold := view.Fold
	view.Fold = func(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
		var waited string
		if err := tx.QueryRow(ctx, `show synchronous_commit`).Scan(&waited); err != nil {
			return err
		}
		waits.Store(waited)
		return fold(ctx, tx, batch)
	}
	last := s.note(t, "note-1", "a", "b")
	cfg := s.pool.Config()
	cfg.ConnConfig.Tracer = seen
	traced, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer traced.Close()
	own := *s
	own.pool = traced
	own.run(t, s.part, projections.Options{}, view)
	projectiontest.WaitFor(t, s.pool, view, last)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	require.Equal(t, []string{"with", "show", "insert", "insert", "commit"}, seen.all[len(seen.all)-5:])
	require.Equal(t, "begin;", seen.all[len(seen.all)-6])
	require.Equal(t, "off", waits.Load())
}
