package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// classGraph calls the deployment portrait and inverts its picture by the deployment invert.
const classGraph = `{"1":{"class_type":"Deployment.portrait","inputs":{"width":WIDTH}},
	"2":{"class_type":"Deployment.invert","inputs":{"image":["1",0]}},
	"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"both"}}}`

func TestADeploymentIsAClassOfGraphs(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	c.deploy("portrait", 16, "")
	status, body := c.tryDeploy("invert", editedGraph, `"inputs":["image=9001.image"],"outputs":["picture=9003"]`)
	require.Equal(t, http.StatusOK, status, body)

	for _, path := range []string{"/api/object_info", "/api/object_info/Deployment.invert"} {
		class := c.json("GET", path, "")["Deployment.invert"].(map[string]any)
		require.Equal(t, "IMAGE", class["input"].(map[string]any)["required"].(map[string]any)["image"].([]any)[0], path)
		require.Equal(t, []any{"IMAGE"}, class["output"], path)
		require.Equal(t, []any{"picture"}, class["output_name"], path)
	}
	width := c.json("GET", "/api/object_info/Deployment.portrait", "")["Deployment.portrait"].(map[string]any)["input"].(map[string]any)
	require.Equal(t, 16.0, width["optional"].(map[string]any)["width"].([]any)[1].(map[string]any)["default"])
	require.Empty(t, newClient(t, "pro").json("GET", "/api/object_info/Deployment.portrait", ""), "another account")

	of := func(width int) string { return strings.ReplaceAll(classGraph, "WIDTH", fmt.Sprint(width)) }
	plain := `{"1":{"class_type":"EmptyImage","inputs":{"width":24,"height":8,"batch_size":1,"color":255}},
		"2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},
		"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"both"}}}`
	pixels := func(png string) string { return png[strings.Index(png, "IDAT"):] } // what precedes them is the graph
	require.Equal(t, pixels(c.picture(c.submit(plain))), pixels(c.picture(c.submit(of(24)))))
	require.Empty(t, c.json("GET", "/deployment/portrait/api/v2/jobs", "")["jobs"], "the nodes are a part of the job")

	// A graph of graphs is a graph: it is deployed, and its version answers with those that answer now.
	status, body = c.tryDeploy("both", of(16), `"inputs":["width=1.width"],"outputs":["picture=3"]`)
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, "ready", body["state"])
	r, made := c.call("both", `{"width":40}`)
	require.Equal(t, http.StatusCreated, r.status, r.body)
	require.Equal(t, "\x00\x00\x00\x28", c.picture(fmt.Sprint(made["id"]))[16:20], "the width in the header of the PNG")
	r, _ = c.call("both", `{"width":"wide"}`)
	require.Equal(t, http.StatusUnprocessableEntity, r.status, r.body)

	// Promotions do not change an accepted job: a retry runs the version that answered.
	status, body = c.tryDeploy("portrait", strings.Replace(strings.ReplaceAll(deployedGraph, "WIDTH", "16"), `"height":8`, `"height":9`, 1),
		`"inputs":["width=9001.width"],"outputs":["picture=9002"],"promote":true`)
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, "\x00\x00\x00\x09", c.picture(c.submit(of(24)))[20:24], "the height in the header of the PNG")

	for name, refused := range map[string]struct{ graph, says string }{
		"a wrong value":         {strings.ReplaceAll(classGraph, "WIDTH", `"wide"`), "it takes a number"},
		"no picture":            {strings.Replace(of(16), `"image":["1",0]`, "", 1), "a value is required"},
		"a wrong type":          {strings.Replace(of(16), `"width":16`, `"width":["2",0]`, 1), "Deployment."},
		"an unknown deployment": {strings.Replace(of(16), "Deployment.invert", "Deployment.landscape", 1), "Deployment.landscape"},
	} {
		r := c.do("POST", "/api/prompt", `{"prompt":`+refused.graph+`}`)
		require.Equal(t, http.StatusBadRequest, r.status, "%s: %s", name, r.body)
		require.Contains(t, r.body, refused.says, name)
		r.hasNoNode(t)
	}

	// Clients see the node that calls, never a node of the version.
	status, body = c.tryDeploy("replace", `{"9001":{"class_type":"RegexReplace","inputs":{"string":"a","regex_pattern":"(","replace":"",`+
		`"case_insensitive":false,"multiline":false,"dotall":false,"count":0}},
		"9002":{"class_type":"PreviewAny","inputs":{"source":["9001",0]}}}`, `"inputs":["text=9001.string"],"outputs":["text=9002"]`)
	require.Equal(t, http.StatusOK, status, body)
	socket := c.dial("")
	failing := c.submit(`{"7":{"class_type":"Deployment.replace","inputs":{"text":"b"}},
		"8":{"class_type":"PreviewAny","inputs":{"source":["7",0]}}}`)
	for _, f := range socket.until(func(f frame) bool { return f.Type == "execution_error" && f.Data["prompt_id"] == failing }) {
		require.NotRegexp(t, ofVersion, fmt.Sprint(f.Data), f.Type)
		switch f.Type {
		case "execution_error":
			require.Equal(t, "7", f.Data["node_id"], f.Data)
		case "executing":
			require.Contains(t, []any{"7", nil}, f.Data["node"])
		}
	}
	for _, path := range []string{"/api/v2/jobs/", "/api/jobs/", "/api/history/"} {
		r := c.do("GET", path+failing, "")
		require.Contains(t, r.body, "Deployment.replace", path)
		r.hasNoNode(t)
	}
	c.do("GET", "/api/v2/jobs/"+failing+"/logs", "").hasNoNode(t)

	// The account's own people and operators see the graph that ran; a key for a deployment opens no page.
	shown := c.signedIn().get("/console/jobs/" + failing + "?node=7:9001")
	require.Equal(t, http.StatusOK, shown.status)
	timeline, err := start(t).Command(t.Context(), "jobs", "timeline", failing)
	require.NoError(t, err, timeline)
	for _, seen := range []string{shown.body, timeline} {
		require.Contains(t, seen, "7:9001")
		require.Contains(t, seen, "RegexReplace")
	}
	limited := &browser{client: c.limited("replace")}
	limited.cookie, _, _ = strings.Cut(limited.post("/console/signin", url.Values{"key": {limited.key}}).header.Get("Set-Cookie"), ";")
	require.NotEqual(t, http.StatusOK, limited.get("/console/jobs/"+failing).status)
	limited.get("/console/jobs/" + failing).hasNoNode(t)

	// Circles are refused when they would come to be.
	circle := `{"1":{"class_type":"Deployment.both","inputs":{}},` +
		`"3":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"x"}}}`
	status, body = c.tryDeploy("portrait", circle, `"inputs":["prefix=3.filename_prefix"],"outputs":["picture=3"]`)
	require.Equal(t, http.StatusBadRequest, status, body)
	require.Contains(t, fmt.Sprint(body), "the deployment portrait would call itself")
	c.manage("portrait", "stop", "")
	require.Contains(t, c.do("POST", "/api/prompt", `{"prompt":`+of(16)+`}`).body, "portrait is stopped")
}
