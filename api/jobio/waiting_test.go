package jobio_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// waiting is the reason why a segment of the job waits.
type waiting string

func (w waiting) WaitsOf(_ context.Context, ids []job.ID) ([]server.Waiting, error) {
	return []server.Waiting{{Wait: server.Wait{Key: server.Key{Job: ids[0]}}, Reason: string(w)}}, nil
}

// Owners of jobs see no addresses of servers, and all else of a reason.
func TestAReasonToWaitHasNoAddress(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"server http://a.internal:8188 is draining":                           "a server is draining",
		"server https://[::1]:8188/path; waits for another one":               "a server; waits for another one",
		"the weight w is brought to server http://a.internal:1: 25% of 20 B":  "the weight w is brought to a server: 25% of 20 B",
		"the weight w was brought to server http://a, which does not list it": "the weight w was brought to a server, which does not list it",
	} {
		j := job.Job{ID: "one", State: job.Running, Waiting: []job.SegmentWait{{}}}
		found, err := jobio.Waiting(t.Context(), waiting(reason), j)
		require.NoError(t, err)
		require.Equal(t, want, found["one"].Reason)
	}
}
