package jobs_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// stuckJobs answers submissions and lists only when their gates are open.
type stuckJobs struct {
	*apitest.MemoryJobs
	submissions, lists chan struct{}
}

func (s *stuckJobs) Submit(ctx context.Context, sub job.Submission) (job.Submitted, error) {
	<-s.submissions
	return s.MemoryJobs.Submit(ctx, sub)
}

func (s *stuckJobs) List(ctx context.Context, owner string, q jobs.Query) (jobs.Page, error) {
	<-s.lists
	return s.MemoryJobs.List(ctx, owner, q)
}

// Requests that a process cannot serve are refused at once with the time to come back; those of the other kind go on.
func TestExcessRequestsAreRefusedByKind(t *testing.T) {
	t.Parallel()
	const submission = `{"workflow":{"1":{"class_type":"PreviewAny","inputs":{"source":"x"}}}}`
	for name, c := range map[string]struct {
		method, body string
		served       int
		other        string // method that is served meanwhile
	}{
		"submissions": {http.MethodPost, submission, 48 + 512, http.MethodGet},
		"lists":       {http.MethodGet, "", 4 + 256, http.MethodPost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stuck := &stuckJobs{submissions: make(chan struct{}), lists: make(chan struct{})}
			h := apitest.StartWith(t, apitest.Options{}, func(d *apitest.Deps) {
				stuck.MemoryJobs, _ = d.Jobs.(*apitest.MemoryJobs)
				d.Jobs, d.Reader = stuck, stuck
			})
			gate, open := stuck.submissions, stuck.lists
			if c.method == http.MethodGet {
				gate, open = open, gate
			}
			close(open)
			const beyond = 10
			answers := make(chan *http.Response, c.served+beyond)
			send := func(method, body string) {
				req, err := http.NewRequestWithContext(t.Context(), method, h.URL+"/api/v2/jobs", strings.NewReader(body))
				if err != nil {
					t.Error(err)
				}
				req.Header.Set("Content-Type", "application/json")
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					resp = &http.Response{Body: http.NoBody}
				}
				resp.Body.Close()
				answers <- resp
			}
			for range c.served + beyond {
				go send(c.method, c.body)
			}
			for range beyond {
				refused := <-answers
				require.Equal(t, http.StatusTooManyRequests, refused.StatusCode)
				seconds, err := strconv.Atoi(refused.Header.Get("Retry-After"))
				require.NoError(t, err)
				require.Positive(t, seconds)
			}
			send(c.other, map[string]string{http.MethodPost: submission}[c.other])
			require.Equal(t, 2, (<-answers).StatusCode/100, "the other kind has its own part")
			close(gate)
			for range c.served {
				require.Equal(t, 2, (<-answers).StatusCode/100)
			}
		})
	}
}
