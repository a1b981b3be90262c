package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/test/served"
)

// refused runs a command that must fail, and returns what it prints.
func (c *client) refused(args ...string) string {
	c.t.Helper()
	out, err := served.Command(c.t.Context(), os.LookupEnv, append(args, "--account", c.account, "--data", start(c.t).Data)...)
	require.Error(c.t, err, out)
	return out + err.Error()
}

func TestADeploymentFromAFile(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	graph := strings.ReplaceAll(deployedGraph, "WIDTH", "16")
	write("graph.json", graph)
	manifest := write("deployment.yaml",
		"name: portrait\ngraph: graph.json\ninputs: {width: 9001.width}\noutputs: {picture: \"9002\"}\npromote: true\n")

	out := c.command("deploy", "-f", manifest)
	require.Contains(t, out, "portrait@1: answers calls")
	require.Contains(t, out, "address: "+c.base+"/deployment/portrait/api/v2", "the address is that of the running service")
	require.Contains(t, c.command("deploy", "-f", manifest), "nothing changed", "the same file again is the same version")
	write("graph.json", strings.Replace(graph, `"height":8`, `"height":9`, 1))
	require.Contains(t, c.command("deploy", "-f", manifest), "portrait@2: answers calls")
	require.Contains(t, c.command("deployments", "diff", "portrait@2"), "height")
	require.Contains(t, c.command("deployments", "diff", "portrait@1", "2"), "height")
	var exported map[string]any
	text := c.command("deployments", "export", "portrait@1")
	require.NoError(t, json.Unmarshal([]byte(text), &exported), text)
	require.Contains(t, exported, "9001")
	require.Contains(t, c.command("deployments", "list"), "portrait")
	require.Contains(t, c.command("deployments", "show", "portrait"), "width")
	require.Contains(t, c.command("deployments", "versions", "portrait"), "portrait@2")

	require.Contains(t, c.refused("deploy", "-f", write("bad.yaml", "name: portrait\ngraf: graph.json\n")), "graf")
	require.Contains(t, c.refused("deploy", "-f", write("none.yaml", "name: portrait\n")), "must have a name and a graph")
	require.Contains(t, c.refused("deploy", filepath.Join(dir, "graph.json"), "--name", "Pörtrait"), "lower-case letters")

	for _, wrong := range []string{"portrait@0", "portrait@", "portrait@-1", "portrait@+2", "portrait@02", "portrait@latest"} {
		for _, command := range []string{"show", "promote", "shadow", "stop"} {
			require.Contains(t, c.refused("deployments", command, wrong),
				"NAME takes the name of a deployment, or of a version such as portrait@2", "%s %s", command, wrong)
		}
	}

	// A picture that a node saved carries its graph.
	r, made := c.call("portrait", `{}`)
	require.Equal(t, http.StatusCreated, r.status, r.body)
	ended := decode(t, c.ended(fmt.Sprint("/api/v2/jobs/", made["id"])).body)
	link, _ := ended["outputs"].([]any)[0].(map[string]any)["url"].(string)
	file := write("picture.png", c.do("GET", link, "").body)
	out = c.command("deploy", file, "--name", "from-a-picture", "--input", "width=9001.width", "--output", "picture=9002")
	require.Contains(t, out, "from-a-picture@1: answers calls")
}

