package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// adminToken is the credential of the service's admin API.
const adminToken = "e2e-admin-token"

// admin calls the admin API.
func (c *client) admin(method, path, body string) (int, map[string]any) {
	c.t.Helper()
	r := c.do(method, "/admin"+path, body, "Authorization", "Bearer "+adminToken, "X-API-Key", "")
	var v map[string]any
	if r.body != "" {
		require.NoError(c.t, json.Unmarshal([]byte(r.body), &v), r.body)
	}
	return r.status, v
}

func TestTheAdminAPIOpensToItsOwnCredentialOnly(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	for name, headers := range map[string][]string{
		"a client's key":       nil,
		"a key as bearer":      {"Authorization", "Bearer " + c.key},
		"a token that is near": {"Authorization", "Bearer " + adminToken + "x"},
		"no bearer":            {"Authorization", "Basic " + adminToken},
	} {
		for _, path := range []string{"/admin/jobs", "/admin/metrics"} {
			r := c.do("GET", path, "", headers...)
			require.Equal(t, 401, r.status, name)
			require.NotContains(t, r.body, "jobs")
		}
	}
	r := c.do("GET", "/api/queue", "", "Authorization", "Bearer "+adminToken, "X-API-Key", "")
	require.Equal(t, 401, r.status, "and the admin token is no client's")
}

// over HTTP: search, show, retry, bulk with a dry run; each with actor and reason.
func TestOperatorsRetryOverHTTP(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.submit(strings.ReplaceAll(cheapGraph, "PREFIX", "admin"))
	c.await(id, "completed")
	status, shown := c.admin("GET", "/jobs/"+id, "")
	require.Equal(t, 200, status)
	require.Equal(t, "succeeded", shown["job"].(map[string]any)["state"])
	account := shown["job"].(map[string]any)["account"].(string)

	status, refused := c.admin("POST", "/jobs/"+id+"/retry", `{}`)
	require.Equal(t, 400, status, refused)
	status, made := c.admin("POST", "/jobs/"+id+"/retry",
		`{"actor":"kim","reason":"look again","from_node":"1","set":{"2.filename_prefix":"again"}}`)
	require.Equal(t, 201, status, made)
	retry := made["retry"].(string)
	c.await(retry, "completed")
	require.Contains(t, c.do("GET", "/api/v2/jobs/"+retry, "").body, "again_00001_.png")
	_, events := c.admin("GET", "/jobs/"+retry+"/events", "")
	first := events["events"].([]any)[0].(map[string]any)
	require.Equal(t, "admin:kim", first["actor"])
	require.Equal(t, "look again", first["reason"])
	_, shown = c.admin("GET", "/jobs/"+id, "")
	require.Equal(t, []any{retry}, shown["retries"])

	filter := `"filter":{"status":["succeeded"],"account":"` + account + `"}`
	_, dry := c.admin("POST", "/jobs/retry", `{"actor":"kim","reason":"all","`+"filter"+`":{"status":["succeeded"],"account":"`+account+`"}}`)
	require.Equal(t, "would be skipped", dry["outcomes"].([]any)[0].(map[string]any)["outcome"],
		"it was retried before, and the dry run knows")
	require.Equal(t, "would retry", dry["outcomes"].([]any)[1].(map[string]any)["outcome"])
	_, done := c.admin("POST", "/jobs/retry", `{"actor":"kim","reason":"all",`+filter+`,"confirm":true}`)
	outcomes := done["outcomes"].([]any)
	require.Equal(t, "skipped", outcomes[0].(map[string]any)["outcome"], "it was retried before")
	require.Equal(t, "retried", outcomes[1].(map[string]any)["outcome"])

	for path, want := range map[string]int{
		"/jobs/" + retry + "/cancel": 409, "/jobs/" + retry + "/requeue": 409,
		"/jobs/ffffffff-0000-4000-8000-000000000009/retry": 404, "/jobs/nonsense/cancel": 404,
	} {
		status, answer := c.admin("POST", path, `{"actor":"kim","reason":"r"}`)
		require.Equal(t, want, status, "%s: %v", path, answer)
	}
	for path, want := range map[string]int{
		"/accounts/%ff": 404, "/accounts/%00/keys": 404, "/jobs?account=%ff": 400, "/jobs?class=%00": 400,
		"/webhooks?account=%00": 400,
	} {
		status, answer := c.admin("GET", path, "")
		require.Equal(t, want, status, "%s: %v", path, answer)
	}
	for body, path := range map[string]string{
		`{"actor":"kim","reason":"r","name":"a\u0000b","tier":"pro"}`: "/accounts", `{"actor":"k\u0000m","reason":"r"}`: "/jobs/" + id + "/retry",
	} {
		status, answer := c.admin("POST", path, body)
		require.Equal(t, 400, status, "%s: %v", body, answer)
	}
	status, _ = c.admin("POST", "/jobs/cancel", `{"actor":"kim","reason":"r","filter":{},"confirm":true}`)
	require.Equal(t, 400, status, "never everything by accident")
	status, _ = c.admin("POST", "/jobs/cancel", `{"actor":"kim","reason":"r","filter":{"status":["nosuch"]}}`)
	require.Equal(t, 400, status)
}

