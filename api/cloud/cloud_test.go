package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

const (
	jobA = job.ID("aaaaaaaa-2222-4333-8444-555555555555")
	jobB = job.ID("bbbbbbbb-2222-4333-8444-555555555555")
)

func TestPromptAnswersExactlyItsThreeFields(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	for _, path := range []string{"/prompt", "/api/prompt"} {
		got := h.do(t, "POST", path, fmt.Sprintf(`{"prompt":{},"prompt_id":%q,"number":-2.5,"unknown":1}`, jobA))
		require.Equal(t, 200, got.status)
		require.JSONEq(t, fmt.Sprintf(`{"prompt_id":%q,"number":-2.5,"node_errors":{}}`, jobA), got.body)
	}
}

func TestPromptTakesWhatRealClientsSend(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	body := `{"prompt":{"1":{}},"client_id":"c1","number":"3","front":true,"prompt_id":null,"partial_execution_targets":["9"],
		"extra_data":{"api_key_service":"k","extra_pnginfo":{"workflow":{"a":1}},"preview_method":"auto"}}`
	require.Equal(t, 200, h.do(t, "POST", "/api/prompt", body, "Comfy-Usage-Source", "cli").status)
	sub := h.jobs.last()
	require.Equal(t, "c1", sub.ClientID)
	require.InDelta(t, 3.0, *sub.Number, 0)
	require.True(t, sub.Front)
	require.Equal(t, []string{"9"}, sub.Targets)
	require.Equal(t, "k", sub.Credential)
	require.NotContains(t, sub.ExtraData, "api_key_service", "the credential stays out of what is kept")
	require.JSONEq(t, `{"workflow":{"a":1}}`, string(sub.ExtraData["extra_pnginfo"]))
	require.JSONEq(t, `"c1"`, string(sub.ExtraData["client_id"]))
	require.JSONEq(t, `"cli"`, string(sub.ExtraData["comfy_usage_source"]))
	require.Contains(t, sub.ExtraData, "create_time")
}

func TestPromptRefusals(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	cases := map[string]struct{ body, kind string }{
		"no prompt":          {`{}`, "no_prompt"},
		"null prompt":        {`{"prompt":null}`, "no_prompt"},
		"upper-case id":      {`{"prompt":{},"prompt_id":"AAAAAAAA-2222-4333-8444-555555555555"}`, "invalid_prompt_id"},
		"id of another type": {`{"prompt":{},"prompt_id":7}`, "invalid_prompt_id"},
		"number":             {`{"prompt":{},"number":"x"}`, "invalid_request"},
		"not an object":      {`[]`, "invalid_request"},
		"extra_data a list":  {`{"prompt":{},"extra_data":[]}`, "invalid_request"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := h.do(t, "POST", "/api/prompt", c.body)
			require.Equal(t, 400, got.status, got.body)
			require.Contains(t, got.body, fmt.Sprintf(`"type":%q`, c.kind))
			require.Contains(t, got.body, `"extra_info":{}},"node_errors":{}`)
		})
	}
}

func TestStatusWords(t *testing.T) {
	t.Parallel()
	friendly, raw := start(t, api.Options{}), start(t, api.Options{RawStatus: true})
	started := then.Add(time.Second)
	for state, want := range map[job.State][3]string{
		job.Queued: {"pending", "queued_limited", "pending"}, job.Running: {"in_progress", "executing", "in_progress"},
		job.Canceling: {"in_progress", "cancel_requested", "in_progress"}, job.Succeeded: {"completed", "success", "success"},
		job.Failed: {"failed", "error", "error"}, job.Canceled: {"cancelled", "cancelled", "cancelled"}, job.Expired: {"failed", "lost", "error"},
	} {
		j := job.Job{ID: jobA, Account: account.LocalID, State: state, SubmittedAt: then, UpdatedAt: then, StartedAt: &started}
		friendly.jobs.put(j)
		raw.jobs.put(j)
		got := friendly.do(t, "GET", "/api/job/"+string(jobA)+"/status", "").json(t)
		require.Equal(t, want[0], got["status"])
		require.Equal(t, want[1], got["raw_status"])
		require.Equal(t, "2026-01-02T03:04:05.123Z", got["created_at"])
		require.Equal(t, want[2], raw.do(t, "GET", "/job/"+string(jobA)+"/status", "").json(t)["status"])
	}
}

