package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// gate blocks the way to node "8". Node "9" and the nodes that it reads are not affected.
const gate = `{
	"1":{"class_type":"PrimitiveString","inputs":{"value":"a"}},
	"2":{"class_type":"MillraceGate","inputs":{"value":["1",0],"open":false,"message":"closed today"}},
	"3":{"class_type":"StringConcatenate","inputs":{"string_a":["2",0],"string_b":"b","delimiter":""}},
	"8":{"class_type":"PreviewAny","inputs":{"source":["3",0]}},
	"9":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}`

func TestBlockedNodesAreSkippedAndTheJobCompletes(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	for range 2 { // nothing that a blocker had a part in is answered from the cache
		socket := c.dial("")
		id := c.submit(gate)
		blocked, executed, succeeded := 0, []any(nil), 0
		for _, f := range socket.until(over(id)) {
			if f.Data["prompt_id"] != id {
				continue
			}
			switch f.Type {
			case "notification":
				if f.Data["value"] == "Node 3 (StringConcatenate) did not run: closed today" {
					blocked++
				}
			case "executed":
				executed = append(executed, f.Data["node"])
			case "execution_success":
				succeeded++
			case "execution_error":
				require.Fail(t, "a client takes this for the end of the job", "%v", f.Data)
			}
		}
		require.Equal(t, 1, blocked, "reported once, by the first that meets it")
		require.Equal(t, 1, succeeded)
		require.Equal(t, []any{"9"}, executed)
		c.await(id, "completed")
		outputs := c.json("GET", "/api/jobs/"+id, "")["outputs"].(map[string]any)
		require.NotContains(t, outputs, "8")
		require.Contains(t, outputs, "9")
	}
}
