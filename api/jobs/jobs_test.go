package jobs_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
)

func TestV2JobHasEveryFieldAndNulls(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{JobRetention: 24 * time.Hour})
	got := h.Do(t, "POST", "/api/v2/jobs", `{"workflow":{},"metadata":{"team":"x"}}`)
	require.Equal(t, 201, got.Status)
	body := got.JSON(t)
	id, _ := body["id"].(string)
	self := h.URL + "/api/v2/jobs/" + id
	require.Equal(t, self, got.Header.Get("Location"))
	require.Equal(t, map[string]any{
		"id": id, "status": "queued", "created_at": "2026-01-02T03:04:05.123Z", "started_at": nil, "completed_at": nil,
		"expires_at": "2026-01-03T03:04:05.123Z", "queue_position": 0.0, "progress": nil, "outputs": []any{}, "error": nil,
		"urls":    map[string]any{"self": self, "events": self + "/events", "cancel": self + "/cancel"},
		"metrics": map[string]any{"queue_ms": nil, "execution_ms": nil}, "metadata": map[string]any{"team": "x"}, "outputs_reused": false,
		"priority": 0.0,
	}, body)
}

func TestV2JobShowsOutputsAndErrors(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	started, ended := apitest.Then.Add(1500*time.Millisecond), apitest.Then.Add(4*time.Second)
	h.Jobs.Put(job.Job{
		ID: apitest.JobA, Account: account.LocalID, State: job.Failed, Run: 1, SubmittedAt: apitest.Then, AdmittedAt: &apitest.Then,
		StartedAt: &started, EndedAt: &ended,
		Targets: []string{"9", "5"}, NodesTotal: 4, NodesDone: 2,
		Outputs: []job.NodeOutput{
			{Node: "5", Files: []job.OutputFile{
				{Asset: "t", Filename: "p.png", Folder: "temp", ContentType: "image/png"},
				{Asset: "x", Filename: "x.txt", Folder: "output", ContentType: "text/plain", Size: 3, Hash: "blake3:00"},
			}},
			{Node: "9", Files: []job.OutputFile{{Asset: "l", Filename: "a.latent", Folder: "output", ContentType: "application/octet-stream"}}},
		},
		Error: &job.Failure{Code: "node_execution_error", Message: "bad", Node: "7", Class: "Blur", Traceback: []string{"a", "b"}},
	})
	body := h.Do(t, "GET", "/api/v2/jobs/"+string(apitest.JobA), "").JSON(t)
	require.Equal(t, map[string]any{
		"code": "node_execution_error", "message": "bad", "node_id": "7", "class_type": "Blur",
		"traceback": "a\nb",
	}, body["error"])
	require.Equal(t, map[string]any{"queue_ms": 1500.0, "execution_ms": 2500.0}, body["metrics"])
	var order []string
	for _, o := range body["outputs"].([]any) {
		order = append(order, o.(map[string]any)["id"].(string))
	}
	require.Equal(t, []string{"l", "x", "t"}, order, "saved ones in document order, then previews")
	require.Equal(t, map[string]any{
		"node_id": "5", "name": "x.txt", "type": "text", "content_type": "text/plain", "size_bytes": 3.0, "id": "x", "hash": "blake3:00",
		"url": h.URL + "/files/x/x.txt?sig=x", "url_expires_at": "2026-01-02T04:04:05.123Z", "job_id": string(apitest.JobA),
	}, body["outputs"].([]any)[1])
	require.Nil(t, body["queue_position"])
}

// A job whose status is running says since when, also before the first event of its run.
func TestRunningJobHasStartedAt(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	admitted, started := apitest.Then.Add(time.Second), apitest.Then.Add(2*time.Second)
	at := func(j job.Job) any {
		j.ID, j.Account, j.SubmittedAt = apitest.JobA, account.LocalID, apitest.Then
		h.Jobs.Put(j)
		return h.Do(t, "GET", "/api/v2/jobs/"+string(apitest.JobA), "").JSON(t)["started_at"]
	}
	require.Nil(t, at(job.Job{State: job.Queued}))
	require.Equal(t, "2026-01-02T03:04:06.123Z", at(job.Job{State: job.Running, Run: 1, AdmittedAt: &admitted}))
	require.Equal(t, "2026-01-02T03:04:07.123Z", at(job.Job{State: job.Running, Run: 1, AdmittedAt: &admitted, StartedAt: &started}))
}

