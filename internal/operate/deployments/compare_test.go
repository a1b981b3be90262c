package deployments

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// ended is a job whose output "2" expanded; files are of the nodes of the expansion, in the order in which they ended.
func ended(t *testing.T, blobs blob.Store, files ...[2]string) job.Job {
	t.Helper()
	j := job.Job{State: job.Succeeded, Deployment: &job.Deployed{Outputs: map[string]string{"2": "text"}}}
	for _, f := range files {
		ref, err := blob.PutBytes(t.Context(), blobs, []byte(f[1]))
		require.NoError(t, err)
		j.Outputs = append(j.Outputs, job.NodeOutput{
			Node: f[0], Files: []job.OutputFile{{Hash: ref.String()}}, Within: &job.Expansion{Parent: "2", Display: "2", Real: "2"},
		})
	}
	return j
}

func TestFilesOfExpandedNodesAreCompared(t *testing.T) {
	t.Parallel()
	o := &Service{Blobs: mem.New()}
	of := ended(t, o.Blobs, [2]string{"2.0.0.1", "a"}, [2]string{"2.0.0.2", "b"})
	for name, test := range map[string]struct {
		now     job.Job
		outcome Outcome
		files   int
	}{
		"equal":            {ended(t, o.Blobs, [2]string{"2.0.0.1", "a"}, [2]string{"2.0.0.2", "b"}), Identical, 2},
		"in another order": {ended(t, o.Blobs, [2]string{"2.0.0.2", "b"}, [2]string{"2.0.0.1", "a"}), Identical, 2},
		"one differs":      {ended(t, o.Blobs, [2]string{"2.0.0.1", "a"}, [2]string{"2.0.0.2", "c"}), Differs, 2},
		"one is missing":   {ended(t, o.Blobs, [2]string{"2.0.0.1", "a"}), Differs, 2},
		"one is new":       {ended(t, o.Blobs, [2]string{"2.0.0.1", "a"}, [2]string{"2.0.0.2", "b"}, [2]string{"2.0.0.3", "d"}), Differs, 3},
	} {
		p, err := o.pair(t.Context(), of, test.now)
		require.NoError(t, err, name)
		require.Equal(t, test.outcome, p.Outcome, name)
		require.Len(t, p.Outputs, test.files, name)
		for _, c := range p.Outputs {
			require.Equal(t, "text", c.Output)
		}
	}
}
