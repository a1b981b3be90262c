package e2e_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/openapi/openapitest"
	"github.com/millrace-dev/millrace/test/served"
)

// shadowReport is what the command prints.
type shadowReport struct {
	Run      string
	Calls    int
	Version  int
	Outcomes map[string]int
	Pairs    []shadowPair
}

type shadowPair struct {
	Call, Outcome, Detail string
	Outputs               []struct {
		Output     string
		Difference float64
	}
}

// unsigned are the parts of links that differ every five minutes, their end and the signature of that, and what differs in each page.
var unsigned = regexp.MustCompile(`nonce="[^"]*"|(\?|&|\\u0026)(e|sig)=[^"&\\]*|"url_expires_at":"[^"]*"`)

// command runs a command of the program on the account and returns what it prints.
func (c *client) command(args ...string) string {
	c.t.Helper()
	out, err := served.Command(c.t.Context(), os.LookupEnv, append(args, "--account", c.account, "--data", start(c.t).Data)...)
	require.NoError(c.t, err, out)
	return out
}

func (c *client) shadowed(version string, flags ...string) (r shadowReport) {
	c.t.Helper()
	out := c.command(append([]string{"deployments", "shadow", version, "--since", "1h", "--json"}, flags...)...)
	require.NoError(c.t, json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &r), out)
	return r
}

// readable returns, by path, everything that the account can read about its jobs, files, usage, credit, webhooks and deployments: by each
// GET route whose parameters are among things, by pages of the console and by a command. Every view has seen what happened before.
func (c *client) readable(things map[string]string) map[string]string {
	c.t.Helper()
	c.upToDate()
	doc, err := openapitest.Load()
	require.NoError(c.t, err)
	all := map[string]string{}
	add := func(path, body string) { all[path] = unsigned.ReplaceAllString(stripMoving(body), "") }
	asked := 0
	for _, op := range doc.Operations() {
		if op.Public || op.Method != http.MethodGet || op.Path == "/ws" || op.Path == "/object_info" ||
			op.Routes[0] == op.Path && !strings.HasPrefix(op.Path, "/api/v2/") {
			continue
		}
		known := true
		path := braces.ReplaceAllStringFunc(op.Routes[0], func(name string) string {
			value, ok := things[parameterOf(op.Path, strings.Trim(name, "{}"))]
			known = known && ok
			return value
		})
		if known {
			add(path, ask(c, op.Method, path+requests["GET "+op.Path].query, "", things).body)
			asked++
		}
	}
	require.Greater(c.t, asked, 20)
	console := c.signedIn()
	for _, path := range []string{"", "/gallery", "/usage", "/assets", "/webhooks", "/find?q=deployed"} {
		r := console.get("/console" + path)
		require.Less(c.t, r.status, 400, path)
		add(path, r.body)
	}
	for _, path := range []string{
		"/deployment/portrait/api/v2/jobs?limit=100", "/api/v2/assets?limit=100", "/openai/v1/models", "/v2/models",
	} {
		add(path, c.do("GET", path, "").body)
	}
	ledger, err := start(c.t).Command(c.t.Context(), "accounts", "ledger", c.account, "--json")
	require.NoError(c.t, err, ledger)
	add("ledger", ledger)
	return all
}

// upToDate waits until every view has seen what is in the log now.
func (c *client) upToDate() {
	c.t.Helper()
	var head float64
	require.Eventually(c.t, func() bool {
		_, body := c.admin("GET", "/views", "")
		least := math.Inf(1)
		for _, one := range body["views"].([]any) {
			position, _ := one.(map[string]any)["position"].(float64)
			behind, _ := one.(map[string]any)["behind"].(float64)
			if least = min(least, position); head == 0 {
				head = position + behind
			}
		}
		return least >= head
	}, patience, 50*time.Millisecond)
}

// heard collects the frames of a socket until it is closed. A client that did not read would be dropped.
func (s *socket) heard() <-chan frame {
	frames := make(chan frame, 10_000)
	go func() {
		defer close(frames)
		for {
			kind, raw, err := s.conn.ReadMessage()
			if err != nil {
				return
			}
			var f frame
			if kind == websocket.TextMessage && json.Unmarshal(raw, &f) == nil {
				frames <- f
			}
		}
	}()
	return frames
}

