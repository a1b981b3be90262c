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

// A page of hundreds of waiting jobs with megabytes of names each must not be read into memory at once.
func TestQueuePageIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	target := strings.Repeat("x", 6<<20)
	var want []job.ID
	for i := range 12 {
		j := job.Job{ID: job.NewID(), Account: "large", State: job.Queued, Version: 1, Number: float64(-i), Targets: []string{target}}
		state, err := json.Marshal(j)
		require.NoError(t, err)
		_, err = l.pool.Exec(t.Context(), fmt.Sprintf(`insert into %s (id, account, state, number, submitted, version, created_at, metadata, job)
			values ($1, 'large', 'queued', $2, $3, 1, now(), '{}', $4)`, jobs.Name), string(j.ID), j.Number, i+1, string(state))
		require.NoError(t, err)
		want = append([]job.ID{j.ID}, want...)
	}
	var got []job.ID
	for q := (jobs.Line{Waiting: true}); ; {
		page, err := l.reader.Line(t.Context(), "large", q)
		require.NoError(t, err)
		require.NotEmpty(t, page.Jobs)
		require.LessOrEqual(t, len(page.Jobs), 10)
		got = append(got, ids(page.Jobs)...)
		if q.After = page.Next; q.After == nil {
			break
		}
	}
	require.Equal(t, want, got)
}
