package jobs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/hidden"
	"github.com/millrace-dev/millrace/internal/domain/job"
	view "github.com/millrace-dev/millrace/projections/hidden"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// TestHiddenJobsAreLeftOutAtEveryDistanceBehindTheLog: job 1 succeeded, 2 failed, 3 was canceled.
func TestHiddenJobsAreLeftOutAtEveryDistanceBehindTheLog(t *testing.T) {
	t.Parallel()
	for _, at := range []int64{0, 7, 15} {
		l := newLog(t)
		last := tell(t, l.store, history()...)
		tell(t, l.store, submitted(4, nil))
		if at > 0 {
			l.foldTo(t, min(at, last))
		}
		shown := func(h view.Hiding) []job.ID {
			found, total, err := l.reader.ListAt(t.Context(), "acme", jobs.Order{Limit: 10, Hide: &h})
			require.NoError(t, err)
			require.EqualValues(t, len(found), total)
			return ids(found)
		}
		require.ElementsMatch(t, []job.ID{id(1), id(2), id(3), id(4)}, shown(view.Hiding{Table: true}))
		require.ElementsMatch(t, []job.ID{id(1), id(3), id(4)}, shown(view.Hiding{Marks: hidden.Marks{Hidden: []string{string(id(2))}}}))
		require.ElementsMatch(t, []job.ID{id(3), id(4)}, shown(view.Hiding{Marks: hidden.Marks{Cleared: last, Kept: []string{string(id(3))}}}),
			"a job that has not ended is never hidden")

		_, err := l.pool.Exec(t.Context(), `insert into history_v1_jobs (account, job) values ('acme', $1), ('other', $2)`, string(id(1)),
			string(id(2)))
		require.NoError(t, err)
		require.ElementsMatch(t, []job.ID{id(2), id(3), id(4)}, shown(view.Hiding{Table: true}))

		gone, err := l.reader.Hides(t.Context(), "acme", &view.Hiding{Table: true}, id(1))
		require.NoError(t, err)
		require.True(t, gone)
		gone, err = l.reader.Hides(t.Context(), "other", &view.Hiding{Table: true}, id(1))
		require.NoError(t, err)
		require.False(t, gone)

		state, err := l.reader.State(t.Context(), "acme")
		require.NoError(t, err)
		ended, err := l.reader.Ended(t.Context(), "acme", []string{string(id(1)), string(id(4)), "bogus"})
		require.NoError(t, err)
		require.Equal(t, []string{string(id(1))}, ended)
		cleared := shown(view.Hiding{Marks: hidden.Marks{Cleared: state.Position, Kept: state.Active, Hidden: state.Ended}})
		require.Equal(t, []job.ID{id(4)}, cleared, "clearing leaves what has not ended")
	}
}