func TestVersionsWithBadInput(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	c.deploy("portrait", 16, "")
	status, body := c.tryDeploy("portrait", strings.ReplaceAll(deployedGraph, "WIDTH", "16"),
		`"inputs":["width=9001.width","color=9001.color"],"outputs":["picture=9002"]`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, []any{true, 1.0}, []any{body["same"], body["version"]}, "the same digest is the same version")

	// A version of a class that nobody has is kept, and promoted by force only.
	unknown := strings.ReplaceAll(strings.ReplaceAll(deployedGraph, "WIDTH", "16"), "EmptyImage", "NobodyHasThis")
	status, body = c.tryDeploy("portrait", unknown, `"inputs":["width=9001.width"],"outputs":["picture=9002"]`)
	require.Equal(t, http.StatusOK, status, body)
	path := "/accounts/" + c.account + "/deployments/portrait@2/promote"
	status, body = c.admin("POST", path, `{"actor":"kim","reason":"a test"}`)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, fmt.Sprint(body), "NobodyHasThis")
	status, body = c.admin("POST", path, `{"actor":"kim","reason":"a test","force":true}`)
	require.Equal(t, http.StatusOK, status, body)
	id, _ := body["id"].(string)
	events, err := served.Command(t.Context(), os.LookupEnv, "events", "list", "--stream", "deployment-"+id, "--json", "--data", start(t).Data)
	require.NoError(t, err, events)
	require.Contains(t, events, "NobodyHasThis", "the force is recorded with what was missing")
	r, _ := c.call("portrait", `{}`)
	require.Equal(t, http.StatusTooManyRequests, r.status, r.body)
	require.NotEmpty(t, r.header.Get("Retry-After"))
	c.manage("portrait", "rollback", "")

	// Two promotions at once: both are recorded, and the last one answers.
	c.deploy("portrait", 17, "")
	var wait sync.WaitGroup
	for _, version := range []int{1, 3, 1, 3} {
		wait.Go(func() {
			c.admin("POST", fmt.Sprintf("/accounts/%s/deployments/portrait@%d/promote", c.account, version), `{"actor":"kim"}`)
		})
	}
	wait.Wait()
	_, shown := c.admin("GET", "/accounts/"+c.account+"/deployments/portrait", "")
	require.Contains(t, []any{1.0, 3.0}, shown["live"])
	r, _ = c.call("portrait", `{}`)
	require.Equal(t, http.StatusCreated, r.status, r.body)
	require.Equal(t, fmt.Sprintf("portrait@%v", shown["live"]), r.header.Get("X-Millrace-Deployment"))

	// Names of inputs in other scripts; names that are equal after folding; too many inputs.
	graph := strings.ReplaceAll(deployedGraph, "WIDTH", "16")
	status, body = c.tryDeploy("unicode", graph, `"inputs":["Größe=9001.width","色=9001.color"],"outputs":["Bild=9002"]`)
	require.Equal(t, http.StatusOK, status, body)
	r, _ = c.call("unicode", `{"größe":12,"色":7}`)
	require.Equal(t, http.StatusCreated, r.status, r.body)
	equal := `"inputs":["Größe=9001.width","grösse =9001.color","GRÖSSE=9001.height"],"outputs":["9002"]`
	status, body = c.tryDeploy("equal", graph, equal)
	require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, status, body)
	many := make([]string, 500)
	for i := range many {
		many[i] = fmt.Sprintf(`"i%d=9001.width"`, i)
	}
	status, body = c.tryDeploy("many", graph, `"inputs":[`+strings.Join(many, ",")+`],"outputs":["9002"]`)
	require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, status)
	require.Contains(t, fmt.Sprint(body), "at most")
}

func TestADeploymentIsDeletedWhileItsJobsRun(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	c.deploy("portrait", 16, "")
	var ids []string
	for i := range 8 {
		r, made := c.call("portrait", fmt.Sprintf(`{"width":%d}`, 500+i))
		require.Equal(t, http.StatusCreated, r.status, r.body)
		ids = append(ids, fmt.Sprint(made["id"]))
	}
	status, _ := c.admin("DELETE", "/accounts/"+c.account+"/deployments/portrait", `{"actor":"kim","reason":"a test"}`)
	require.Equal(t, http.StatusOK, status)
	r, _ := c.call("portrait", `{}`)
	require.Equal(t, http.StatusNotFound, r.status)
	for _, id := range ids {
		require.Equal(t, "succeeded", decode(t, c.ended("/api/v2/jobs/"+id).body)["status"])
	}
	require.Equal(t, true, c.deploy("portrait", 18, "")["created"], "the name is free")
}
