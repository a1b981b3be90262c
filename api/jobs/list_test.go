package api_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
)

// finishedJob is a job with a picture, a text and a story.
func finishedJob(id job.ID, state job.State) job.Job {
	started, ended := then.Add(time.Second), then.Add(2*time.Second)
	j := job.Job{
		ID: id, Account: account.LocalID, State: state, Number: 4, Run: 1, SubmittedAt: then, AdmittedAt: &then, StartedAt: &started,
		EndedAt: &ended, UpdatedAt: ended, Targets: []string{"9"}, Cached: []string{"3"}, Executed: []string{"9"},
		Outputs: []job.NodeOutput{
			{Node: "8", Class: "PreviewAny", UI: json.RawMessage(`{"text":["hello"]}`)},
			{
				Node: "9", Class: "SaveImage", UI: json.RawMessage(`{"images":[{"filename":"a.png","subfolder":"","type":"output"}]}`),
				Files: []job.OutputFile{{Asset: "x", Filename: "a.png", Folder: "output", ContentType: "image/png"}},
			},
		},
	}
	if state == job.Failed {
		j.Error = &job.Failure{Message: "bad", Node: "9", Class: "SaveImage", ExceptionType: "OOMError"}
	}
	return j
}

func TestV2ListPages(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	var want []string
	for i := range 5 {
		id := job.ID(fmt.Sprintf("%d0000000-2222-4333-8444-555555555555", i))
		h.jobs.put(job.Job{ID: id, Account: account.LocalID, State: job.Succeeded, SubmittedAt: then})
		want = append([]string{string(id)}, want...)
	}
	var got []string
	path := "/api/v2/jobs?limit=2&status=succeeded,failed"
	for next := ""; ; {
		reply := h.do(t, "GET", path+next, "")
		require.Equal(t, 200, reply.status, reply.body)
		page := reply.json(t)
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
	h := start(t, api.Options{})
	for path, code := range map[string]string{
		"/api/v2/jobs?limit=0": "invalid_request", "/api/v2/jobs?limit=x": "invalid_request", "/api/v2/jobs?cursor=bogus": "invalid_cursor",
		"/api/v2/jobs?cursor=": "invalid_cursor", "/api/v2/jobs?status=done": "invalid_request",
		"/api/v2/jobs?metadata.a=1&metadata.b=1&metadata.c=1&metadata.d=1": "invalid_metadata_filter", "/api/v2/jobs?metadata.=1": "invalid_metadata_filter",
		"/api/v2/jobs?metadata=a": "invalid_metadata_filter", "/api/v2/jobs?metadata[]=1": "invalid_metadata_filter", "/api/v2/jobs?metadata[a=1": "invalid_metadata_filter",
		"/api/v2/jobs?metadata[a]=1&metadata.a=1": "invalid_metadata_filter", "/api/v2/jobs?metadata_a=1": "invalid_metadata_filter",
		"/api/v2/jobs?metadata[a]=1&metadata[a]=2": "invalid_metadata_filter",
		"/api/jobs?limit=0":                        "invalid_request", "/jobs?limit=-1": "invalid_request", "/jobs?status=running": "invalid_request",
		"/jobs?sort_by=x": "invalid_request", "/jobs?sort_order=x": "invalid_request", "/jobs?output_type=x": "invalid_request",
		"/jobs?offset=100001": "invalid_request", "/history?max_items=x": "invalid_request",
	} {
		got := h.do(t, "GET", path, "")
		require.Equal(t, 400, got.status, path)
		require.Contains(t, got.body, fmt.Sprintf(`"code":%q`, code), path)
	}
}

func TestCloudListAndDetail(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	h.jobs.put(finishedJob(jobA, job.Failed))
	h.jobs.put(job.Job{ID: jobB, Account: account.LocalID, State: job.Queued, SubmittedAt: then})
	entry := fmt.Sprintf(`"id":%q,"status":"failed","priority":4,"create_time":%d,"execution_start_time":%d,"execution_end_time":%d,
		"execution_error":{"node_id":"9","node_type":"SaveImage","exception_message":"bad\n","exception_type":"OOMError","traceback":[],"current_inputs":{},"current_outputs":{}},
		"preview_output":{"filename":"a.png","subfolder":"","type":"output","nodeId":"9","mediaType":"images"},"outputs_count":2`,
		jobA, then.UnixMilli(), then.Add(time.Second).UnixMilli(), then.Add(2*time.Second).UnixMilli())
	require.JSONEq(t, `{"jobs":[{`+entry+`}],"pagination":{"offset":0,"limit":5000,"total":1,"has_more":false}}`,
		replaceLimit(h.do(t, "GET", "/api/jobs?status=failed,cancelled&limit=5000", "").body))
	list := h.do(t, "GET", "/jobs?limit=1", "").json(t)
	require.Equal(t, map[string]any{"offset": 0.0, "limit": 1.0, "total": 2.0, "has_more": true}, list["pagination"])

	detail := h.do(t, "GET", "/api/jobs/"+string(jobA), "").json(t)
	require.Equal(t, map[string]any{"prompt": map[string]any{"1": map[string]any{"class_type": "A", "inputs": map[string]any{}}}, "extra_data": map[string]any{"client_id": "c"}}, detail["workflow"])
	require.Equal(t, map[string]any{
		"8": map[string]any{"text": []any{"hello"}},
		"9": map[string]any{"images": []any{map[string]any{"filename": "a.png", "subfolder": "", "type": "output"}}},
	}, detail["outputs"])
	status := detail["execution_status"].(map[string]any)
	require.Equal(t, "error", status["status_str"])
	var kinds []any
	for _, m := range status["messages"].([]any) {
		kinds = append(kinds, m.([]any)[0])
	}
	require.Equal(t, []any{"execution_start", "execution_cached", "execution_error"}, kinds)
	require.Equal(t, 404, h.do(t, "GET", "/jobs/bogus", "").status)
}

// replaceLimit undoes the clamping of an over-long page (D-03), which is what it checks.
func replaceLimit(body string) string {
	var v map[string]any
	if json.Unmarshal([]byte(body), &v) != nil {
		return body
	}
	p := v["pagination"].(map[string]any)
	if p["limit"] == 1000.0 {
		p["limit"] = 5000
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return body
	}
	return string(raw)
}

func TestBatchCancel(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	h.jobs.put(job.Job{ID: jobA, Account: account.LocalID, State: job.Running})
	require.JSONEq(t, `{"cancelled":false}`, h.do(t, "POST", "/jobs/"+string(jobB)+"/cancel", "").body)
	require.JSONEq(t, `{"error":"job_ids must be UUIDs","invalid_ids":["x"]}`, h.do(t, "POST", "/api/jobs/cancel", `{"job_ids":["x"]}`).body)
	require.Equal(t, 400, h.do(t, "POST", "/api/jobs/cancel", `{}`).status)
	require.JSONEq(t, `{"cancelled":true}`, h.do(t, "POST", "/api/jobs/cancel", fmt.Sprintf(`{"job_ids":[%q,%q]}`, jobA, jobB)).body)
	require.JSONEq(t, `{"cancelled":false}`, h.do(t, "POST", "/api/jobs/"+string(jobA)+"/cancel", "").body)
}

func TestHistoryShapes(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	early := finishedJob(jobB, job.Succeeded)
	early.SubmittedAt = then.Add(-time.Hour)
	h.jobs.put(finishedJob(jobA, job.Succeeded))
	h.jobs.put(early)
	running := job.ID("cccccccc-2222-4333-8444-555555555555")
	h.jobs.put(job.Job{ID: running, Account: account.LocalID, State: job.Running})

	history := h.do(t, "GET", "/history", "")
	require.Regexp(t, `^\{"bbbbbbbb[^}]*.*"aaaaaaaa`, history.body, "oldest first, finished ones only")
	entry := history.json(t)[string(jobA)].(map[string]any)
	require.Equal(t, []any{4.0, string(jobA), map[string]any{"1": map[string]any{"class_type": "A", "inputs": map[string]any{}}}, map[string]any{"client_id": "c"}, []any{"9"}}, entry["prompt"])
	require.Equal(t, true, entry["status"].(map[string]any)["completed"])
	require.Equal(t, map[string]any{"node_id": "9", "display_node": "9", "parent_node": nil, "real_node_id": "9"}, entry["meta"].(map[string]any)["9"])
	require.Len(t, h.do(t, "GET", "/api/history?max_items=1", "").json(t), 1)

	require.Contains(t, h.do(t, "GET", "/api/history/"+string(jobA), "").json(t), string(jobA))
	require.JSONEq(t, `{}`, h.do(t, "GET", "/history/"+string(running), "").body, "not finished")
	require.JSONEq(t, `{}`, h.do(t, "GET", "/history/bogus", "").body)

	v2 := h.do(t, "GET", "/api/history_v2", "").json(t)["history"].([]any)
	require.Len(t, v2, 2)
	require.NotContains(t, v2[0].(map[string]any)["prompt"], "prompt")
	detail := h.do(t, "GET", "/api/history_v2/"+string(jobA), "").json(t)[string(jobA)].(map[string]any)
	require.Contains(t, detail["prompt"], "prompt")
	require.Equal(t, 404, h.do(t, "GET", "/api/history_v2/bogus", "").status)
	require.Equal(t, 404, h.do(t, "GET", "/api/history_v2/"+string(running), "").status, "clients take an entry for an end")
	require.NotContains(t, h.do(t, "GET", "/api/jobs/"+string(running), "").json(t), "execution_status", "it has not ended")
}

func TestV2ListShowsQueuePositions(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	for i, id := range []job.ID{jobB, jobA} { // jobB runs first
		h.jobs.put(job.Job{ID: id, Account: account.LocalID, State: job.Queued, Number: float64(i), SubmittedAt: then})
	}
	positions := map[any]any{}
	for _, j := range h.do(t, "GET", "/api/v2/jobs", "").json(t)["jobs"].([]any) {
		positions[j.(map[string]any)["id"]] = j.(map[string]any)["queue_position"]
	}
	require.Equal(t, map[any]any{string(jobB): 0.0, string(jobA): 1.0}, positions)
}