func TestAShadowOfRecordedCalls(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	start(t).Run(t, "accounts", "credit", c.account, "--amount", "1", "--reason", "metered")
	c.deploy("portrait", 16, "")
	const calls = 12
	call := func(i int) map[string]any {
		r, made := c.call("portrait", fmt.Sprintf(`{"width":%d,"color":%d}`, 8+i%4, 1000*i))
		require.Equal(t, 201, r.status, r.body)
		id, _ := made["id"].(string)
		ended := decode(t, c.ended("/api/v2/jobs/"+id).body)
		require.Equal(t, "succeeded", ended["status"])
		return ended
	}
	var last map[string]any
	for i := range calls {
		last = call(i)
	}
	hook, _ := c.json("POST", "/api/v2/webhooks", `{"url":"https://hooks.invalid/private"}`)["id"].(string)
	output, _ := last["outputs"].([]any)[0].(map[string]any)
	things := map[string]string{
		"JOB": last["id"].(string), "THEASSET": output["id"].(string), "HASH": output["hash"].(string), "OUTPUT": output["name"].(string),
		"THEHOOK": hook, "INPUT": "none", "DIRECTORY": "none", "SaveImage": "SaveImage", "input": "output",
	}
	heard := c.dial("").heard()
	before := c.readable(things)

	same := c.shadowed("portrait@1")
	require.Equal(t, calls, same.Calls)
	require.Equal(t, map[string]int{"identical": calls}, same.Outcomes, "%+v", same.Pairs)
	begun := c.shadowed("portrait@1", "--no-wait")
	later := c.shadowed("portrait", "--run", begun.Run)
	require.Equal(t, map[string]int{"identical": calls}, later.Outcomes, "%+v", later.Pairs)
	require.Equal(t, []any{begun.Run, 1}, []any{later.Run, later.Version})
	require.Contains(t, c.refused("deployments", "shadow", "portrait", "--run", "none"), "shadow run none: portrait has no such run")

	// Another height is another picture of each call; a graph without the input refuses the calls that give it.
	other := strings.Replace(strings.ReplaceAll(deployedGraph, "WIDTH", "16"), `"height":8`, `"height":9`, 1)
	status, body := c.tryDeploy("portrait", other, `"inputs":["width=9001.width","color=9001.color"],"outputs":["picture=9002"]`)
	require.Equal(t, 200, status, body)
	changed := c.shadowed("portrait@2")
	require.Equal(t, map[string]int{"differs": calls}, changed.Outcomes, "%+v", changed.Pairs)
	require.Equal(t, "picture", changed.Pairs[0].Outputs[0].Output)
	require.Equal(t, 2, changed.Version)
	status, body = c.tryDeploy("portrait", other, `"inputs":["width=9001.width"],"outputs":["picture=9002"]`)
	require.Equal(t, 200, status, body)
	refused := c.shadowed("portrait@3")
	require.Equal(t, map[string]int{"refused": calls}, refused.Outcomes)
	require.Contains(t, refused.Pairs[0].Detail, "color", "the refusal names the input")
	for path, after := range c.readable(things) {
		require.Equal(t, before[path], after, "no client sees anything of it at %s", path)
	}

	// The next call is the next that the account hears of.
	next, _ := call(calls)["id"].(string)
	ended := false
	for f := range heard {
		require.Contains(t, []any{next, nil}, f.Data["prompt_id"], "%+v", f)
		if ended = over(next)(f); ended {
			break
		}
	}
	require.True(t, ended, "the connection was kept")
	var sent []any
	require.Eventually(t, func() bool {
		sent, _ = c.json("GET", "/api/v2/webhooks/"+hook+"/deliveries", "")["deliveries"].([]any)
		return len(sent) > 0
	}, patience, 50*time.Millisecond)
	for _, d := range sent {
		require.Contains(t, fmt.Sprint(d), next)
	}

	out, err := served.Command(t.Context(), os.LookupEnv,
		"deployments", "shadow", "portrait@9", "--account", c.account, "--data", start(t).Data)
	require.Error(t, err, out)
	require.Contains(t, err.Error()+out, "has no version 9")
}
