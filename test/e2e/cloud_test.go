package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

// picture is a graph whose node "5" shows a text and whose node "9" saves an image.
const picture = `{
	"1":{"class_type":"EmptyImage","inputs":{"width":96,"height":64,"batch_size":1,"color":3368601}},
	"2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},
	"5":{"class_type":"PreviewAny","inputs":{"source":["6",0]}},
	"6":{"class_type":"StringConcatenate","inputs":{"string_a":"a","string_b":"b","delimiter":"-"}},
	"9":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"e2e"}}}`

// slow is a graph that takes many seconds.
var slow = func() string {
	nodes := []string{`"0":{"class_type":"EmptyImage","inputs":{"width":4096,"height":4096,"batch_size":1,"color":255}}`}
	for i := 1; i <= 40; i++ {
		nodes = append(nodes, fmt.Sprintf(`"%d":{"class_type":"ImageBlur","inputs":{"image":["%d",0],"blur_radius":31,"sigma":10.0}}`, i, i-1))
	}
	return "{" + strings.Join(append(nodes, `"99":{"class_type":"SaveImage","inputs":{"images":["40",0],"filename_prefix":"slow"}}`), ",") +
		"}"
}()

func TestEverySurfaceReportsTheSameRun(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	first, second := c.dial("&clientId=one"), c.dial("")
	id := c.submit(picture)
	frames := first.until(func(f frame) bool {
		if f.Type == "execution_success" { // what sockets say is readable by GET at once (W-56)
			require.Equal(t, "completed", c.status(id))
			require.Len(t, c.json("GET", "/api/jobs/"+id, "")["outputs"], 2)
		}
		return over(id)(f)
	})
	require.Equal(t, frames, second.until(over(id)), "every socket sees the same")

	kinds := ofJob(frames, id)
	require.Equal(t, []string{"status", "notification", "status", "execution_start", "execution_cached"}, kinds[:5])
	require.Equal(t, []string{"execution_success", "status", "executing"}, kinds[len(kinds)-3:])
	for _, node := range []string{"1", "2", "5", "6", "9"} {
		require.Contains(t, kinds, "executing "+node)
	}
	require.Contains(t, kinds, "executed 5")
	require.Contains(t, kinds, "executed 9")
	require.NotContains(t, kinds, "executed 1", "a node without output says nothing")

	// The saved file: a redirect that needs the key, to bytes that need none.
	view := c.do("GET", "/api/view?filename=e2e_00001_.png&subfolder=&type=output", "")
	require.Equal(t, http.StatusFound, view.status)
	stranger := &client{t: t, base: c.base}
	bytes := stranger.do("GET", view.header.Get("Location"), "")
	require.Equal(t, http.StatusOK, bytes.status)
	require.True(t, strings.HasPrefix(bytes.body, "\x89PNG"))

	// One namespace of jobs (D-01).
	job := c.json("GET", "/api/v2/jobs/"+id, "")
	require.Equal(t, "succeeded", job["status"])
	require.Equal(t, map[string]any{
		"value": 1.0, "nodes_done": 5.0, "nodes_total": 5.0, "current_node": nil, "current_node_class": nil,
		"step": nil, "steps": nil, "message": nil,
	}, job["progress"])
	outputs := job["outputs"].([]any)
	require.NotEmpty(t, outputs)
	saved := outputs[0].(map[string]any)
	require.Equal(t, "9", saved["node_id"])
	require.Equal(t, bytes.body, stranger.do("GET", saved["url"].(string), "").body)
	require.Contains(t, c.json("GET", "/history/"+id, ""), id)
	require.Equal(t, "api", c.json("GET", "/api/v2/jobs/"+id+"/workflow", "")["format"])

	events := c.events(id)
	require.Equal(t, sseEvent{"status", map[string]any{"status": "succeeded"}}, events[len(events)-1])
	require.Equal(t, "output", events[len(events)-2].name, "outputs come before the final status")
}

