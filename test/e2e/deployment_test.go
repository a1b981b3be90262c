package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// deployedGraph has nodes whose ids occur nowhere else in an answer.
const deployedGraph = `{"9001":{"class_type":"EmptyImage","inputs":{"width":WIDTH,"height":8,"batch_size":1,"color":255}},
	"9002":{"class_type":"SaveImage","inputs":{"images":["9001",0],"filename_prefix":"deployed"}}}`

// deploy publishes deployedGraph of a width.
func (c *client) deploy(name string, width int, more string) map[string]any {
	c.t.Helper()
	status, body := c.tryDeploy(name, strings.ReplaceAll(deployedGraph, "WIDTH", fmt.Sprint(width)),
		`"inputs":["width=9001.width","color=9001.color"],"outputs":["picture=9002"]`+more)
	require.Equal(c.t, http.StatusOK, status, body)
	return body
}

func (c *client) tryDeploy(name, graph, more string) (int, map[string]any) {
	c.t.Helper()
	return c.admin("POST", "/accounts/"+c.account+"/deployments",
		fmt.Sprintf(`{"actor":"kim","reason":"a test","name":%q,"document":%s,%s}`, name, graph, more))
}

// manage carries out an operator's command on a deployment.
func (c *client) manage(name, command, more string) map[string]any {
	c.t.Helper()
	status, body := c.admin("POST", "/accounts/"+c.account+"/deployments/"+name+"/"+command, `{"actor":"kim","reason":"a test"`+more+`}`)
	require.Equal(c.t, http.StatusOK, status, body)
	return body
}

// call calls a deployment and returns its job.
func (c *client) call(name, inputs string, headers ...string) (reply, map[string]any) {
	c.t.Helper()
	r := c.do("POST", "/deployment/"+name+"/api/v2/jobs", `{"inputs":`+inputs+`}`, headers...)
	return r, decode(c.t, r.body)
}

// ofVersion matches the id of a node of deployedGraph, but no part of a time or of a job's id.
var ofVersion = regexp.MustCompile(`(?:^|[^-.\w])900[123]\b`)

// hasNoNode fails if an answer contains the id of a node of deployedGraph.
func (r reply) hasNoNode(t *testing.T) {
	t.Helper()
	require.NotRegexp(t, ofVersion, r.body)
}

func TestADeploymentIsCalledByName(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	made := c.deploy("portrait", 16, "")
	require.Equal(t, true, made["created"])
	require.Equal(t, "ready", made["state"])
	base := c.base + "/deployment/portrait/api/v2"

	r, made := c.call("portrait", `{"width":24}`)
	require.Equal(t, http.StatusCreated, r.status, r.body)
	require.Equal(t, "portrait@1", r.header.Get("X-Millrace-Deployment"))
	r.hasNoNode(t)
	id, _ := made["id"].(string)
	for _, link := range made["urls"].(map[string]any) {
		require.True(t, strings.HasPrefix(link.(string), base+"/jobs/"+id), link)
	}
	require.Equal(t, base+"/jobs/"+id, r.header.Get("Location"))

	ended := c.ended(base + "/jobs/" + id)
	ended.hasNoNode(t)
	job := decode(t, ended.body)
	require.Equal(t, "succeeded", job["status"], ended.body)
	output := job["outputs"].([]any)[0].(map[string]any)
	require.Equal(t, "picture", output["node_id"])
	link, _ := output["url"].(string)
	require.True(t, strings.HasPrefix(link, c.base+"/deployment/portrait/"), link)
	picture := c.do("GET", link, "")
	require.Equal(t, http.StatusOK, picture.status)
	require.Equal(t, "\x00\x00\x00\x18", picture.body[16:20], "the width in the header of the PNG")

	events := c.do("GET", base+"/jobs/"+id+"/events", "")
	require.Contains(t, events.body, `"node_id":"picture"`)
	events.hasNoNode(t)
	listed := c.json("GET", base+"/jobs", "")
	require.Len(t, listed["jobs"], 1)
	document := c.do("GET", base+"/openapi.json", "")
	require.Equal(t, http.StatusOK, document.status)
	require.Contains(t, document.body, `"width"`)
	document.hasNoNode(t)

	plain := c.submit(strings.ReplaceAll(cheapGraph, "PREFIX", "plain"))
	require.Equal(t, http.StatusNotFound, c.do("GET", base+"/jobs/"+plain, "").status, "a job of no deployment")
	require.Len(t, c.json("GET", base+"/jobs", "")["jobs"], 1)
	require.Equal(t, http.StatusOK, c.do("GET", "/api/v2/jobs/"+id, "").status, "the account's own list has every job")
}