func TestQueueListsInRunOrderAndCancels(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	put := func(id job.ID, state job.State, number float64) {
		h.jobs.put(job.Job{ID: id, Account: account.LocalID, State: state, Number: number, SubmittedAt: then, ClientID: "c", Targets: []string{"9"}})
	}
	put(jobA, job.Queued, 5)
	put(jobB, job.Queued, -1)
	running := job.ID("cccccccc-2222-4333-8444-555555555555")
	put(running, job.Running, 1)
	got := h.do(t, "GET", "/api/queue", "")
	require.JSONEq(t, fmt.Sprintf(`{"queue_running":[[1,%q,%s,{"client_id":"c","create_time":%d},["9"]]],"queue_pending":[
		[-1,%[4]q,%[2]s,{"client_id":"c","create_time":%[3]d},["9"]],[5,%[5]q,%[2]s,{"client_id":"c","create_time":%[3]d},["9"]]]}`,
		running, `{"1":{"class_type":"A","inputs":{}}}`, then.UnixMilli(), jobB, jobA), got.body)
	require.JSONEq(t, `{"exec_info":{"queue_remaining":3}}`, h.do(t, "GET", "/prompt", "").body)

	deleted := h.do(t, "POST", "/api/queue", fmt.Sprintf(`{"delete":[%q,"bogus","dddddddd-2222-4333-8444-555555555555"]}`, jobA))
	require.JSONEq(t, fmt.Sprintf(`{"deleted":[%q],"cleared":false}`, jobA), deleted.body)
	require.JSONEq(t, fmt.Sprintf(`{"deleted":[%q],"cleared":true}`, jobB), h.do(t, "POST", "/queue", `{"clear":true}`).body)
	require.JSONEq(t, `{}`, h.do(t, "POST", "/api/interrupt", `{"prompt_id":"bogus"}`).body)
	require.JSONEq(t, `{}`, h.do(t, "POST", "/api/interrupt", "").body)
	require.JSONEq(t, `{"queue_running":[],"queue_pending":[]}`, h.do(t, "GET", "/queue", "").body)
	require.Equal(t, 200, h.do(t, "POST", "/api/interrupt", "").status, "nothing running is fine")
}

func TestAnotherAccountsJobsDoNotExist(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{Mode: account.ModeKeys})
	h.jobs.put(job.Job{ID: jobA, Account: "a", State: job.Running, SubmittedAt: then})
	id := string(jobA)
	for _, r := range [][3]string{
		{"GET", "/api/job/" + id + "/status"},
		{"GET", "/api/v2/jobs/" + id},
		{"GET", "/api/v2/jobs/" + id + "/workflow"},
		{"GET", "/api/v2/jobs/" + id + "/events"},
		{"POST", "/api/v2/jobs/" + id + "/cancel"},
	} {
		require.Equal(t, 404, h.do(t, r[0], r[1], "", "X-API-Key", "key-b").status, r[1])
	}
	require.JSONEq(t, `{"queue_running":[],"queue_pending":[]}`, h.do(t, "GET", "/queue", "", "X-API-Key", "key-b").body)
	require.JSONEq(t, `{"deleted":[],"cleared":true}`, h.do(t, "POST", "/queue", fmt.Sprintf(`{"delete":[%q],"clear":true}`, id), "X-API-Key", "key-b").body)
	require.Equal(t, 200, h.do(t, "POST", "/interrupt", fmt.Sprintf(`{"prompt_id":%q}`, id), "X-API-Key", "key-b").status)
	require.Equal(t, "in_progress", h.do(t, "GET", "/api/job/"+id+"/status", "", "X-API-Key", "key-a").json(t)["status"])
}

func TestV2JobHasEveryFieldAndNulls(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{JobRetention: 24 * time.Hour})
	got := h.do(t, "POST", "/api/v2/jobs", `{"workflow":{},"metadata":{"team":"x"}}`)
	require.Equal(t, 201, got.status)
	body := got.json(t)
	id, _ := body["id"].(string)
	self := h.url + "/api/v2/jobs/" + id
	require.Equal(t, self, got.header.Get("Location"))
	require.Equal(t, map[string]any{
		"id": id, "status": "queued", "created_at": "2026-01-02T03:04:05.123Z", "started_at": nil, "completed_at": nil,
		"expires_at": "2026-01-03T03:04:05.123Z", "queue_position": 0.0, "progress": nil, "outputs": []any{}, "error": nil,
		"urls":    map[string]any{"self": self, "events": self + "/events", "cancel": self + "/cancel"},
		"metrics": map[string]any{"queue_ms": nil, "execution_ms": nil}, "metadata": map[string]any{"team": "x"}, "outputs_reused": false, "priority": 0.0,
	}, body)
}