func TestAccountsSeeNothingOfEachOther(t *testing.T) {
	t.Parallel()
	mine, other := newClient(t, "pro"), newClient(t, "pro")
	theirs := other.dial("")
	id := mine.submit(picture)
	mine.await(id, "completed")
	job := mine.json("GET", "/api/v2/jobs/"+id, "")
	asset, _ := job["outputs"].([]any)[0].(map[string]any)["id"].(string)
	for _, path := range []string{
		"/api/job/" + id + "/status", "/api/v2/jobs/" + id, "/api/v2/jobs/" + id + "/workflow", "/api/v2/jobs/" + id + "/events",
		"/api/jobs/" + id, "/api/history_v2/" + id, "/api/view?filename=e2e_00001_.png&type=output", "/api/v2/assets/" + asset,
	} {
		absent := strings.NewReplacer(id, "00000000-0000-4000-8000-000000000000", "e2e_00001_", "nothing", asset,
			"00000000-0000-4000-8000-000000000000").Replace(path)
		got, want := other.do("GET", path, ""), other.do("GET", absent, "")
		require.Equal(t, http.StatusNotFound, got.status, path)
		require.Equal(t, want.body, got.body, "another's is answered as if it were absent")
	}
	require.Equal(t, http.StatusNotFound, other.do("POST", "/api/v2/jobs/"+id+"/cancel", "").status)
	require.JSONEq(t, `{"deleted":[],"cleared":false}`, other.do("POST", "/api/queue", `{"delete":["`+id+`"]}`).body)
	require.JSONEq(t, `{}`, other.do("GET", "/history/"+id, "").body)
	require.JSONEq(t, `{}`, other.do("GET", "/history", "").body)
	require.Empty(t, other.json("GET", "/api/v2/jobs", "")["jobs"])
	require.JSONEq(t, `{"queue_running":[],"queue_pending":[]}`, other.do("GET", "/api/queue", "").body)

	own := other.submit(picture) // the first that its socket hears of is its own
	for _, f := range theirs.until(over(own)) {
		if of, about := f.Data["prompt_id"]; about {
			require.Equal(t, own, of)
		}
	}
	require.Equal(t, http.StatusFound, other.do("GET", "/api/view?filename=e2e_00001_.png", "").status, "counters are each account's own")
}

func TestQueueCancelAndInterrupt(t *testing.T) {
	t.Parallel()
	c := newClient(t, "standard") // one job at a time
	socket := c.dial("")
	running := c.submit(slow)
	waiting, next := c.submit(picture), c.submit(picture)
	front := c.json("POST", "/api/prompt", `{"prompt":`+picture+`,"front":true}`)["prompt_id"]
	socket.until(func(f frame) bool { return f.Type == "executing" && f.Data["prompt_id"] == running })

	require.Equal(t, "in_progress", c.status(running))
	require.Equal(t, "pending", c.status(waiting))
	queue := c.json("GET", "/api/queue", "")
	ids := func(entries any) (ids []any) {
		for _, e := range entries.([]any) {
			require.Len(t, e, 5)
			ids = append(ids, e.([]any)[1])
		}
		return ids
	}
	require.Equal(t, []any{running}, ids(queue["queue_running"]))
	require.Equal(t, []any{front, waiting, next}, ids(queue["queue_pending"]))
	require.InDelta(t, 1, c.json("GET", "/api/v2/jobs/"+waiting, "")["queue_position"], 0)
	require.JSONEq(t, `{"exec_info":{"queue_remaining":4}}`, c.do("GET", "/prompt", "").body)

	require.JSONEq(t, fmt.Sprintf(`{"deleted":[%q],"cleared":false}`, waiting),
		c.do("POST", "/api/queue", fmt.Sprintf(`{"delete":[%q,%q]}`, waiting, "x")).body)
	require.Equal(t, "cancelled", c.status(waiting))
	require.JSONEq(t, `{}`, c.do("POST", "/api/interrupt", "").body)
	frames := socket.until(over(running))
	kinds := ofJob(frames, running)
	require.Equal(t, []string{"execution_interrupted", "status", "executing"}, kinds[len(kinds)-3:])
	require.NotContains(t, ofJob(frames, waiting), "execution_start", "a cancelled pending job never starts")
	require.Equal(t, "cancelled", c.status(running))
	require.Empty(t, c.json("GET", "/api/v2/jobs/"+running, "")["outputs"])
	c.await(next, "completed") // the slot came free
	c.await(front.(string), "completed")
	require.Equal(t, "canceled", c.json("POST", "/api/v2/jobs/"+running+"/cancel", "")["status"], "a final state never changes")
}

