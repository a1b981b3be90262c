package durability_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/task"
)

var record = flag.Bool("record", false, "record the workflow histories that the replay tests use")

// Runs of every kind are exported with the program's own command. They are replayed at once, and by the tests of
// package workflows for as long as they are kept.
func TestHistoriesOfRealRunsReplay(t *testing.T) {
	t.Parallel()
	dir, addr := dataDir(t), freeAddress(t)
	env := []string{"MILLRACE_SLOTS=4", "MILLRACE_DATA=" + dir}
	p := &process{t: t, args: []string{"dev", "--addr", addr}, env: env, log: filepath.Join(dir, "dev.log")}
	p.start()
	t.Cleanup(p.stop)
	s := &service{t: t, base: "http://" + addr, env: env}
	s.ready()
	runs := map[string]string{
		"run-cheap": s.ended(cheap("cheap"), "completed"),
		"run-long":  s.ended(long("long"), "completed"),
		"run-lazy": s.ended(`{"prompt":{
			"1":{"class_type":"StringConcatenate","inputs":{"string_a":"a","string_b":"b","delimiter":""}},
			"2":{"class_type":"EmptyImage","inputs":{"width":4096,"height":4096,"batch_size":1,"color":5}},
			"3":{"class_type":"GetImageSize","inputs":{"image":["2",0]}},
			"4":{"class_type":"ComfySwitchNode","inputs":{"switch":true,"on_true":["1",0],"on_false":["3",0]}},
			"5":{"class_type":"PreviewAny","inputs":{"source":["4",0]}}}}`, "completed"),
		"run-branches": s.ended(branches(), "completed"),
		"run-wide":     s.ended(wide(600), "completed"),
		"run-failed": s.ended(`{"prompt":{
			"1":{"class_type":"EmptyImage","inputs":{"width":16384,"height":16384,"batch_size":4,"color":5}},
			"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"x"}}}}`, "failed"),
		"run-failed-at-once": s.ended(`{"prompt":{
			"1":{"class_type":"ComfyMathExpression","inputs":{"expression":"a/0","values.a":1}},
			"2":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}}`, "failed"),
		"run-canceled": s.canceled(strings.Replace(long("canceled"), "2048", "4096", 2)),
		"run-expanded": s.ended(expanding("expanded"), "completed"),
		"run-cached":   s.ended(expanding("expanded"), "completed"),
		// three of the four nodes of the expansion are cached
		"run-partly-cached": s.ended(strings.Replace(expanding("partly"), `"times":3`, `"times":4`, 1), "completed"),
	}
	target := filepath.Join(dir, "histories")
	if *record {
		target = filepath.Join(root(), "workflows/testdata/histories")
	}
	runs["ingest"], runs["export"], runs["download"] = s.ingestedAlone(), s.exported(runs["run-cheap"]), s.downloaded()
	runs["ingest-batch"], runs["pool"] = s.ingestedTogether(), s.pooled()
	runs["retention"] = s.swept(dir, slices.Collect(maps.Values(runs)))
	for name, id := range runs {
		s.command("histories", "export", id, "--dir", target, "--name", name)
	}
	out := s.command("histories", "replay", target)
	require.NotContains(t, out, "diverges")
	require.GreaterOrEqual(t, strings.Count(out, "replays "), len(runs))
}

// ingestedAlone uploads files until a workflow verifies one by itself, and returns that workflow.
func (s *service) ingestedAlone() string {
	s.t.Helper()
	var alone string
	s.until("an upload is verified by a workflow of its own", func() bool {
		alone = s.ingested(uuid.NewString())
		var shown string
		s.until("the upload is verified", func() bool {
			shown = s.command("assets", "show", strings.TrimPrefix(alone, "ingest-"), "--json")
			return strings.Contains(shown, `"verdict"`)
		})
		return !batchWorkflow.MatchString(shown)
	})
	return alone
}

// ingested uploads a text and returns the workflow that verifies it if it is not verified together with others.
func (s *service) ingested(text string) string {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(s.t, form.WriteField("content_type", "text/plain"))
	require.NoError(s.t, form.WriteField("file_path", text+".txt"))
	part, err := form.CreateFormFile("file", text+".txt")
	require.NoError(s.t, err)
	_, err = part.Write([]byte(text))
	require.NoError(s.t, err)
	require.NoError(s.t, form.Close())
	resp, err := http.Post(s.base+"/api/v2/assets", form.FormDataContentType(), &body)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	var a struct{ ID string }
	require.NoError(s.t, json.NewDecoder(resp.Body).Decode(&a))
	return asset.ID(a.ID).WorkflowID()
}

// pooled has a pool whose machines never join, until it is removed, and returns its workflow.
func (s *service) pooled() string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "pool.yaml")
	text := "pool: recorded\nmax: 1\njoin: 1s\nstart: true {machine}\nstop: true {machine}\nlist: 'true'\n"
	require.NoError(s.t, os.WriteFile(file, []byte(text), 0o600))
	s.command("pool", "apply", file)
	s.until("a machine that did not join is stopped", func() bool {
		return strings.Contains(s.command("pool", "show", "recorded"), "stopped")
	})
	s.command("pool", "rm", "recorded", "--reason", "recorded")
	s.until("the pool is over", func() bool { return !strings.Contains(s.command("pool", "list"), "recorded") })
	return pool.WorkflowID("recorded")
}

