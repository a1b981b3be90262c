package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/projections/usage"
	"github.com/millrace-dev/millrace/test/served"
)

// printed returns the output of a command of the service's command line with --json.
func (c *client) printed(args ...string) string {
	c.t.Helper()
	out, err := served.Command(c.t.Context(), os.LookupEnv, append(args, "--json", "--data", start(c.t).Data)...)
	require.NoError(c.t, err, out)
	return out
}

// reply returns a part of the admin API's answer, or all of it for "".
func (c *client) reply(path, part string) string {
	c.t.Helper()
	status, answer := c.admin("GET", path, "")
	require.Equal(c.t, 200, status, "%s: %v", path, answer)
	var v any = answer
	if part != "" {
		require.Contains(c.t, answer, part)
		v = answer[part]
	}
	raw, err := json.Marshal(v)
	require.NoError(c.t, err)
	return string(raw)
}

// over HTTP: the answers equal those of the commands on a job.
func TestOperatorsReadWhatBecameOfAJobOverHTTP(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	secret := `,"extra_data":{"extra_pnginfo":{"api_key":"hunter2"}}}`
	r := c.do("POST", "/api/prompt", `{"prompt":`+strings.ReplaceAll(cheapGraph, "PREFIX", "first-a")+secret)
	require.Equal(t, 200, r.status, r.body)
	a := decode(t, r.body)["prompt_id"].(string)
	b := c.submit(strings.ReplaceAll(strings.ReplaceAll(cheapGraph, "PREFIX", "first-b"), "255", "254"))
	c.await(a, "completed")
	c.await(b, "completed")
	path := "/jobs/" + a

	require.JSONEq(t, c.printed("jobs", "show", a), c.reply(path, "job"))
	require.JSONEq(t, c.printed("jobs", "show", a, "--at", "2"), c.reply(path+"?at=2", "job"))
	require.JSONEq(t, c.printed("jobs", "events", a), c.reply(path+"/events", ""))
	require.JSONEq(t, c.printed("jobs", "timeline", a), c.reply(path+"/timeline", ""))
	require.JSONEq(t, c.printed("jobs", "diff", a, b), c.reply(path+"/diff?with="+b, ""))
	require.Contains(t, c.reply(path+"/diff?with="+b, "graph"), "1.color")
	require.Equal(t, c.reply(path, "job"), c.reply("/jobs/"+a[:18], "job"), "named by its first characters")

	var then job.Job
	require.NoError(t, json.Unmarshal([]byte(c.reply(path+"?at=1", "job")), &then))
	require.Equal(t, job.Queued, then.State)
	require.EqualValues(t, 1, then.Version)
	var events []struct {
		At time.Time `json:"recorded_at"`
	}
	require.NoError(t, json.Unmarshal([]byte(c.reply(path+"/events", "events")), &events))
	at := events[len(events)-1].At.Format(time.RFC3339Nano)
	require.Equal(t, c.reply(path, "job"), c.reply(path+"?at="+at, "job"), "by time")

	beside := c.reply(path+"/workflow", "")
	require.Contains(t, beside, "WorkflowExecutionStarted")
	require.Contains(t, beside, "job.succeeded.v1")
	for _, answer := range []string{beside, c.reply(path+"/events", ""), c.reply(path, ""), c.reply(path+"?at=1", "")} {
		require.NotContains(t, answer, "hunter2")
	}
}

func TestInvalidHistoryRequests(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.submit(strings.ReplaceAll(cheapGraph, "PREFIX", "asked"))
	c.await(id, "completed")
	const nobody = "ffffffff-0000-4000-8000-000000000009"
	type answer struct {
		status int
		code   string
	}
	for path, want := range map[string]answer{
		"/jobs/" + id + "?at=4000":                 {404, "version_not_found"},
		"/jobs/" + id + "?at=1999-01-01T00:00:00Z": {404, "version_not_found"},
		"/jobs/" + id + "?at=noon":                 {400, "invalid_request"},
		"/jobs/" + id + "?at=0":                    {400, "invalid_request"},
		"/jobs/" + id + "?version=2":               {400, "invalid_request"},
		"/jobs/" + id + "/timeline?at=2":           {400, "invalid_request"},
		"/jobs/" + id + "/diff":                    {400, "invalid_request"},
		"/jobs/" + id + "/diff?with=" + nobody:     {404, "job_not_found"},
		"/jobs/" + nobody:                          {404, "job_not_found"},
		"/jobs/" + nobody + "?at=1":                {404, "job_not_found"},
		"/jobs/" + nobody + "/events":              {404, "job_not_found"},
		"/jobs/" + nobody + "/workflow":            {404, "job_not_found"},
		"/jobs/nonsense/timeline":                  {404, "job_not_found"},
		"/calls/" + nobody:                         {404, "call_not_found"},
		"/calls/nonsense/events":                   {404, "call_not_found"},
		"/calls/" + id:                             {404, "call_not_found"},
		"/calls?status=done":                       {400, "invalid_request"},
		"/calls?limit=1001":                        {400, "invalid_request"},
		"/calls?account=nobody":                    {400, "invalid_request"},
		"/calls/usage?since=soon":                  {400, "invalid_request"},
		"/assets/" + nobody + "/timeline":          {404, "asset_not_found"},
		"/assets?status=gone":                      {400, "invalid_request"},
		"/assets?limit=x":                          {400, "invalid_request"},
	} {
		status, got := c.admin("GET", path, "")
		require.Equal(t, want.status, status, "%s: %v", path, got)
		require.Equal(t, want.code, got["error"].(map[string]any)["code"], path)
	}
	for _, path := range []string{"/jobs/" + id + "?at=1", "/jobs/" + id + "/timeline", "/calls", "/assets", "/calls/usage"} {
		require.Equal(t, 401, c.do("GET", "/admin"+path, "").status, "%s: a client's key opens nothing", path)
	}
	for body, want := range map[string]int{
		`{}`: 400, `{"actor":"kim","reason":"bill"}`: 400, `{"actor":"kim","reason":"bill","charged_usd":"-1"}`: 400,
		`{"actor":"kim","reason":"bill","charged_usd":"1","charged":1}`: 400, `{"actor":"kim","reason":"bill","charged_usd":"0"}`: 404,
	} {
		status, got := c.admin("POST", "/calls/"+nobody+"/reconcile", body)
		require.Equal(t, want, status, "%s: %v", body, got)
	}
}