func TestAFailingNode(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	socket := c.dial("")
	c.upload("broken.png", tinyPNG(t))
	id := c.submit(`{"1":{"class_type":"LoadImage","inputs":{"image":"broken.png"}},
		"2":{"class_type":"ImageCrop","inputs":{"image":["1",0],"width":1,"height":1,"x":0,"y":0}},
		"3":{"class_type":"RepeatImageBatch","inputs":{"image":["2",0],"amount":4096}},
		"4":{"class_type":"ImageScale","inputs":{"image":["3",0],"upscale_method":"lanczos","width":16384,"height":16384,"crop":"disabled"}},
		"9":{"class_type":"SaveImage","inputs":{"images":["4",0],"filename_prefix":"never"}}}`)
	frames := socket.until(over(id))
	kinds := ofJob(frames, id)
	require.Contains(t, kinds[len(kinds)-3], "execution_error")
	failure := frames[len(frames)-3].Data
	require.Equal(t, "OOMError", failure["exception_type"])
	require.Equal(t, "4", failure["node_id"])
	require.IsType(t, []any{}, failure["traceback"])
	require.Equal(t, "failed", c.status(id))
	job := c.json("GET", "/api/v2/jobs/"+id, "")
	require.Equal(t, "4", job["error"].(map[string]any)["node_id"])
	require.Equal(t, "ImageScale", job["error"].(map[string]any)["class_type"])
	require.NotContains(t, kinds, "execution_success")
}

// Node 4 is ready together with node 2, whose failure ends the job.
func TestOutputsThatWereReadyAreSavedWhenAnotherNodeFails(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.submit(`{"1":{"class_type":"PrimitiveString","inputs":{"value":"a"}},
		"2":{"class_type":"RegexReplace","inputs":{"string":["1",0],"regex_pattern":"(","replace":"","case_insensitive":false,` +
		`"multiline":false,"dotall":false,"count":0}},
		"3":{"class_type":"PreviewAny","inputs":{"source":["2",0]}},
		"4":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}`)
	c.await(id, "failed")
	outputs := c.json("GET", "/api/jobs/"+id, "")["outputs"].(map[string]any)
	require.Contains(t, outputs, "4")
}

func TestPartialValidity(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	graph := strings.TrimSuffix(picture, "}") + `,"10":{"class_type":"SaveImage","inputs":{"filename_prefix":"x"}}}`
	got := c.json("POST", "/api/prompt", `{"prompt":`+graph+`}`)
	require.Contains(t, got["node_errors"], "10")
	c.await(got["prompt_id"].(string), "completed")

	only := c.json("POST", "/api/prompt", `{"prompt":`+picture+`,"partial_execution_targets":["5"]}`)
	c.await(only["prompt_id"].(string), "completed")
	require.Len(t, c.json("GET", "/api/jobs/"+only["prompt_id"].(string), "")["outputs"], 1)
}

func TestClientChosenIDsAndNumbers(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	const id = "abcdefab-1234-4abc-8def-abcdefabcdef"
	body := fmt.Sprintf(`{"prompt":%s,"prompt_id":%q,"number":-7.5,"client_id":"me","extra_data":{"api_key_service":"hush-hush"}}`, picture,
		id)
	require.JSONEq(t, fmt.Sprintf(`{"prompt_id":%q,"number":-7.5,"node_errors":{}}`, id), c.do("POST", "/prompt", body).body)
	c.await(id, "completed")
	again := c.do("POST", "/prompt", body)
	require.Equal(t, http.StatusBadRequest, again.status, "an id names one job of an account")
	require.Contains(t, again.body, `"type":"duplicate_job"`)
	require.JSONEq(t, `{"queue_running":[],"queue_pending":[]}`, c.do("GET", "/queue", "").body)
	c.await(c.submit(picture), "completed") // and the refusal holds no slot
	for _, path := range []string{"/api/jobs/" + id, "/history/" + id, "/api/v2/jobs/" + id + "/workflow", "/api/history_v2/" + id} {
		require.NotContains(t, c.do("GET", path, "").body, "hush-hush")
	}
}

