package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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

// unsigned are the parts of links that differ each time.
var unsigned = regexp.MustCompile(`(\?|&|\\u0026)(sig|exp|signature|expires)=[^"&\\]*`)

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

// readable returns everything that the account's clients read about their jobs, files, usage and deployments.
func (c *client) readable() string {
	c.t.Helper()
	var all strings.Builder
	for _, path := range []string{
		"/api/v2/jobs?limit=100", "/deployment/portrait/api/v2/jobs?limit=100", "/api/history_v2", "/api/queue", "/api/v2/assets?limit=100",
		"/api/assets?limit=100", "/api/jobs?limit=100",
	} {
		fmt.Fprintln(&all, path, unsigned.ReplaceAllString(c.do("GET", path, "").body, ""))
	}
	return all.String()
}

func TestAShadowOfRecordedCalls(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	c.deploy("portrait", 16, "")
	const calls = 12
	for i := range calls {
		r, made := c.call("portrait", fmt.Sprintf(`{"width":%d,"color":%d}`, 8+i%4, 1000*i))
		require.Equal(t, 201, r.status, r.body)
		id, _ := made["id"].(string)
		require.Equal(t, "succeeded", decode(t, c.do("GET", "/api/v2/jobs/"+id, "", "Prefer", "wait=30").body)["status"])
	}
	before := c.readable()

	same := c.shadowed("portrait@1")
	require.Equal(t, calls, same.Calls)
	require.Equal(t, map[string]int{"identical": calls}, same.Outcomes, "%+v", same.Pairs)
	begun := c.shadowed("portrait@1", "--no-wait")
	later := c.shadowed("portrait", "--run", begun.Run)
	require.Equal(t, map[string]int{"identical": calls}, later.Outcomes, "%+v", later.Pairs)
	require.Equal(t, []any{begun.Run, 1}, []any{later.Run, later.Version})
	require.Contains(t, c.refused("deployments", "shadow", "portrait", "--run", "none"), "shadow run none: portrait has no such run")
	require.Equal(t, before, c.readable(), "no client sees anything of it")

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
	require.Equal(t, before, c.readable())

	out, err := served.Command(t.Context(), os.LookupEnv,
		"deployments", "shadow", "portrait@9", "--account", c.account, "--data", start(t).Data)
	require.Error(t, err, out)
	require.Contains(t, err.Error()+out, "has no version 9")
}