func TestOperatorsReadWhatBecameOfAnAssetOverHTTP(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	var ids []string
	for i := range 2 {
		c.await(c.submit(strings.ReplaceAll(cheapGraph, "PREFIX", fmt.Sprint("asset", i))), "completed")
	}
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(ids) < 2 { // the list is a view, which follows the log
		require.True(t, time.Now().Before(deadline), "the assets are not listed")
		<-tick.C
		ids = nil
		_, list := c.admin("GET", "/assets?status=live&limit=10&account="+c.account, "")
		for _, a := range list["assets"].([]any) {
			ids = append(ids, a.(map[string]any)["id"].(string))
		}
	}
	require.Len(t, ids, 2, "those of the account only")
	path := "/assets/" + ids[0]
	require.JSONEq(t, c.printed("assets", "show", ids[0], "--at", "1"), c.reply(path+"?at=1", "asset"))
	require.JSONEq(t, c.printed("assets", "events", ids[0]), c.reply(path+"/events", ""))
	require.Equal(t, "asset", decode(t, c.reply(path+"/timeline", ""))["kind"])
	require.Equal(t, ids[1], decode(t, c.reply(path+"/diff?with="+ids[1], ""))["b"])
	require.Empty(t, decode(t, c.reply(path+"/workflow", ""))["workflow"], "the workflow of its job saved it")
	_, none := c.admin("GET", "/assets?status=rejected&account="+c.account, "")
	require.Equal(t, []any{}, none["assets"])
}

func TestTheDoctorIsAskedOverHTTP(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	// Each check has seconds, which may not be enough on a busy machine: repeat until all checks had enough.
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		asked := checksOf(t, c.reply("/doctor", ""))
		out, _ := served.Command(t.Context(), os.LookupEnv, "doctor", "--json", "--data", start(t).Data) // that a check fails
		printed := checksOf(t, out)
		if len(asked) == len(printed) && asked["database"] == "ok" && asked["schema"] == "ok" && asked["temporal"] == "ok" &&
			asked["workers"] == "ok" && asked["model workers"] == "ok" {
			for name := range printed {
				require.Contains(t, asked, name, "as the command has them")
			}
			break
		}
		require.True(t, time.Now().Before(deadline), "%v, %v", asked, printed)
		<-tick.C
	}
	require.Equal(t, 401, c.do("GET", "/admin/doctor", "").status)
}

// checksOf returns the status of each check of a report.
func checksOf(t *testing.T, report string) map[string]string {
	t.Helper()
	var r struct {
		Checks []struct{ Check, Status, Detail, Remedy string }
	}
	require.NoError(t, json.Unmarshal([]byte(report), &r), report)
	found := map[string]string{}
	for _, check := range r.Checks {
		require.NotEmpty(t, check.Detail, check.Check)
		found[check.Check] = check.Status
	}
	return found
}

func TestOperatorsRebuildAndReplayOverHTTP(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.submit(strings.ReplaceAll(cheapGraph, "PREFIX", "replayed"))
	c.await(id, "completed")
	runs := decode(t, c.reply("/jobs/"+id+"/replay", ""))["runs"].([]any)
	require.Len(t, runs, 1)
	require.Equal(t, "replays", runs[0].(map[string]any)["result"], runs)

	const view = "/views/" + usage.Name
	status, refused := c.admin("POST", view+"/rebuild", `{}`)
	require.Equal(t, 400, status, "%v", refused)
	status, done := c.admin("POST", view+"/rebuild", `{"actor":"kim","reason":"`+id+`"}`)
	require.Equal(t, 200, status, "%v", done)
	require.Equal(t, usage.Name, done["view"])
	_, log := c.admin("GET", "/events?stream=view-"+usage.Name+"&type=view.rebuilt", "")
	raw, err := json.Marshal(log)
	require.NoError(t, err)
	require.Contains(t, string(raw), `"actor":"admin:kim"`)
	require.Contains(t, string(raw), `"reason":"`+id+`"`)
	status, checked := c.admin("GET", view+"/check", "")
	require.Equal(t, 200, status, "%v", checked)
	require.NotContains(t, checked, "differences")
	for path, want := range map[string]int{"/views/nope/check": 404, "/views/webhooks_outgoing/check": 404, "/jobs/nonsense/replay": 404} {
		status, answer := c.admin("GET", path, "")
		require.Equal(t, want, status, "%s: %v", path, answer)
	}
	status, _ = c.admin("POST", "/views/webhooks_outgoing/rebuild", `{"actor":"kim","reason":"r"}`)
	require.Equal(t, 404, status, "what was shown is not shown again")
	require.Equal(t, 401, c.do("GET", "/admin"+view+"/check", "").status)
}
