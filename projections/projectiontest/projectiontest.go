// Package projectiontest checks projections: given these events, the view has these rows. It checks for every
// projection that rows depend only on the events: not on the division of the log into batches, on repeated events, or
// on a rebuild.
package projectiontest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/projections"
)

// The flag of `go test -update`, which writes golden files anew.
var update = flag.Bool("update", false, "write golden files anew")

// Given is an event of a history.
type Given struct {
	Stream  string
	Account string
	Type    string
	Data    any
}

// Record returns the history as recorded events, with positions from 1, one second apart, and with the same ids on
// every run.
func Record(tb testing.TB, registry *eventlog.Registry, history ...Given) []eventlog.Recorded {
	tb.Helper()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	versions := map[string]int64{}
	out := make([]eventlog.Recorded, len(history))
	for i, g := range history {
		data, err := registry.Encode(eventlog.Event{Type: g.Type, Data: g.Data})
		require.NoError(tb, err)
		versions[g.Stream]++
		out[i] = eventlog.Recorded{
			Position: int64(i + 1), Stream: g.Stream, Version: versions[g.Stream], Type: g.Type, Account: g.Account,
			ID: uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "event %d", i+1)), Data: data,
			RecordedAt: start.Add(time.Duration(i) * time.Second),
		}
	}
	return out
}

// Golden folds events into an empty view and compares its rows with testdata/<name>.golden. It folds them in one
// batch, one by one, and each twice; the rows must be the same. newPool returns a pool on an empty, migrated
// database.
func Golden(t *testing.T, newPool func(testing.TB) *pgxpool.Pool, p projections.Projection, name string, events []eventlog.Recorded) {
	t.Helper()
	ways := map[string]func(*pgxpool.Pool){
		"in one batch": func(pool *pgxpool.Pool) { Apply(t, pool, p, events...) },
		"one by one": func(pool *pgxpool.Pool) {
			for _, e := range events {
				Apply(t, pool, p, e)
			}
		},
		"twice": func(pool *pgxpool.Pool) {
			for _, e := range events {
				Apply(t, pool, p, e, e)
			}
			Apply(t, pool, p, events...)
		},
	}
	got := map[string]string{}
	for way, fold := range ways {
		pool := newPool(t)
		fold(pool)
		got[way] = Dump(t, pool, p)
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got["in one batch"]), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	for way, rows := range got {
		require.Equal(t, string(want), rows, way)
	}
}

// Apply folds events in one batch.
func Apply(tb testing.TB, pool *pgxpool.Pool, p projections.Projection, events ...eventlog.Recorded) {
	tb.Helper()
	require.NoError(tb, pgx.BeginFunc(tb.Context(), pool, func(tx pgx.Tx) error { return p.Apply(tb.Context(), tx, events) }))
}

// Dump returns every row of the view as indented JSON, in order.
func Dump(tb testing.TB, pool *pgxpool.Pool, p projections.Projection) string {
	tb.Helper()
	var out strings.Builder
	for _, table := range p.Tables {
		fmt.Fprintf(&out, "-- %s\n", table)
		rows, err := pool.Query(tb.Context(), `select to_json(t) from `+pgx.Identifier{table}.Sanitize()+` t order by t::text`)
		require.NoError(tb, err)
		found, err := pgx.CollectRows(rows, pgx.RowTo[json.RawMessage])
		require.NoError(tb, err)
		for _, row := range found {
			var indented strings.Builder
			enc := json.NewEncoder(&indented)
			enc.SetIndent("", "  ")
			enc.SetEscapeHTML(false)
			require.NoError(tb, enc.Encode(row))
			out.WriteString(indented.String())
		}
	}
	return out.String()
}

// RebuildsSame checks that a view that a runner keeps up to date equals its rebuild, before and after the rebuild has
// replaced it.
func RebuildsSame(t testing.TB, pool *pgxpool.Pool, p projections.Projection) {
	t.Helper()
	before, err := projections.Check(t.Context(), pool, p, projections.RebuildOptions{})
	require.NoError(t, err)
	require.Empty(t, before.Differences)
	rebuilt, err := projections.Rebuild(t.Context(), pool, p, projections.RebuildOptions{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, rebuilt.Position, before.Position)
	after, err := projections.Check(t.Context(), pool, p, projections.RebuildOptions{})
	require.NoError(t, err)
	require.Empty(t, after.Differences)
}

// WaitFor returns once the projection's checkpoint has reached position.
func WaitFor(tb testing.TB, pool *pgxpool.Pool, p projections.Projection, position int64) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		at, err := projections.Position(ctx, pool, p.Name)
		require.NoError(tb, err)
		if at >= position {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(tb, "the projection did not reach the position", "%s at %d, not %d", p.Name, at, position)
		}
	}
}
