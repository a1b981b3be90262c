package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a node only shows is an output on the v2 surface too: nothing is silently dropped there.
func TestShownTextsAreOutputsOfV2Jobs(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	const graph = `{"workflow":{
		"1":{"class_type":"PrimitiveString","inputs":{"value":"grüße"}},
		"2":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}}`
	id, _ := c.json("POST", "/api/v2/jobs", graph)["id"].(string)
	c.await(id, "completed")
	outputs := c.json("GET", "/api/v2/jobs/"+id, "")["outputs"].([]any)
	require.Len(t, outputs, 1)
	text := outputs[0].(map[string]any)
	require.Equal(t, "text", text["type"])
	require.Equal(t, "2", text["node_id"])
	require.Equal(t, "text/plain; charset=utf-8", text["content_type"])
	require.Equal(t, "grüße", c.do("GET", text["url"].(string), "").body)
}