func TestV2JobShowsOutputsAndErrors(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	started, ended := then.Add(1500*time.Millisecond), then.Add(4*time.Second)
	h.jobs.put(job.Job{
		ID: jobA, Account: account.LocalID, State: job.Failed, Run: 1, SubmittedAt: then, AdmittedAt: &then, StartedAt: &started, EndedAt: &ended,
		Targets: []string{"9", "5"}, NodesTotal: 4, NodesDone: 2,
		Outputs: []job.NodeOutput{
			{Node: "5", Files: []job.OutputFile{{Asset: "t", Filename: "p.png", Folder: "temp", ContentType: "image/png"}, {Asset: "x", Filename: "x.txt", Folder: "output", ContentType: "text/plain", Size: 3, Hash: "blake3:00"}}},
			{Node: "9", Files: []job.OutputFile{{Asset: "l", Filename: "a.latent", Folder: "output", ContentType: "application/octet-stream"}}},
		},
		Error: &job.Failure{Code: "node_execution_error", Message: "bad", Node: "7", Class: "Blur", Traceback: []string{"a", "b"}},
	})
	body := h.do(t, "GET", "/api/v2/jobs/"+string(jobA), "").json(t)
	require.Equal(t, map[string]any{"code": "node_execution_error", "message": "bad", "node_id": "7", "class_type": "Blur", "traceback": "a\nb"}, body["error"])
	require.Equal(t, map[string]any{"queue_ms": 1500.0, "execution_ms": 2500.0}, body["metrics"])
	var order []string
	for _, o := range body["outputs"].([]any) {
		order = append(order, o.(map[string]any)["id"].(string))
	}
	require.Equal(t, []string{"l", "x", "t"}, order, "saved ones in document order, then previews")
	require.Equal(t, map[string]any{
		"node_id": "5", "name": "x.txt", "type": "text", "content_type": "text/plain", "size_bytes": 3.0, "id": "x", "hash": "blake3:00",
		"url": h.url + "/files/x/x.txt?sig=x", "url_expires_at": "2026-01-02T04:04:05.123Z", "job_id": string(jobA),
	}, body["outputs"].([]any)[1])
	require.Nil(t, body["queue_position"])
}

// A job whose status is running says since when, also before the first event of its run.
func TestRunningJobHasStartedAt(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	admitted, started := then.Add(time.Second), then.Add(2*time.Second)
	at := func(j job.Job) any {
		j.ID, j.Account, j.SubmittedAt = jobA, account.LocalID, then
		h.jobs.put(j)
		return h.do(t, "GET", "/api/v2/jobs/"+string(jobA), "").json(t)["started_at"]
	}
	require.Nil(t, at(job.Job{State: job.Queued}))
	require.Equal(t, "2026-01-02T03:04:06.123Z", at(job.Job{State: job.Running, Run: 1, AdmittedAt: &admitted}))
	require.Equal(t, "2026-01-02T03:04:07.123Z", at(job.Job{State: job.Running, Run: 1, AdmittedAt: &admitted, StartedAt: &started}))
}

func TestV2Refusals(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
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
			got := h.do(t, "POST", "/api/v2/jobs", c.body, headers...)
			require.Equal(t, c.status, got.status, got.body)
			require.Equal(t, c.code, got.json(t)["error"].(map[string]any)["code"])
		})
	}
	got := h.do(t, "POST", "/api/v2/jobs", `{"workflow":{},"extra_data":{},"priority":2}`, "Idempotency-Key", "k")
	require.Equal(t, 201, got.status)
	require.InDelta(t, 2, got.json(t)["priority"], 0)
	sub := h.jobs.last()
	require.Equal(t, "k", sub.IdempotencyKey)
	require.Negative(t, *sub.Number, "priority comes before the ordinary queue")
}

func TestCancelIsIdempotent(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	h.jobs.put(job.Job{ID: jobA, Account: account.LocalID, State: job.Queued, SubmittedAt: then})
	for range 2 {
		got := h.do(t, "POST", "/api/v2/jobs/"+string(jobA)+"/cancel", "")
		require.Equal(t, http.StatusOK, got.status)
		require.Equal(t, "canceled", got.json(t)["status"])
	}
}

func TestWorkflowIsReadBackAsSubmitted(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	h.jobs.put(job.Job{ID: jobA, Account: account.LocalID, State: job.Queued})
	require.JSONEq(t, `{"workflow":{"1":{"class_type":"A","inputs":{}}},"format":"api"}`, h.do(t, "GET", "/api/v2/jobs/"+string(jobA)+"/workflow", "").body)
}

