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
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestPromptAnswersExactlyItsThreeFields(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	for _, path := range []string{"/prompt", "/api/prompt"} {
		got := h.Do(t, "POST", path, fmt.Sprintf(`{"prompt":{},"prompt_id":%q,"number":-2.5,"unknown":1}`, apitest.JobA))
		require.Equal(t, 200, got.Status)
		require.JSONEq(t, fmt.Sprintf(`{"prompt_id":%q,"number":-2.5,"node_errors":{}}`, apitest.JobA), got.Body)
	}
}

func TestPromptTakesWhatRealClientsSend(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	body := `{"prompt":{"1":{}},"client_id":"c1","number":"3","front":true,"prompt_id":null,"partial_execution_targets":["9"],
		"extra_data":{"api_key_service":"k","extra_pnginfo":{"workflow":{"a":1}},"preview_method":"auto"}}`
	require.Equal(t, 200, h.Do(t, "POST", "/api/prompt", body, "Comfy-Usage-Source", "cli").Status)
	sub := h.Jobs.Last()
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
	h := apitest.Start(t, apitest.Options{})
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
			got := h.Do(t, "POST", "/api/prompt", c.body)
			require.Equal(t, 400, got.Status, got.Body)
			require.Contains(t, got.Body, fmt.Sprintf(`"type":%q`, c.kind))
			require.Contains(t, got.Body, `"extra_info":{}},"node_errors":{}`)
		})
	}
}

func TestStatusWords(t *testing.T) {
	t.Parallel()
	friendly, raw := apitest.Start(t, apitest.Options{}), apitest.Start(t, apitest.Options{RawStatus: true})
	started := apitest.Then.Add(time.Second)
	for state, want := range map[job.State][3]string{
		job.Queued: {"pending", "queued_limited", "pending"}, job.Running: {"in_progress", "executing", "in_progress"},
		job.Canceling: {"in_progress", "cancel_requested", "in_progress"}, job.Succeeded: {"completed", "success", "success"},
		job.Failed: {"failed", "error", "error"}, job.Canceled: {"cancelled", "cancelled", "cancelled"}, job.Expired: {"failed", "lost", "error"},
	} {
		j := job.Job{
			ID: apitest.JobA, Account: account.LocalID, State: state, SubmittedAt: apitest.Then, UpdatedAt: apitest.Then,
			StartedAt: &started,
		}
		friendly.Jobs.Put(j)
		raw.Jobs.Put(j)
		got := friendly.Do(t, "GET", "/api/job/"+string(apitest.JobA)+"/status", "").JSON(t)
		require.Equal(t, want[0], got["status"])
		require.Equal(t, want[1], got["raw_status"])
		require.Equal(t, "2026-01-02T03:04:05.123Z", got["created_at"])
		require.Equal(t, want[2], raw.Do(t, "GET", "/job/"+string(apitest.JobA)+"/status", "").JSON(t)["status"])
	}
}

func TestQueueListsInRunOrderAndCancels(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	put := func(id job.ID, state job.State, number float64) {
		h.Jobs.Put(job.Job{
			ID: id, Account: account.LocalID, State: state, Number: number, SubmittedAt: apitest.Then, ClientID: "c",
			Targets: []string{"9"},
		})
	}
	put(apitest.JobA, job.Queued, 5)
	put(apitest.JobB, job.Queued, -1)
	running := job.ID("cccccccc-2222-4333-8444-555555555555")
	put(running, job.Running, 1)
	got := h.Do(t, "GET", "/api/queue", "")
	require.JSONEq(t, fmt.Sprintf(`{"queue_running":[[1,%q,%s,{"client_id":"c","create_time":%d},["9"]]],"queue_pending":[
		[-1,%[4]q,%[2]s,{"client_id":"c","create_time":%[3]d},["9"]],[5,%[5]q,%[2]s,{"client_id":"c","create_time":%[3]d},["9"]]]}`,
		running, `{"1":{"class_type":"A","inputs":{}}}`, apitest.Then.UnixMilli(), apitest.JobB, apitest.JobA), got.Body)
	require.JSONEq(t, `{"exec_info":{"queue_remaining":3}}`, h.Do(t, "GET", "/prompt", "").Body)

	deleted := h.Do(t, "POST", "/api/queue", fmt.Sprintf(`{"delete":[%q,"bogus","dddddddd-2222-4333-8444-555555555555"]}`, apitest.JobA))
	require.JSONEq(t, fmt.Sprintf(`{"deleted":[%q],"cleared":false}`, apitest.JobA), deleted.Body)
	require.JSONEq(t, fmt.Sprintf(`{"deleted":[%q],"cleared":true}`, apitest.JobB), h.Do(t, "POST", "/queue", `{"clear":true}`).Body)
	require.JSONEq(t, `{}`, h.Do(t, "POST", "/api/interrupt", `{"prompt_id":"bogus"}`).Body)
	require.JSONEq(t, `{}`, h.Do(t, "POST", "/api/interrupt", "").Body)
	require.JSONEq(t, `{"queue_running":[],"queue_pending":[]}`, h.Do(t, "GET", "/queue", "").Body)
	require.Equal(t, 200, h.Do(t, "POST", "/api/interrupt", "").Status, "nothing running is fine")
}

