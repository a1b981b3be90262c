package jobs_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
)

func TestV2ListPages(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	var want []string
	for i := range 5 {
		id := job.ID(fmt.Sprintf("%d0000000-2222-4333-8444-555555555555", i))
		h.Jobs.Put(job.Job{ID: id, Account: account.LocalID, State: job.Succeeded, SubmittedAt: apitest.Then})
		want = append([]string{string(id)}, want...)
	}
	var got []string
	path := "/api/v2/jobs?limit=2&status=succeeded,failed"
	for next := ""; ; {
		reply := h.Do(t, "GET", path+next, "")
		require.Equal(t, 200, reply.Status, reply.Body)
		page := reply.JSON(t)
		for _, j := range page["jobs"].([]any) {
			got = append(got, j.(map[string]any)["id"].(string))
		}
		cursor, more := page["next_cursor"].(string)
		if !more {
			break
		}
		next = "&cursor=" + cursor
	}
	require.Equal(t, want, got)
}

func TestListRefusals(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	for path, code := range map[string]string{
		"/api/v2/jobs?limit=0": "invalid_request", "/api/v2/jobs?limit=x": "invalid_request", "/api/v2/jobs?cursor=bogus": "invalid_cursor",
		"/api/v2/jobs?cursor=": "invalid_cursor", "/api/v2/jobs?status=done": "invalid_request",
		"/api/v2/jobs?metadata.a=1&metadata.b=1&metadata.c=1&metadata.d=1": "invalid_metadata_filter",
		"/api/v2/jobs?metadata.=1": "invalid_metadata_filter",
		"/api/v2/jobs?metadata=a":  "invalid_metadata_filter", "/api/v2/jobs?metadata[]=1": "invalid_metadata_filter",
		"/api/v2/jobs?metadata[a=1":               "invalid_metadata_filter",
		"/api/v2/jobs?metadata[a]=1&metadata.a=1": "invalid_metadata_filter", "/api/v2/jobs?metadata_a=1": "invalid_metadata_filter",
		"/api/v2/jobs?metadata[a]=1&metadata[a]=2": "invalid_metadata_filter",
		"/api/jobs?limit=0":                        "invalid_request", "/jobs?limit=-1": "invalid_request",
		"/jobs?status=running": "invalid_request",
		"/jobs?sort_by=x":      "invalid_request", "/jobs?sort_order=x": "invalid_request", "/jobs?output_type=x": "invalid_request",
		"/jobs?offset=100001": "invalid_request", "/history?max_items=x": "invalid_request",
	} {
		got := h.Do(t, "GET", path, "")
		require.Equal(t, 400, got.Status, path)
		require.Contains(t, got.Body, fmt.Sprintf(`"code":%q`, code), path)
	}
}

func TestBatchCancel(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Jobs.Put(job.Job{ID: apitest.JobA, Account: account.LocalID, State: job.Running})
	require.JSONEq(t, `{"cancelled":false}`, h.Do(t, "POST", "/jobs/"+string(apitest.JobB)+"/cancel", "").Body)
	require.JSONEq(t, `{"error":"job_ids must be UUIDs","invalid_ids":["x"]}`, h.Do(t, "POST", "/api/jobs/cancel", `{"job_ids":["x"]}`).Body)
	require.Equal(t, 400, h.Do(t, "POST", "/api/jobs/cancel", `{}`).Status)
	require.JSONEq(t, `{"cancelled":true}`, h.Do(t, "POST", "/api/jobs/cancel",
		fmt.Sprintf(`{"job_ids":[%q,%q]}`, apitest.JobA, apitest.JobB)).Body)
	require.JSONEq(t, `{"cancelled":false}`, h.Do(t, "POST", "/api/jobs/"+string(apitest.JobA)+"/cancel", "").Body)
}

func TestV2ListShowsQueuePositions(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	for i, id := range []job.ID{apitest.JobB, apitest.JobA} { // jobB runs first
		h.Jobs.Put(job.Job{ID: id, Account: account.LocalID, State: job.Queued, Number: float64(i), SubmittedAt: apitest.Then})
	}
	positions := map[any]any{}
	for _, j := range h.Do(t, "GET", "/api/v2/jobs", "").JSON(t)["jobs"].([]any) {
		positions[j.(map[string]any)["id"]] = j.(map[string]any)["queue_position"]
	}
	require.Equal(t, map[any]any{string(apitest.JobB): 0.0, string(apitest.JobA): 1.0}, positions)
}
