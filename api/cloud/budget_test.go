package cloud_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
)

// heavySources holds a graph of that many bytes for every job, and counts what was read.
type heavySources struct {
	bytes int

	mu   sync.Mutex // guards read
	read int
}

func (s *heavySources) Load(_ context.Context, _ string, id job.ID) (job.Source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read += s.bytes
	return job.Source{Prompt: json.RawMessage(fmt.Sprintf(`{"id":%q,"x":%q}`, id, strings.Repeat("x", s.bytes-52)))}, nil
}

func (s *heavySources) LoadWithin(ctx context.Context, owner string, id job.ID, most int64) (job.Source, bool, error) {
	if int64(s.bytes) > most {
		return job.Source{}, false, nil
	}
	src, err := s.Load(ctx, owner, id)
	return src, err == nil, err
}

func startHeavy(t *testing.T, bytes, jobs int, state job.State) (*apitest.Harness, *heavySources) {
	t.Helper()
	sources := &heavySources{bytes: bytes}
	h := apitest.StartWith(t, apitest.Options{}, func(d *apitest.Deps) { d.Sources = sources })
	for i := range jobs {
		h.Jobs.Put(job.Job{
			ID: job.ID(fmt.Sprintf("aaaaaaaa-2222-4333-8444-%012d", i)), Account: account.LocalID, State: state,
			Number: float64(i), SubmittedAt: apitest.Then, EndedAt: &apitest.Then, Targets: []string{"9"},
		})
	}
	return h, sources
}

func TestGraphsOfQueueAndHistoryStayWithinTheirBudget(t *testing.T) {
	t.Parallel()
	withGraph := func(entries []any, at int) (n int) {
		for _, e := range entries {
			if graph, _ := e.([]any)[at].(map[string]any); len(graph) > 0 {
				n++
			}
		}
		return n
	}
	h, sources := startHeavy(t, 1<<20, 30, job.Queued)
	for range 3 {
		pending, _ := h.Do(t, "GET", "/queue", "").JSON(t)["queue_pending"].([]any)
		require.Len(t, pending, 30)
		require.Equal(t, 4, withGraph(pending, 2), "4 MiB of graphs")
		require.NotEmpty(t, pending[0].([]any)[2], "those that run first have theirs")
	}
	require.LessOrEqual(t, sources.read, 5<<20, "a poll that comes again reads nothing again")

	small, _ := startHeavy(t, 100, 150, job.Queued)
	pending, _ := small.Do(t, "GET", "/queue", "").JSON(t)["queue_pending"].([]any)
	require.Len(t, pending, 150)
	require.Equal(t, 100, withGraph(pending, 2))

	h, sources = startHeavy(t, 5<<20, 40, job.Succeeded)
	var entries []any
	for _, e := range h.Do(t, "GET", "/history", "").JSON(t) {
		entries = append(entries, e.(map[string]any)["prompt"])
	}
	require.Len(t, entries, 40)
	require.Equal(t, 6, withGraph(entries, 2), "32 MiB of graphs")
	require.LessOrEqual(t, sources.read, 35<<20)
	h.Do(t, "GET", "/api/history_v2", "")
	require.LessOrEqual(t, sources.read, 70<<20)

	one := h.Do(t, "GET", "/history/aaaaaaaa-2222-4333-8444-000000000039", "")
	require.Greater(t, len(one.Body), 5<<20, "the entry of one job has its graph, whatever its size")
}

func TestExceptionTypesInRuntimeNames(t *testing.T) { // W-64
	t.Parallel()
	for _, named := range []bool{false, true} {
		h := apitest.Start(t, apitest.Options{RuntimeNames: named})
		h.Jobs.Put(job.Job{
			ID: apitest.JobA, Account: account.LocalID, State: job.Failed, SubmittedAt: apitest.Then, StartedAt: &apitest.Then,
			EndedAt: &apitest.Then,
			Error: &job.Failure{
				Code: "node_execution_error", Message: "too large", Node: "3", Class: "X", ExceptionType: "OOMError",
				Traceback: []string{"OOMError: too large\n"},
			},
		})
		want := map[bool]string{false: `"exception_type":"OOMError"`, true: `"exception_type":"torch.OutOfMemoryError"`}[named]
		for _, path := range []string{
			"/api/jobs", "/api/jobs/" + string(apitest.JobA), "/history", "/history/" + string(apitest.JobA),
			"/api/history_v2", "/api/history_v2/" + string(apitest.JobA),
		} {
			require.Contains(t, h.Do(t, "GET", path, "").Body, want, path)
		}
	}
}