func TestV2Refusals(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	long := strings.Repeat("k", 256)
	cases := map[string]struct {
		body   string
		key    *string
		status int
		code   string
	}{
		"workflow missing":        {`{}`, nil, 422, "invalid_workflow"},
		"workflow a list":         {`{"workflow":[]}`, nil, 422, "invalid_workflow"},
		"workflow null":           {`{"workflow":null}`, nil, 422, "invalid_workflow"},
		"body a list":             {`[]`, nil, 400, "invalid_request"},
		"picture info a text":     {`{"workflow":{},"extra_data":{"extra_pnginfo":"x"}}`, nil, 400, "invalid_request"},
		"picture info null":       {`{"workflow":{},"extra_data":{"extra_pnginfo":null}}`, nil, 400, "invalid_request"},
		"picture info of a list":  {`{"workflow":{},"extra_data":{"extra_pnginfo":{"workflow":[]}}}`, nil, 400, "invalid_request"},
		"extra_data unknown":      {`{"workflow":{},"extra_data":{"x":1}}`, nil, 400, "invalid_request"},
		"extra_data key a number": {`{"workflow":{},"extra_data":{"api_key_comfy_org":1}}`, nil, 400, "invalid_request"},
		"metadata not strings":    {`{"workflow":{},"metadata":{"a":1}}`, nil, 422, "metadata_invalid"},
		"metadata too long":       {`{"workflow":{},"metadata":{"` + long + `":"x"}}`, nil, 422, "metadata_invalid"},
		"webhook reserved":        {`{"workflow":{},"webhook_url":"http://x"}`, nil, 422, "invalid_workflow"},
		"inputs reserved":         {`{"workflow":{},"inputs":{}}`, nil, 422, "invalid_workflow"},
		"priority out of range":   {`{"workflow":{},"priority":1000001}`, nil, 400, "invalid_request"},
		"empty key":               {`{"workflow":{}}`, new(string), 400, "invalid_request"},
		"long key":                {`{"workflow":{}}`, &long, 400, "invalid_request"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var headers []string
			if c.key != nil {
				headers = []string{"Idempotency-Key", *c.key}
			}
			got := h.Do(t, "POST", "/api/v2/jobs", c.body, headers...)
			require.Equal(t, c.status, got.Status, got.Body)
			require.Equal(t, c.code, got.JSON(t)["error"].(map[string]any)["code"])
		})
	}
	got := h.Do(t, "POST", "/api/v2/jobs", `{"workflow":{},"extra_data":{},"priority":2}`, "Idempotency-Key", "k")
	require.Equal(t, 201, got.Status)
	require.InDelta(t, 2, got.JSON(t)["priority"], 0)
	sub := h.Jobs.Last()
	require.Equal(t, "k", sub.IdempotencyKey)
	require.Negative(t, *sub.Number, "priority comes before the ordinary queue")
}

func TestCancelIsIdempotent(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Jobs.Put(job.Job{ID: apitest.JobA, Account: account.LocalID, State: job.Queued, SubmittedAt: apitest.Then})
	for range 2 {
		got := h.Do(t, "POST", "/api/v2/jobs/"+string(apitest.JobA)+"/cancel", "")
		require.Equal(t, http.StatusOK, got.Status)
		require.Equal(t, "canceled", got.JSON(t)["status"])
	}
}

func TestV2ProgressOfARunningJob(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Jobs.Put(job.Job{
		ID: apitest.JobA, Account: account.LocalID, State: job.Running, Run: 1, SubmittedAt: apitest.Then, AdmittedAt: &apitest.Then,
		StartedAt:  &apitest.Then,
		NodesTotal: 4, NodesDone: 1, Running: map[string]string{"7": "Blur"},
	})
	require.Equal(t, map[string]any{
		"value": 0.3125, "nodes_done": 1.0, "nodes_total": 4.0, "current_node": "7", "current_node_class": "Blur",
		"step": 1.0, "steps": 4.0, "message": "Blur 1/4",
	}, h.Do(t, "GET", "/api/v2/jobs/"+string(apitest.JobA), "").JSON(t)["progress"])
}

func TestV2NamesTheNodeOfAnUnknownClass(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Jobs.Refuse = &graph.PromptError{Type: graph.TypeMissingType, Message: "Node 'X' not found.", ExtraInfo: map[string]any{"node_id": "3"}}
	require.JSONEq(t, `{"error":{"code":"invalid_workflow","message":"Node 'X' not found.",
		"details":{"node_errors":{"3":[{"field":"class_type","reason":"Node 'X' not found."}]}}}}`,
		h.Do(t, "POST", "/api/v2/jobs", `{"workflow":{}}`).Body)
}