func TestSystemRoutes(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{Mode: account.ModeToken, Version: "1.2.3"})
	features := h.do(t, "GET", "/features", "").json(t)
	require.Equal(t, true, features["supports_preview_metadata"])
	require.InDelta(t, 104857600, features["max_upload_size"], 0)
	var stats struct {
		System  map[string]json.RawMessage
		Devices []map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(h.do(t, "GET", "/api/system_stats", "").body), &stats))
	for _, field := range []string{
		"os", "python_version", "embedded_python", "comfyui_version", "comfyui_frontend_version",
		"workflow_templates_version", "cloud_version", "pytorch_version", "argv", "ram_total", "ram_free",
	} {
		require.Contains(t, stats.System, field)
	}
	require.NotEmpty(t, stats.Devices)
	require.Equal(t, 401, h.do(t, "GET", "/api/user", "").status)
	require.JSONEq(t, `{"status":"active"}`, h.do(t, "GET", "/api/user", "", "X-API-Key", "s3cret").body)
}

func TestValidationErrorsInBothVocabularies(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	h.jobs.refuse = &graph.PromptError{
		Type: "prompt_outputs_failed_validation", Message: "Prompt outputs failed validation", Details: "Required input is missing: images",
		NodeErrors: graph.NodeErrors{{Node: "9", Class: "SaveImage", DependentOutputs: []string{"9"}, Errors: []graph.InputError{{
			Type: "required_input_missing", Message: "Required input is missing", Details: "images", ExtraInfo: map[string]any{"input_name": "images"},
		}}}},
	}
	got := h.do(t, "POST", "/api/prompt", `{"prompt":{}}`)
	require.Equal(t, 400, got.status)
	require.JSONEq(t, `{"error":{"type":"prompt_outputs_failed_validation","message":"Prompt outputs failed validation",
		"details":"Required input is missing: images","extra_info":{}},"node_errors":{"9":{"class_type":"SaveImage","dependent_outputs":["9"],
		"errors":[{"type":"required_input_missing","message":"Required input is missing","details":"images","extra_info":{"input_name":"images"}}]}}}`, got.body)
	got = h.do(t, "POST", "/api/v2/jobs", `{"workflow":{}}`)
	require.Equal(t, 422, got.status)
	require.JSONEq(t, `{"error":{"code":"invalid_workflow","message":"Prompt outputs failed validation",
		"details":{"node_errors":{"9":[{"field":"images","reason":"Required input is missing"}]}}}}`, got.body)
}

func TestAnEditorGraphIsRefusedByItsOwnCode(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	h.jobs.refuse = fault.New(fault.Invalid, fault.CodeWorkflowFormatUI, "this is a graph as the editor saves it")
	require.Equal(t, 422, h.do(t, "POST", "/api/v2/jobs", `{"workflow":{}}`).status)
	got := h.do(t, "POST", "/api/prompt", `{"prompt":{}}`)
	require.Equal(t, 400, got.status)
	require.Contains(t, got.body, `"type":"workflow_format_ui"`)
}

func TestV2ProgressOfARunningJob(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	h.jobs.put(job.Job{
		ID: jobA, Account: account.LocalID, State: job.Running, Run: 1, SubmittedAt: then, AdmittedAt: &then, StartedAt: &then,
		NodesTotal: 4, NodesDone: 1, Running: map[string]string{"7": "Blur"},
	})
	require.Equal(t, map[string]any{
		"value": 0.3125, "nodes_done": 1.0, "nodes_total": 4.0, "current_node": "7", "current_node_class": "Blur",
		"step": 1.0, "steps": 4.0, "message": "Blur 1/4",
	}, h.do(t, "GET", "/api/v2/jobs/"+string(jobA), "").json(t)["progress"])
}

func TestV2TellsWhichNodeHasAnUnknownClass(t *testing.T) {
	t.Parallel()
	h := start(t, api.Options{})
	h.jobs.refuse = &graph.PromptError{Type: graph.TypeMissingType, Message: "Node 'X' not found.", ExtraInfo: map[string]any{"node_id": "3"}}
	require.JSONEq(t, `{"error":{"code":"invalid_workflow","message":"Node 'X' not found.",
		"details":{"node_errors":{"3":[{"field":"class_type","reason":"Node 'X' not found."}]}}}}`,
		h.do(t, "POST", "/api/v2/jobs", `{"workflow":{}}`).body)
}