func TestJobsAreKnownByTheWorkflowOfTheirEditor(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	body := c.json("POST", "/api/prompt", `{"prompt":`+picture+`,"extra_data":{"extra_pnginfo":{"workflow":{"id":"sunset","nodes":[]}}}}`)
	id, _ := body["prompt_id"].(string)
	other := c.submit(picture)
	c.await(id, "completed")
	c.await(other, "completed")
	for query, want := range map[string][]any{"sunset": {id}, "dawn": nil} {
		var found []any
		for _, j := range c.json("GET", "/api/jobs?workflow_id="+query, "")["jobs"].([]any) {
			require.Equal(t, query, j.(map[string]any)["workflow_id"])
			found = append(found, j.(map[string]any)["id"])
		}
		require.Equal(t, want, found)
	}
	history := c.json("GET", "/api/history_v2/"+id, "")[id].(map[string]any)
	require.Equal(t, "sunset", history["workflow_id"])
	require.Nil(t, c.json("GET", "/api/history_v2/"+other, "")[other].(map[string]any)["workflow_id"])
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	c, other := newClient(t, "pro"), newClient(t, "pro")
	submit := func(c *client, body string) int {
		return c.do("POST", "/api/v2/jobs", body, "Idempotency-Key", "k1").status
	}
	require.Equal(t, 422, submit(c, `{"workflow":{"1":{"class_type":"Nothing","inputs":{}}}}`), "a refusal does not consume the key")
	var wg sync.WaitGroup
	answers := make([]int, 6)
	for i := range answers {
		wg.Go(func() { answers[i] = submit(c, `{"workflow":`+picture+`}`) })
	}
	wg.Wait()
	counts := map[int]int{}
	for _, a := range answers {
		counts[a]++
	}
	require.Equal(t, map[int]int{201: 1, 422: 5}, counts)
	got := c.do("POST", "/api/v2/jobs", `{"workflow":{"1":{"class_type":"Nothing","inputs":{}}}}`, "Idempotency-Key", "k1")
	require.Contains(t, got.body, `"code":"idempotency_key_reuse"`, "a key in use is reported before what is wrong with the graph")
	require.Equal(t, 201, submit(other, `{"workflow":`+picture+`}`), "keys are each account's own")
	require.Len(t, c.json("GET", "/api/v2/jobs", "")["jobs"], 1)
}

