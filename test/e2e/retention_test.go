package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	temporal "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/workflows"
)

var record = flag.Bool("record", false, "record the history of a sweep that the replay tests use")

// servers are those of the running service, for what no client may do: turn back the clock.
type servers struct {
	Database string `json:"database_url"`
	Temporal string `json:"temporal_address"`
}

func serversOf(t *testing.T) servers {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(start(t).Data, "addresses.json"))
	require.NoError(t, err)
	var at servers
	require.NoError(t, json.Unmarshal(raw, &at))
	return at
}

// age makes a row older, as if time had passed, once it is as it stays: views come behind the log.
func (at servers) age(t *testing.T, statement, id string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), at.Database)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context())) // the test is over
	deadline := time.After(patience)
	for {
		tag, err := conn.Exec(t.Context(), statement, id)
		require.NoError(t, err)
		if tag.RowsAffected() == 1 {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatalf("there is no such row: %s", statement)
		}
	}
}

const (
	agedJob = `update jobs_v1 set created_at = created_at - interval '40 days', job = jsonb_set(jsonb_set(job::jsonb,
		'{submitted_at}', to_jsonb(now() - interval '40 days')), '{ended_at}', to_jsonb(now() - interval '40 days'))::json where id = $1
			and state = 'succeeded'`
	agedAsset = `update files set expires_at = now() - interval '1 hour' where asset_id = $1`
)

// swept has the schedule sweep now and returns the sweep's workflow with what it did.
func (at servers) swept(t *testing.T) (string, workflows.RetentionResult) {
	t.Helper()
	c, err := temporal.Dial(temporal.Options{HostPort: at.Temporal, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	defer c.Close()
	began := time.Now()
	require.NoError(t, c.ScheduleClient().GetHandle(t.Context(), "retention-millrace").Trigger(t.Context(), temporal.ScheduleTriggerOptions{
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE,
	}))
	var id string
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ; id == ""; <-tick.C {
		require.Less(t, time.Since(began), patience, "no sweep")
		list, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
		require.NoError(t, err)
		for _, w := range list.GetExecutions() {
			if w.GetType().GetName() == workflows.RetentionName && w.GetStartTime().AsTime().After(began) {
				id = w.GetExecution().GetWorkflowId()
			}
		}
	}
	var res workflows.RetentionResult
	require.NoError(t, c.GetWorkflow(t.Context(), id, "").Get(t.Context(), &res))
	return id, res
}

// A real sweep, with real jobs and assets: what a job that waits refers to stays, whatever its deadline.
func TestSweepRemovesExpiredAssetsExceptThoseJobsNeed(t *testing.T) {
	t.Parallel()
	c := newNamed(t, "pro")
	at := serversOf(t)
	over := c.submit(picture)
	c.await(over, "completed")
	needed, unneeded := c.asset("needed.png"), c.asset("unneeded.png")
	c.operator("queue", "pause", "--account", c.name, "--reason", "test")
	waiting := c.json("POST", "/api/v2/jobs", `{"workflow":{
		"1":{"class_type":"LoadImage","inputs":{"image":{"__type":"core/ASSET","info":{"id":"`+needed+`"}}}},
		"9":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"swept"}}}}`)["id"].(string)
	refused := c.do("DELETE", "/api/v2/assets/"+needed, "")
	require.Equal(t, http.StatusConflict, refused.status, refused.body)
	require.Contains(t, refused.body, "asset_in_use")

	at.age(t, agedJob, over)
	at.age(t, agedAsset, needed)
	at.age(t, agedAsset, unneeded)
	sweep, did := at.swept(t)
	require.GreaterOrEqual(t, did.Jobs.Retired, 1)
	require.GreaterOrEqual(t, did.Expired, 1)
	require.Zero(t, did.Jobs.Failed)
	require.Equal(t, http.StatusNotFound, c.do("GET", "/api/v2/jobs/"+over, "").status)
	require.Equal(t, http.StatusNotFound, c.do("GET", "/api/v2/assets/"+unneeded, "").status)
	require.Equal(t, http.StatusOK, c.do("GET", "/api/v2/assets/"+needed, "").status)

	c.operator("queue", "resume", "--account", c.name, "--reason", "test")
	c.await(waiting, "completed")
	_, did = at.swept(t)
	require.GreaterOrEqual(t, did.Expired, 1)
	require.Equal(t, http.StatusNotFound, c.do("GET", "/api/v2/assets/"+needed, "").status, "no job needs it any more")
	replays(t, sweep)
}

// replays exports the history of a sweep and runs it against this program's workflows.
func replays(t *testing.T, sweep string) {
	t.Helper()
	dir := t.TempDir()
	if *record {
		dir = "../../workflows/testdata/histories"
	}
	start(t).Run(t, "histories", "export", sweep, "--dir", dir, "--name", "retention-jobs")
	var out bytes.Buffer
	replay := cli.Command(&out, &out, os.LookupEnv)
	replay.SetArgs([]string{"histories", "replay", filepath.Join(dir, "retention-jobs.json")})
	require.NoError(t, replay.ExecuteContext(t.Context()), out.String())
}

// asset uploads a picture and returns the id of its asset.
func (c *client) asset(name string) string {
	c.t.Helper()
	r := c.upload(name, tinyPNG(c.t))
	require.Equal(c.t, http.StatusOK, r.status, r.body)
	id, _ := decode(c.t, r.body)["asset"].(map[string]any)["id"].(string)
	require.NotEmpty(c.t, id, r.body)
	return id
}

// A picture is named by a file name or an asset reference; any other object names none.
func TestAnObjectThatIsNoAssetReferenceIsNoImage(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.asset("real.png")
	for name, value := range map[string]string{
		"another type":      `{"__type":"core/` + id + `"}`,
		"no type":           `{"info":{"id":"` + id + `"}}`,
		"an empty object":   `{}`,
		"a number":          `7`,
		"nothing":           `null`,
		"a wrapped list":    `{"__value__":["a"]}`,
		"no info":           `{"__type":"core/ASSET"}`,
		"an id of no asset": `{"__type":"core/ASSET","info":{"id":"` + absentID + `"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &client{t: t, base: c.base, key: c.key}
			graph := `{"1":{"class_type":"LoadImage","inputs":{"image":` + value +
				`}},"9":{"class_type":"PreviewImage","inputs":{"images":["1",0]}}}`
			v2 := c.do("POST", "/api/v2/jobs", `{"workflow":`+graph+`}`)
			require.Equal(t, http.StatusUnprocessableEntity, v2.status, v2.body)
			failed, _ := decode(t, v2.body)["error"].(map[string]any)
			require.Contains(t, []any{"invalid_workflow", "missing_asset"}, failed["code"])
			errors, _ := failed["details"].(map[string]any)["node_errors"].(map[string]any)
			require.Contains(t, errors, "1", v2.body)
			cloud := c.do("POST", "/api/prompt", `{"prompt":`+graph+`}`)
			require.Equal(t, http.StatusBadRequest, cloud.status, cloud.body)
		})
	}
}