func TestCallsOfADeploymentAreRefused(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	deployed := c.deploy("portrait", 16, "")
	other := newClient(t, "pro")
	for name, call := range map[string]struct {
		of         *client
		path, body string
		status     int
		code, says string
	}{
		"a wrong value":       {c, "portrait", `{"inputs":{"width":"wide"}}`, 422, "invalid_input", "width"},
		"a value too large":   {c, "portrait", `{"inputs":{"width":1000000000}}`, 422, "invalid_input", "width"},
		"an unknown input":    {c, "portrait", `{"inputs":{"hight":1}}`, 422, "invalid_input", "hight"},
		"no object":           {c, "portrait", `{"inputs":[1]}`, 422, "invalid_input", "inputs must be an object"},
		"a link":              {c, "portrait", `{"inputs":{"width":["9001",0]}}`, 422, "invalid_input", "width"},
		"a graph":             {c, "portrait", `{"workflow":{}}`, 403, "forbidden", "scope"},
		"another account":     {other, "portrait", `{"inputs":{}}`, 404, "deployment_not_found", "portrait"},
		"another account, id": {other, deployed["id"].(string), `{"inputs":{}}`, 404, "deployment_not_found", ""},
		"an unknown name":     {c, "landscape", `{"inputs":{}}`, 404, "deployment_not_found", "landscape"},
		"an unknown version":  {c, "portrait@7", `{"inputs":{}}`, 404, "deployment_not_found", "portrait@7"},
		"inputs elsewhere":    {c, "", `{"workflow":{},"inputs":{}}`, 422, "invalid_workflow", "reserved"},
	} {
		path := "/deployment/" + call.path + "/api/v2/jobs"
		if call.path == "" {
			path = "/api/v2/jobs"
		}
		r := call.of.do("POST", path, call.body)
		require.Equal(t, call.status, r.status, "%s: %s", name, r.body)
		refused := decode(t, r.body)["error"].(map[string]any)
		require.Equal(t, call.code, refused["code"], name)
		require.Contains(t, refused["message"], call.says, name)
		if name != "a link" { // whose message repeats what was sent
			r.hasNoNode(t)
		}
	}
	c.manage("portrait", "stop", "")
	r, _ := c.call("portrait", `{}`)
	require.Equal(t, 422, r.status)
	require.Contains(t, r.body, `"deployment_stopped"`)
	c.manage("portrait", "start", "")
	require.Empty(t, c.json("GET", "/deployment/portrait/api/v2/jobs", "")["jobs"], "no refused call made a job")

	status, _ := c.tryDeploy("unready", `{"9001":{"class_type":"NobodyHasThis","inputs":{"text":"a"}},
		"9002":{"class_type":"SaveImage","inputs":{"images":["9001",0],"filename_prefix":"x"}}}`,
		`"inputs":["text=9001.text"],"outputs":["9002"]`)
	require.Equal(t, http.StatusOK, status)
	r, _ = c.call("unready", `{}`)
	require.Equal(t, http.StatusTooManyRequests, r.status, r.body)
	require.Contains(t, r.body, `"deployment_not_ready"`)
	require.Contains(t, r.body, "NobodyHasThis")
	require.Regexp(t, `^[1-9][0-9]*$`, r.header.Get("Retry-After"))
}

