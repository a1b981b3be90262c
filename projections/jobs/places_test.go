package jobs_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// A page of a thousand jobs with megabytes each must not be read into memory at once.
func TestJobPageIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	const many, mib = 12, 1 << 20
	ui := json.RawMessage(`{"text":["` + strings.Repeat("x", 6*mib) + `"]}`)
	var want []job.ID
	for i := range many {
		j := job.Job{
			ID: job.NewID(), Account: "large", State: job.Succeeded, Version: 1,
			Outputs: []job.NodeOutput{{Node: "1", UI: ui, Files: []job.OutputFile{{Asset: "a", ContentType: "image/png"}}}},
		}
		state, err := json.Marshal(j)
		require.NoError(t, err)
		_, err = l.pool.Exec(t.Context(), fmt.Sprintf(`insert into %s (id, account, state, number, submitted, version, created_at, metadata, job)
			values ($1, 'large', 'succeeded', 1, $2, 1, now(), '{}', $3)`, jobs.Name), string(j.ID), i+1, string(state))
		require.NoError(t, err)
		want = append([]job.ID{j.ID}, want...)
	}
	var got []job.ID
	for q := (jobs.Query{Limit: 1000}); ; {
		page, err := l.reader.List(t.Context(), "large", q)
		require.NoError(t, err)
		require.NotEmpty(t, page.Jobs)
		require.LessOrEqual(t, len(page.Jobs), 10)
		got = append(got, ids(page.Jobs)...)
		if q.Before = page.Next; q.Before == 0 {
			break
		}
	}
	require.Equal(t, want, got)
	for _, o := range []jobs.Order{{Limit: 1000, Media: "image/"}} {
		got = nil
		for {
			found, total, err := l.reader.ListAt(t.Context(), "large", o)
			require.NoError(t, err)
			require.EqualValues(t, many, total)
			require.NotEmpty(t, found)
			require.LessOrEqual(t, len(found), 10)
			got = append(got, ids(found)...)
			if o.Offset += len(found); o.Offset >= many {
				break
			}
		}
		require.Equal(t, want, got, "%+v", o)
	}
}