const cheapGraph = `{"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":255}},
	"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"PREFIX"}}}`

func TestOperatorsRunQueuesAccountsAndCreditOverHTTP(t *testing.T) {
	t.Parallel()
	c := newClient(t, "free")
	status, made := c.admin("POST", "/accounts", `{"actor":"kim","reason":"new customer",`+
		`"name":"made-over-http-`+time.Now().Format("150405.000000")+`","tier":"standard"}`)
	require.Equal(t, 201, status, made)
	id := made["id"].(string)
	status, key := c.admin("POST", "/accounts/"+id+"/keys", `{"actor":"kim","reason":"first key"}`)
	require.Equal(t, 201, status, key)
	owner := &client{t: t, base: c.base, key: key["secret"].(string)}

	status, queue := c.admin("PUT", "/queues/"+id, `{"actor":"kim","reason":"hold","mode":"paused"}`)
	require.Equal(t, 200, status, queue)
	job := owner.submit(strings.ReplaceAll(cheapGraph, "PREFIX", "held"))
	require.Equal(t, "pending", owner.status(job))
	status, answer := c.admin("POST", "/jobs/"+job+"/retry", `{"actor":"kim","reason":"impatience"}`)
	require.Equal(t, 409, status, answer)
	metrics := c.do("GET", "/admin/metrics", "", "Authorization", "Bearer "+adminToken)
	require.Equal(t, 200, metrics.status)
	c.admin("PUT", "/queues/"+id, `{"actor":"kim","reason":"go on","mode":"open"}`)
	owner.await(job, "completed")

	status, changed := c.admin("PATCH", "/accounts/"+id, `{"actor":"kim","reason":"upgrade","tier":"pro"}`)
	require.Equal(t, 200, status)
	require.Equal(t, "pro", changed["tier"])
	_, balance := c.admin("POST", "/accounts/"+id+"/credit", `{"actor":"kim","reason":"trial","usd":"2.5"}`)
	require.EqualValues(t, 2_500_000, balance["available_micros"])
	status, _ = c.admin("DELETE", "/accounts/"+id+"/keys/"+key["id"].(string), `{"actor":"kim","reason":"leaked"}`)
	require.Equal(t, 204, status)
	require.Equal(t, 401, owner.do("GET", "/api/queue", "").status)
	status, _ = c.admin("POST", "/views/jobs_v1/streams/job-x/resume", `{"actor":"kim","reason":"mended"}`)
	require.Equal(t, 404, status)
	status, _ = c.admin("POST", "/accounts/nobody/keys", `{"actor":"kim","reason":"r"}`)
	require.Equal(t, 404, status)
}