// exported has the files of a job packed and returns the workflow that did.
func (s *service) exported(id string) string {
	s.t.Helper()
	made := s.asked(`{"job_ids":["` + id + `"]}`)
	s.packed(made)
	return task.Export.WorkflowID(task.ID(made))
}

// downloaded asks for the content of an address that nothing has and returns the workflow that tried, once it is over.
func (s *service) downloaded() string {
	s.t.Helper()
	status, body := s.call("POST", "/api/assets/download", `{"source_url":"https://millrace.invalid/a.bin","tags":["input"]}`)
	require.Equal(s.t, http.StatusAccepted, status, body)
	var made struct {
		ID string `json:"task_id"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(body), &made))
	s.until("the download is over", func() bool {
		_, body := s.call("GET", "/api/tasks/"+made.ID, "")
		var at struct{ Status string }
		return json.Unmarshal([]byte(body), &at) == nil && at.Status == "failed"
	})
	return task.Download.WorkflowID(task.ID(made.ID))
}

// swept has the retention schedule run now and returns the workflow of that sweep; it also waits until
// the workflows of these jobs, and these workflows, are closed.
func (s *service) swept(dir string, runs []string) string {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "addresses.json"))
	require.NoError(s.t, err)
	var at struct {
		Temporal string `json:"temporal_address"`
	}
	require.NoError(s.t, json.Unmarshal(raw, &at))
	c, err := client.Dial(client.Options{HostPort: at.Temporal, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(s.t, err)
	defer c.Close()
	schedule := c.ScheduleClient().GetHandle(s.t.Context(), "retention-millrace")
	require.NoError(s.t, schedule.Trigger(s.t.Context(), client.ScheduleTriggerOptions{}))
	var id string
	s.until("the sweep is over", func() bool {
		list, err := c.ListWorkflow(s.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
		require.NoError(s.t, err)
		for _, w := range list.GetExecutions() {
			if w.GetType().GetName() == "Retention" && w.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
				id = w.GetExecution().GetWorkflowId()
			}
		}
		return id != ""
	})
	for _, run := range runs {
		workflow := run
		if id, err := job.ParseID(run); err == nil {
			workflow = id.WorkflowID(1)
		}
		s.until(workflow+" is closed", func() bool { // also of one that is not started yet
			d, err := c.DescribeWorkflowExecution(s.t.Context(), workflow, "")
			return err == nil && d.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		})
	}
	return id
}

// ended runs a graph to that state.
func (s *service) ended(graph, state string) string {
	s.t.Helper()
	id := s.submit(graph)
	s.until("the run ends", func() bool { return s.state(id) == state })
	return id
}

func (s *service) canceled(graph string) string {
	s.t.Helper()
	id := s.submit(graph)
	s.until("a node runs", func() bool {
		_, body := s.call("GET", "/api/v2/jobs/"+id, "")
		var job struct {
			Progress *struct {
				Node *string `json:"current_node"`
			}
		}
		return json.Unmarshal([]byte(body), &job) == nil && job.Progress != nil && job.Progress.Node != nil
	})
	status, _ := s.call("POST", "/api/queue", fmt.Sprintf(`{"delete":[%q]}`, id))
	require.Equal(s.t, http.StatusOK, status)
	s.until("the run ends", func() bool { return s.state(id) == "cancelled" })
	return id
}

// branches has two expensive branches that meet.
func branches() string {
	return `{"prompt":{
		"1":{"class_type":"EmptyImage","inputs":{"width":2048,"height":2048,"batch_size":1,"color":1}},
		"2":{"class_type":"ImageBlur","inputs":{"image":["1",0],"blur_radius":31,"sigma":1.0}},
		"3":{"class_type":"ImageSharpen","inputs":{"image":["1",0],"sharpen_radius":31,"sigma":1.0,"alpha":1.0}},
		"4":{"class_type":"ImageBlend","inputs":{"image1":["2",0],"image2":["3",0],"blend_factor":0.5,"blend_mode":"normal"}},
		"5":{"class_type":"SaveImage","inputs":{"images":["4",0],"filename_prefix":"branches"}}}}`
}

// wide is a graph of about that many cheap nodes.
func wide(nodes int) string {
	var b strings.Builder
	for i := range nodes / 2 {
		fmt.Fprintf(&b, `"a%d":{"class_type":"PrimitiveString","inputs":{"value":"v"}},"b%d":{"class_type":"PreviewAny",`+
			`"inputs":{"source":["a%d",0]}},`, i, i, i)
	}
	return `{"prompt":{` + strings.TrimSuffix(b.String(), ",") + `}}`
}

// expanding is a graph whose node "2" expands to three expensive ones.
func expanding(prefix string) string {
	return fmt.Sprintf(`{"prompt":{
		"1":{"class_type":"EmptyImage","inputs":{"width":2048,"height":2048,"batch_size":1,"color":3}},
		"2":{"class_type":"MillraceRepeat","inputs":{"value":["1",0],"node_class":"ImageBlur","input":"image","times":3,
			"arguments":"{\"blur_radius\":31,\"sigma\":2.0}"}},
		"5":{"class_type":"PreviewAny","inputs":{"source":"text"}},
		"9":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":%q}}}}`, prefix)
}
