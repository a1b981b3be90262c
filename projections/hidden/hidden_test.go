package hidden_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/hidden"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	view "github.com/millrace-dev/millrace/projections/hidden"
	"github.com/millrace-dev/millrace/projections/projectiontest"
)

func registry(tb testing.TB) *eventlog.Registry {
	tb.Helper()
	r := eventlog.NewRegistry()
	require.NoError(tb, hidden.Register(r))
	return r
}

func given(account, kind string, data any) projectiontest.Given {
	return projectiontest.Given{Stream: hidden.Stream(account), Account: account, Type: kind, Data: data}
}

func log() []projectiontest.Given {
	return []projectiontest.Given{
		given("acme", hidden.TypeJobsHidden, hidden.JobsHiddenV1{Jobs: []string{"a", "b", "a"}}),
		given("other", hidden.TypeJobsHidden, hidden.JobsHiddenV1{Jobs: []string{"a"}}),
		given("acme", hidden.TypeCleared, hidden.ClearedV1{Position: 7, Kept: []string{"c"}}),
		given("acme", hidden.TypeJobsHidden, hidden.JobsHiddenV1{Jobs: []string{"c", "d"}}),
		given("third", hidden.TypeCleared, hidden.ClearedV1{Position: 9}),
	}
}

func TestHiddenJobsView(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Golden(t, projectiontest.NewPool, view.NewProjection(r), "hidden", projectiontest.Record(t, r, log()...))
}

func TestHiddenJobsViewEqualsItsRebuild(t *testing.T) {
	t.Parallel()
	r := registry(t)
	projectiontest.Live(t, r, view.NewProjection(r), log()...)
}

// TestReadsAreNeverBehindTheLog folds each prefix of the events; the reader adds the rest.
func TestReadsAreNeverBehindTheLog(t *testing.T) {
	t.Parallel()
	r, pool := registry(t), projectiontest.NewPool(t)
	store := eventstore.New(pool, r, nil)
	recorded := projectiontest.Append(t, store, log()...)
	view, reader := view.NewProjection(r), view.NewReader(pool, r)
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
