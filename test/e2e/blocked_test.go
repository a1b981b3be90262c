package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// gate closes the way to node "8"; nodes "9" and what it reads are not concerned.
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
		var blocked []map[string]any
		var executed []any
		for _, f := range socket.until(over(id)) {
			if f.Data["prompt_id"] != id {
				continue
			}
			switch f.Type {
			case "execution_error":
				blocked = append(blocked, f.Data)
			case "executed":
				executed = append(executed, f.Data["node"])
			}
		}
		require.Len(t, blocked, 1, "told once, by the first that meets it")
		require.Equal(t, "ExecutionBlocked", blocked[0]["exception_type"])
		require.Equal(t, "Execution Blocked: closed today", blocked[0]["exception_message"])
		require.Equal(t, "3", blocked[0]["node_id"])
		require.Equal(t, []any{"9"}, executed)
		c.await(id, "completed")
		outputs := c.json("GET", "/api/jobs/"+id, "")["outputs"].(map[string]any)
		require.NotContains(t, outputs, "8")
		require.Contains(t, outputs, "9")
	}
}