func TestBadInputIsAnsweredByTheContract(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprintf(`"%d":{"class_type":"EmptyImage","inputs":{}}`, i)
	}
	graphs := map[string]string{
		"not an object": `[]`,
		"empty":         `{}`,
		"unknown class": `{"1":{"class_type":"Nothing","inputs":{}}}`,
		"no class":      `{"1":{"inputs":{}}}`,
		"no outputs":    `{"1":{"class_type":"EmptyImage","inputs":{"width":8,"height":8,"batch_size":1,"color":0}}}`,
		"cycle": `{"1":{"class_type":"ImageInvert","inputs":{"image":["2",0]}},"2":{"class_type":"ImageInvert",` +
			`"inputs":{"image":["1",0]}},"9":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"x"}}}`,
		"link to nothing": `{"9":{"class_type":"SaveImage","inputs":{"images":["8",0],"filename_prefix":"x"}}}`,
		"wrong type": `{"1":{"class_type":"PrimitiveInt","inputs":{"value":1}},"9":{"class_type":"SaveImage",` +
			`"inputs":{"images":["1",0],"filename_prefix":"x"}}}`,
		"not a number": `{"1":{"class_type":"EmptyImage","inputs":{"width":"wide","height":8,"batch_size":1,"color":0}},` +
			`"9":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"x"}}}`,
		"missing image": `{"1":{"class_type":"LoadImage","inputs":{"image":"nothing.png"}},"9":{"class_type":"SaveImage",` +
			`"inputs":{"images":["1",0],"filename_prefix":"x"}}}`,
		"path out of a folder": `{"1":{"class_type":"LoadImage","inputs":{"image":"../../etc/passwd"}},"9":{"class_type":"SaveImage",` +
			`"inputs":{"images":["1",0],"filename_prefix":"x"}}}`,
		"editor graph":   `{"nodes":[],"links":[],"last_node_id":1}`,
		"too many nodes": "{" + strings.Join(many, ",") + "}",
		"deep nesting":   `{"1":{"class_type":"PreviewAny","inputs":{"source":` + deep + `}}}`,
		"NaN": `{"1":{"class_type":"PrimitiveFloat","inputs":{"value":NaN}},"9":{"class_type":"PreviewAny",` +
			`"inputs":{"source":["1",0]}}}`,
		"a number's text NaN": `{"1":{"class_type":"EmptyImage","inputs":{"width":"NaN","height":8,"batch_size":1,"color":0}},` +
			`"9":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"x"}}}`,
		"beyond all numbers": `{"1":{"class_type":"EmptyImage","inputs":{"width":1e999,"height":8,"batch_size":1,"color":0}},` +
			`"9":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"x"}}}`,
		"huge string":   `{"1":{"class_type":"` + strings.Repeat("x", 4<<20) + `","inputs":{}}}`,
		"huge node id":  `{"` + strings.Repeat("1", 1<<20) + `":{"class_type":"Nothing","inputs":{}}}`,
		"duplicate key": `{"1":{"class_type":"EmptyImage","class_type":"SaveImage","inputs":{}}}`,
	}
	for name, graph := range graphs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &client{t: t, base: c.base, key: c.key}
			got := c.do("POST", "/api/prompt", `{"prompt":`+graph+`}`)
			require.Equal(t, http.StatusBadRequest, got.status, got.body)
			body := decode(t, got.body)
			require.Subset(t, keys(body["error"]), []string{"type", "message", "details", "extra_info"})
			require.Contains(t, body, "node_errors")
			got = c.do("POST", "/api/v2/jobs", `{"workflow":`+graph+`}`)
			require.Contains(t, []int{400, 422}, got.status, got.body)
			require.Subset(t, keys(decode(t, got.body)["error"]), []string{"code", "message"})
		})
	}
	for _, path := range []string{
		"/api/job/bogus/status", "/api/v2/jobs/bogus", "/api/jobs/bogus",
		"/api/v2/jobs/00000000-0000-0000-0000-000000000000",
	} {
		require.Equal(t, http.StatusNotFound, c.do("GET", path, "").status, path)
	}
	require.Empty(t, c.json("GET", "/api/v2/jobs", "")["jobs"], "nothing half-written")
}

func keys(object any) []string {
	var names []string
	if m, ok := object.(map[string]any); ok {
		for name := range m {
			names = append(names, name)
		}
	}
	return names
}

func TestObjectInfoListsWhatRuns(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	all := c.json("GET", "/api/object_info", "")
	for _, class := range []string{"LoadImage", "SaveImage", "ImageScale", "PreviewAny", "ComfySwitchNode"} {
		require.Contains(t, all, class)
		one := c.json("GET", "/object_info/"+class, "")
		require.Equal(t, map[string]any{class: all[class]}, one)
		require.Contains(t, all[class].(map[string]any)["input"], "required")
	}
	name, _ := decode(t, c.upload("choose me.png", tinyPNG(t)).body)["name"].(string)
	require.Contains(t, c.do("GET", "/object_info/LoadImage", "").body, name)
	id := c.submit(fmt.Sprintf(`{"1":{"class_type":"LoadImage","inputs":{"image":%q}},"9":{"class_type":"PreviewImage",`+
		`"inputs":{"images":["1",0]}}}`, name))
	c.await(id, "completed")
}

func TestSubscriptionsAndSockets(t *testing.T) {
	t.Parallel()
	c := newClient(t, "free")
	got := c.do("POST", "/api/prompt", `{"prompt":`+picture+`}`)
	require.Equal(t, http.StatusTooManyRequests, got.status)
	require.Contains(t, got.body, `"subscription_inactive"`)
	require.Empty(t, got.header.Get("Retry-After"))
	_, res, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(c.base, "http")+"/ws?token=wrong", nil)
	require.Error(t, err)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
}
