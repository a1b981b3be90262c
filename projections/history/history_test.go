package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	past "github.com/millrace-dev/millrace/internal/domain/hidden"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/projections/history"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

func registry(tb testing.TB) *eventlog.Registry {
	tb.Helper()
	r := eventlog.NewRegistry()
	require.NoError(tb, past.Register(r))
	return r
}

func given(account, kind string, data any) projectiontest.Given {
	return projectiontest.Given{Stream: past.Stream(account), Account: account, Type: kind, Data: data}
}

func log() []projectiontest.Given {
	return []projectiontest.Given{
		given("acme", past.TypeJobsHidden, past.JobsHiddenV1{Jobs: []string{"a", "b", "a"}}),
		given("other", past.TypeJobsHidden, past.JobsHiddenV1{Jobs: []string{"a"}}),
		given("acme", past.TypeCleared, past.ClearedV1{Position: 7, Kept: []string{"c"}}),
		given("acme", past.TypeJobsHidden, past.JobsHiddenV1{Jobs: []string{"c", "d"}}),
		given("third", past.TypeCleared, past.ClearedV1{Position: 9}),
	}
}

func TestHistoryView(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Golden(t, projectiontest.NewPool, history.NewProjection(r), "history", projectiontest.Record(t, r, log()...))
}

func TestHistoryViewEqualsItsRebuild(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Live(t, r, history.NewProjection(r), log()...)
}

// TestReadsAreNeverBehindTheLog folds each beginning of the history; the reader adds the rest.
func TestReadsAreNeverBehindTheLog(t *testing.T) {
	t.Parallel()
	r, pool := registry(t), projectiontest.NewPool(t)
	store := eventstore.New(pool, r, nil)
	recorded := projectiontest.Append(t, store, log()...)
	view, reader := history.NewProjection(r), history.NewReader(pool, r)
	for folded := range len(recorded) + 1 {
		if folded > 0 {
			projectiontest.Apply(t, pool, view, recorded[folded-1])
		}
		h, err := reader.Hiding(t.Context(), "acme")
		require.NoError(t, err)
		require.EqualValues(t, 3, h.Version)
		require.EqualValues(t, 7, h.Cleared)
		require.Equal(t, []string{"c"}, h.Kept)
		require.Equal(t, folded >= 3, h.Table, "rows of before the clearing do not count")
		require.Equal(t, folded < 4, len(h.Hidden) == 2, "either the reader adds them or the table has them")
	}
	none, err := reader.Hiding(t.Context(), "nobody")
	require.NoError(t, err)
	require.Nil(t, none)
}
