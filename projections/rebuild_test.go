package projections_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/projections"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

func TestCheckFindsEveryKindOfDifference(t *testing.T) {
	t.Parallel()
	s, view := newSystem(t), &notes{}
	s.run(t, s.part, projections.Options{}, view.projection())
	var last int64
	for i := range 5 {
		last = s.note(t, fmt.Sprintf("note-%d", i), "x")
	}
	projectiontest.WaitFor(t, s.pool, view.projection(), last)
	_, err := s.pool.Exec(t.Context(), `update notes_v1 set last = 'X' where stream = 'note-1'`)
	require.NoError(t, err)
	_, err = s.pool.Exec(t.Context(), `delete from notes_v1 where stream = 'note-2'`)
	require.NoError(t, err)
	_, err = s.pool.Exec(t.Context(), `insert into notes_v1 values ('note-9', 1, 'x')`)
	require.NoError(t, err)
	report, err := projections.Check(t.Context(), s.pool, view.projection(), projections.RebuildOptions{})
	require.NoError(t, err)
	require.False(t, report.Same())
	require.Equal(t, last, report.Position)
	require.Equal(t, int64(5), report.Rows)
	require.Equal(t, []projections.Difference{
		{Table: "notes_v1", Key: "(note-1)", Kind: "changed"},
		{Table: "notes_v1", Key: "(note-2)", Kind: "missing"},
		{Table: "notes_v1", Key: "(note-9)", Kind: "extra"},
	}, report.Differences)
	_, err = projections.Rebuild(t.Context(), s.pool, view.projection(), projections.RebuildOptions{})
	require.NoError(t, err)
	report, err = projections.Check(t.Context(), s.pool, view.projection(), projections.RebuildOptions{})
	require.NoError(t, err)
	require.True(t, report.Same())
}

// TestRebuildWhileTheViewMovesAndIsRead rebuilds again and again under writers and readers.
func TestRebuildWhileTheViewMovesAndIsRead(t *testing.T) {
	t.Parallel()
	s, view := newSystem(t), &notes{}
	s.run(t, s.part, projections.Options{}, view.projection())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				s.note(t, fmt.Sprintf("note-%d-%d", w, i%50), fmt.Sprint(i))
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			var n int64
			if err := s.pool.QueryRow(ctx, `select count(*) from notes_v1`).Scan(&n); err != nil && ctx.Err() == nil {
				t.Errorf("a reader saw the swap: %v", err)
				return
			}
		}
	})
	for range 3 {
		_, err := projections.Rebuild(t.Context(), s.pool, view.projection(), projections.RebuildOptions{})
		require.NoError(t, err)
		report, err := projections.Check(t.Context(), s.pool, view.projection(), projections.RebuildOptions{})
		require.NoError(t, err)
		require.Empty(t, report.Differences)
	}
	stop()
	wg.Wait()
	projectiontest.WaitFor(t, s.pool, view.projection(), s.note(t, "note-end", "end"))
	projectiontest.RebuildsSame(t, s.pool, view.projection())
	requireNames(t, s)
}

// requireNames checks that a rebuilt table has the indexes and keys that migrations know.
func requireNames(t *testing.T, s *system) {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), `select indexdef from pg_indexes where tablename = 'notes_v1' order by indexname`)
	require.NoError(t, err)
	indexes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{
		"CREATE INDEX notes_v1_last ON public.notes_v1 USING btree (last) WHERE (version > 1)",
		"CREATE UNIQUE INDEX notes_v1_stream ON public.notes_v1 USING btree (stream)",
	}, indexes)
	var options []string
	require.NoError(t, s.pool.QueryRow(t.Context(), `select reloptions from pg_class where oid = 'notes_v1'::regclass`).Scan(&options))
	require.Equal(t, []string{"fillfactor=80"}, options)
}

func TestAnInterruptedRebuildChangesNothing(t *testing.T) {
	t.Parallel()
	s, view := newSystem(t), &notes{}
	stop := s.run(t, s.part, projections.Options{}, view.projection())
	last := s.note(t, "note-1", "a", "b")
	projectiontest.WaitFor(t, s.pool, view.projection(), last)
	stop()
	view.gate, view.entered = make(chan struct{}), make(chan struct{}, 10)

	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := projections.Rebuild(ctx, s.pool, view.projection(), projections.RebuildOptions{})
		failed <- err
	}()
	receive(t, view.entered)
	_, err := projections.Check(t.Context(), s.pool, view.projection(), projections.RebuildOptions{})
	require.Equal(t, fault.CodeRebuildRunning, fault.CodeOf(err))
	cancel()
	require.ErrorIs(t, receive(t, failed), context.Canceled)
	require.Equal(t, "b", s.last(t, "note-1"))

	view.gate, view.entered = nil, nil
	projectiontest.RebuildsSame(t, s.pool, view.projection())
}

func TestRebuildReportsItsProgress(t *testing.T) {
	t.Parallel()
	s, view := newSystem(t), &notes{}
	s.run(t, s.part, projections.Options{}, view.projection())
	var last int64
	for i := range 30 {
		texts := make([]string, 100)
		for k := range texts {
			texts[k] = fmt.Sprint(i, k)
		}
		last = s.note(t, fmt.Sprintf("note-%d", i), texts...)
	}
	projectiontest.WaitFor(t, s.pool, view.projection(), last)
	var done []int64
	started := time.Now()
	_, err := projections.Rebuild(t.Context(), s.pool, view.projection(), projections.RebuildOptions{Progress: func(d, total int64) {
		require.Equal(t, last, total)
		done = append(done, d)
	}})
	require.NoError(t, err)
	t.Logf("%d events in %s", last, time.Since(started))
	require.IsIncreasing(t, append([]int64{0}, done[:len(done)-1]...))
	require.Equal(t, last, done[len(done)-1])
}