// Metrics agree with the log, and contain no secret.
func TestMetricsCountRuns(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	c.await(c.submit(strings.ReplaceAll(cheapGraph, "PREFIX", "metrics")), "completed")
	var body string
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, want := range []string{ // metrics follow the log, and what is asked of the database has seconds
		`millrace_job_duration_seconds_count{outcome="succeeded"}`,
		`millrace_node_duration_seconds_count{class="EmptyImage"}`, `millrace_events_total{type="job.submitted.v1"}`,
		`millrace_view_lag_events{view="jobs_v1"}`, "millrace_log_position", "millrace_outbox_intents", "millrace_file_bytes",
		"millrace_watchers", "millrace_node_results_total", "millrace_database_up 1",
	} {
		for !strings.Contains(body, want) {
			require.True(t, time.Now().Before(deadline), "no %s: %s", want, body)
			<-tick.C
			body = c.do("GET", "/admin/metrics", "", "Authorization", "Bearer "+adminToken).body
		}
	}
	require.NotContains(t, body, c.key)
	require.NotContains(t, body, adminToken)
}

// Events that belong to no job, call or asset are in the log, too: changes that were made over HTTP are read there.
func TestOperatorsReadTheLogOverHTTP(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	secret := `{"api_key":"hunter2"}`
	graph := `{"prompt":` + strings.ReplaceAll(cheapGraph, "PREFIX", "log") + `,"extra_data":{"extra_pnginfo":` + secret + `}}`
	r := c.do("POST", "/api/prompt", graph)
	require.Equal(t, 200, r.status, r.body)
	job := decode(t, r.body)["prompt_id"].(string)
	c.await(job, "completed")
	_, shown := c.admin("GET", "/jobs/"+job, "")
	id := shown["job"].(map[string]any)["account"].(string)
	for path, body := range map[string]string{"/accounts/" + id + "/credit": `"usd":"3"`, "/accounts/" + id + "/keys": `"scopes":["read"]`} {
		status, answer := c.admin("POST", path, `{"actor":"kim","reason":"log",`+body+`}`)
		require.Less(t, status, 300, answer)
	}

	status, list := c.admin("GET", "/events?stream=*"+id+"&limit=20", "")
	require.Equal(t, 200, status, list)
	types := map[string]map[string]any{}
	for _, f := range list["events"].([]any) {
		event := f.(map[string]any)
		require.Equal(t, id, event["account"])
		types[event["type"].(string)] = event
	}
	require.Equal(t, "admin:kim", types["credit.granted.v1"]["actor"])
	require.Equal(t, "log", types["account.key_issued.v1"]["reason"], "the newer of two")
	require.NotContains(t, types, "job.submitted.v1")

	position := types["credit.granted.v1"]["position"].(float64)
	status, event := c.admin("GET", fmt.Sprintf("/events/%.0f", position), "")
	require.Equal(t, 200, status)
	require.Equal(t, "ledger-"+id, event["stream"])
	require.EqualValues(t, 3_000_000, event["data"].(map[string]any)["micros"])

	status, onwards := c.admin("GET", "/events?from_position=1&type=job.submitted&limit=1000&account="+id, "")
	require.Equal(t, 200, status)
	require.Len(t, onwards["events"], 1)
	raw, err := json.Marshal(onwards["events"])
	require.NoError(t, err)
	require.Contains(t, string(raw), "SaveImage")
	require.NotContains(t, string(raw), "hunter2")
	next := onwards["from_position"].(float64)
	c.await(c.submit(strings.ReplaceAll(cheapGraph, "PREFIX", "log2")), "completed")
	_, later := c.admin("GET", fmt.Sprintf("/events?from_position=%.0f&type=job.submitted&account=%s", next, id), "")
	require.Len(t, later["events"], 1, "a poll goes on where the last one ended")

	status, counted := c.admin("GET", "/events/types", "")
	require.Equal(t, 200, status)
	require.NotEmpty(t, counted["types"])
	for path, want := range map[string]int{
		"/events/999999999": 404, "/events/x": 404, "/events?limit=0": 400, "/events?limit=5000": 400, "/events?since=soon": 400,
		"/events?account=nobody": 400, "/events?from_position=-1": 400, "/events?from_position=2&before=3": 400,
	} {
		status, answer := c.admin("GET", path, "")
		require.Equal(t, want, status, "%s: %v", path, answer)
	}
	require.Equal(t, 401, c.do("GET", "/admin/events", "").status)
}