func TestAnotherAccountsJobsDoNotExist(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{Mode: account.ModeKeys})
	h.Jobs.Put(job.Job{ID: apitest.JobA, Account: "a", State: job.Running, SubmittedAt: apitest.Then})
	id := string(apitest.JobA)
	for _, r := range [][3]string{
		{"GET", "/api/job/" + id + "/status"},
		{"GET", "/api/v2/jobs/" + id},
		{"GET", "/api/v2/jobs/" + id + "/workflow"},
		{"GET", "/api/v2/jobs/" + id + "/events"},
		{"POST", "/api/v2/jobs/" + id + "/cancel"},
	} {
		require.Equal(t, 404, h.Do(t, r[0], r[1], "", "X-API-Key", "key-b").Status, r[1])
	}
	require.JSONEq(t, `{"queue_running":[],"queue_pending":[]}`, h.Do(t, "GET", "/queue", "", "X-API-Key", "key-b").Body)
	require.JSONEq(t, `{"deleted":[],"cleared":true}`,
		h.Do(t, "POST", "/queue", fmt.Sprintf(`{"delete":[%q],"clear":true}`, id), "X-API-Key", "key-b").Body)
	require.Equal(t, 200, h.Do(t, "POST", "/interrupt", fmt.Sprintf(`{"prompt_id":%q}`, id), "X-API-Key", "key-b").Status)
	require.Equal(t, "in_progress", h.Do(t, "GET", "/api/job/"+id+"/status", "", "X-API-Key", "key-a").JSON(t)["status"])
}

func TestWorkflowIsReadBackAsSubmitted(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Jobs.Put(job.Job{ID: apitest.JobA, Account: account.LocalID, State: job.Queued})
	require.JSONEq(t, `{"workflow":{"1":{"class_type":"A","inputs":{}}},"format":"api"}`,
		h.Do(t, "GET", "/api/v2/jobs/"+string(apitest.JobA)+"/workflow", "").Body)
}

func TestSystemRoutes(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{Mode: account.ModeToken, Version: "1.2.3"})
	features := h.Do(t, "GET", "/features", "").JSON(t)
	require.Equal(t, true, features["supports_preview_metadata"])
	require.InDelta(t, 104857600, features["max_upload_size"], 0)
	var stats struct {
		System  map[string]json.RawMessage
		Devices []map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(h.Do(t, "GET", "/api/system_stats", "").Body), &stats))
	for _, field := range []string{
		"os", "python_version", "embedded_python", "comfyui_version", "comfyui_frontend_version",
		"workflow_templates_version", "cloud_version", "pytorch_version", "argv", "ram_total", "ram_free",
	} {
		require.Contains(t, stats.System, field)
	}
	require.NotEmpty(t, stats.Devices)
	require.Equal(t, 401, h.Do(t, "GET", "/api/user", "").Status)
	require.JSONEq(t, `{"status":"active"}`, h.Do(t, "GET", "/api/user", "", "X-API-Key", "s3cret").Body)
}

func TestValidationErrorsInBothVocabularies(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Jobs.Refuse = &graph.PromptError{
		Type: "prompt_outputs_failed_validation", Message: "Prompt outputs failed validation", Details: "Required input is missing: images",
		NodeErrors: graph.NodeErrors{{Node: "9", Class: "SaveImage", DependentOutputs: []string{"9"}, Errors: []graph.InputError{{
			Type: "required_input_missing", Message: "Required input is missing", Details: "images",
			ExtraInfo: map[string]any{"input_name": "images"},
		}}}},
	}
	got := h.Do(t, "POST", "/api/prompt", `{"prompt":{}}`)
	require.Equal(t, 400, got.Status)
	require.JSONEq(t, `{"error":{"type":"prompt_outputs_failed_validation","message":"Prompt outputs failed validation",
		"details":"Required input is missing: images","extra_info":{}},"node_errors":{"9":{"class_type":"SaveImage","dependent_outputs":["9"],`+
		`
		"errors":[{"type":"required_input_missing","message":"Required input is missing","details":"images",`+
		`"extra_info":{"input_name":"images"}}]}}}`, got.Body)
	got = h.Do(t, "POST", "/api/v2/jobs", `{"workflow":{}}`)
	require.Equal(t, 422, got.Status)
	require.JSONEq(t, `{"error":{"code":"invalid_workflow","message":"Prompt outputs failed validation",
		"details":{"node_errors":{"9":[{"field":"images","reason":"Required input is missing"}]}}}}`, got.Body)
}

func TestAnEditorGraphIsRefusedByItsOwnCode(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Jobs.Refuse = fault.New(fault.Invalid, fault.CodeWorkflowFormatUI, "this is a graph as the editor saves it")
	require.Equal(t, 422, h.Do(t, "POST", "/api/v2/jobs", `{"workflow":{}}`).Status)
	got := h.Do(t, "POST", "/api/prompt", `{"prompt":{}}`)
	require.Equal(t, 400, got.Status)
	require.Contains(t, got.Body, `"type":"workflow_format_ui"`)
}
