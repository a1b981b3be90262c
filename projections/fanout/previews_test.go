package fanout_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
)

// paint runs a node in so many jobs, each of which shows a picture.
func (w *watch) paint(t *testing.T, jobs int, data string) {
	t.Helper()
	for i := range jobs {
		of := job.ID(fmt.Sprintf("22222222-2222-4333-8444-%012d", i))
		recs := w.log.append(t, owner, of, submitted(), job.AdmittedV1{Run: 1}, job.StartedV1{Run: 1}, job.NodeStartedV1{Run: 1, Node: "3"})
		require.NoError(t, w.out.Handle(t.Context(), recs))
		f := preview("3", data)
		f.Job = of
		w.out.HandleFrame(f)
		drain(t, w.sub)
	}
}

// kept returns the jobs of which a new watcher is shown a picture.
func (w *watch) kept(t *testing.T) (jobs []job.ID) {
	t.Helper()
	sub, snap := w.subscribe(t)
	sub.Close()
	for _, j := range snap.Jobs {
		if j.Preview != nil {
			jobs = append(jobs, j.Job.ID)
		}
	}
	return jobs
}

func TestPreviewsOfManyJobsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.paint(t, 300, "small")
	kept := w.kept(t)
	require.Len(t, kept, 256)
	require.Contains(t, kept, job.ID("22222222-2222-4333-8444-000000000299"), "the newest")
	require.NotContains(t, kept, job.ID("22222222-2222-4333-8444-000000000000"), "the oldest")
}

func TestPreviewsOfManyBytesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.paint(t, 70, string(make([]byte, stream.MaxFrameData)))
	require.Len(t, w.kept(t), 64)
}

// A job that ends while a node runs leaves no picture behind, and its place is free.
func TestPreviewsEndWithTheirJobs(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.paint(t, 2, "x")
	first := job.ID("22222222-2222-4333-8444-000000000000")
	require.NoError(t, w.out.Handle(t.Context(), w.log.append(t, owner, first, job.CanceledV1{})))
	require.Equal(t, []job.ID{"22222222-2222-4333-8444-000000000001"}, w.kept(t))
}