func TestVersionsOfADeployment(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	c.deploy("portrait", 16, "")
	again := c.deploy("portrait", 16, "")
	require.Equal(t, true, again["same"])
	second := c.deploy("portrait", 32, "")
	require.EqualValues(t, 2, second["version"])
	answeredBy := func(want string, headers ...string) {
		t.Helper()
		r, _ := c.call("portrait", `{}`, headers...)
		require.Equal(t, http.StatusCreated, r.status, r.body)
		require.Equal(t, want, r.header.Get("X-Millrace-Deployment"))
	}
	answeredBy("portrait@1")
	r, _ := c.call("portrait@2", `{}`)
	require.Equal(t, "portrait@2", r.header.Get("X-Millrace-Deployment"), "the path names the version")

	c.manage("portrait@2", "promote", `,"percent":50`)
	versions := map[string]string{}
	for n := range 12 {
		key := fmt.Sprint(uuid.NewString(), n)
		r, first := c.call("portrait", `{}`, "Idempotency-Key", key)
		require.Equal(t, http.StatusCreated, r.status, r.body)
		versions[key] = r.header.Get("X-Millrace-Deployment")
		job := c.json("GET", "/api/v2/jobs/"+first["id"].(string), "")
		require.Equal(t, first["id"], job["id"])
	}
	byLabel := map[string]bool{}
	for range 3 {
		r := c.do("POST", "/deployment/portrait/api/v2/jobs", `{"inputs":{},"metadata":{"sticky":"ada"}}`)
		byLabel[r.header.Get("X-Millrace-Deployment")] = true
	}
	require.Len(t, byLabel, 1, "a label gets the same version each time")
	c.manage("portrait@2", "promote", "")
	answeredBy("portrait@2")
	c.manage("portrait", "rollback", "")
	answeredBy("portrait@1")

	status, refused := c.admin("POST", "/accounts/"+c.account+"/deployments/portrait@9/promote", `{"actor":"kim","reason":"x"}`)
	require.Equal(t, http.StatusNotFound, status, refused)
	status, refused = c.tryDeploy("Not A Label", `{}`, `"inputs":[]`)
	require.Equal(t, http.StatusBadRequest, status, refused)
	status, _ = c.admin("DELETE", "/accounts/"+c.account+"/deployments/portrait", `{"actor":"kim","reason":"x"}`)
	require.Equal(t, http.StatusOK, status)
	r, _ = c.call("portrait", `{}`)
	require.Equal(t, http.StatusNotFound, r.status)
	reborn := c.deploy("portrait", 16, "")
	c.deploy("portrait", 32, "")
	for _, name := range []string{"portrait", "portrait@2", reborn["id"].(string)} { // what the process remembers is outdated
		r, made := c.call(name, `{}`)
		require.Equal(t, http.StatusCreated, r.status, "%s: %s", name, r.body)
		require.Contains(t, c.do("GET", "/deployment/portrait/api/v2/jobs", "").body, made["id"])
	}
}

// A picture comes as a data: URL, as an asset and by its hash; a repeated call is one job.
func TestFilesOfCalls(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	status, body := c.tryDeploy("invert", `{"9001":{"class_type":"LoadImage","inputs":{"image":"example.png"}},
		"9002":{"class_type":"SaveImage","inputs":{"images":["9001",0],"filename_prefix":"deployed"}}}`,
		`"inputs":["picture=9001.image"],"outputs":["result=9002"]`)
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, "ready", body["state"], "the file of the drawing is not needed")
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	key := uuid.NewString()
	inputs := `{"picture":"data:image/png;base64,` + pixel + `"}`
	r, first := c.call("invert", inputs, "Idempotency-Key", key)
	require.Equal(t, http.StatusCreated, r.status, r.body)
	ended := c.ended(first["urls"].(map[string]any)["self"].(string))
	require.Contains(t, ended.body, `"succeeded"`)
	assets := c.json("GET", "/api/v2/assets", "")["assets"].([]any)
	var hash, asset string
	for _, one := range assets {
		a, _ := one.(map[string]any)
		if a["size_bytes"].(float64) < 100 {
			hash, asset = a["hash"].(string), a["id"].(string)
		}
	}
	require.NotEmpty(t, hash)
	limited := c.limited("invert")
	for _, value := range []string{hash, asset} {
		r, _ := c.call("invert", fmt.Sprintf(`{"picture":%q}`, value))
		require.Equal(t, http.StatusCreated, r.status, r.body)
		r, _ = limited.call("invert", fmt.Sprintf(`{"picture":%q}`, value))
		require.Equal(t, http.StatusUnprocessableEntity, r.status, r.body)
		require.Contains(t, r.body, "input picture: this key may not read files of the account")
	}
	r, _ = limited.call("invert", inputs)
	require.Equal(t, http.StatusCreated, r.status, r.body)
	r = limited.do("POST", "/deployment/invert/api/v2/jobs", `{"workflow":`+strings.ReplaceAll(deployedGraph, "WIDTH", "8")+`}`)
	require.Equal(t, http.StatusForbidden, r.status, r.body)
	for name, value := range map[string]string{
		"no base64": "data:image/png;base64,!!", "no file": "nobody.png", "an unknown asset": uuid.NewString(),
		"a private address": "http://127.0.0.1/x.png",
	} {
		raw, err := json.Marshal(map[string]string{"picture": value})
		require.NoError(t, err)
		r, _ := c.call("invert", string(raw))
		require.Equal(t, 422, r.status, "%s: %s", name, r.body)
		r.hasNoNode(t)
		require.NotContains(t, r.body, "127.0.0.1")
	}
}
