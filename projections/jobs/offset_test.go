package jobs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/projections/jobs"
)

func TestListAtPagesByOffsetAtEveryDistanceBehindTheLog(t *testing.T) {
	t.Parallel()
	answer := history()
	current := newLog(t)
	current.foldTo(t, tell(t, current.store, answer...))
	for _, at := range []int64{0, 7, 15} {
		lagging := newLog(t)
		tell(t, lagging.store, answer...)
		if at > 0 {
			lagging.foldTo(t, at)
		}
		for _, o := range []jobs.Order{
			{Limit: 10},
			{Limit: 1, Offset: 1},
			{Limit: 10, Offset: 99},
			{Limit: 2, Ascending: true},
			{Limit: 10, States: []job.State{job.Succeeded, job.Canceled}},
			{Limit: 10, Media: "image/"},
			{Limit: 10, Media: "audio/"},
			{Limit: 10, Workflow: "sunset"},
		} {
			want, all, err := current.reader.ListAt(t.Context(), "acme", o)
			require.NoError(t, err)
			got, total, err := lagging.reader.ListAt(t.Context(), "acme", o)
			require.NoError(t, err)
			require.Equal(t, ids(want), ids(got), "%+v", o)
			require.Equal(t, all, total)
		}
	}
	found, total, err := current.reader.ListAt(t.Context(), "acme", jobs.Order{Limit: 10, Workflow: "sunset"})
	require.NoError(t, err)
	require.Equal(t, []job.ID{id(3)}, ids(found))
	require.Equal(t, int64(1), total)
	found, total, err = current.reader.ListAt(t.Context(), "other", jobs.Order{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, found)
	require.Zero(t, total)
}

func TestListAtOrdersByExecutionTime(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	answer := history()
	last := tell(t, l.store, answer...)
	for _, folded := range []bool{false, true} {
		if folded {
			l.foldTo(t, last)
		}
		found, _, err := l.reader.ListAt(t.Context(), "acme", jobs.Order{Limit: 10, ByDuration: true})
		require.NoError(t, err)
		previous := int64(1 << 62)
		for _, j := range found {
			took := int64(0)
			if j.StartedAt != nil && j.EndedAt != nil {
				took = int64(j.EndedAt.Sub(*j.StartedAt))
			}
			require.LessOrEqual(t, took, previous)
			previous = took
		}
	}
}
