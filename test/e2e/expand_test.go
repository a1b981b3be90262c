package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// repeated is a text to which node "2" puts another three times, by a chain it expands to.
const repeated = `{
	"1":{"class_type":"PrimitiveString","inputs":{"value":"a"}},
	"2":{"class_type":"MillraceRepeat","inputs":{"value":["1",0],"node_class":"StringConcatenate","input":"string_a","times":3,
		"arguments":"{\"string_b\":\"b\",\"delimiter\":\"-\"}"}},
	"9":{"class_type":"PreviewAny","inputs":{"source":["2",0]}}}`

// shownText returns what node "9" of a finished job shows.
func (c *client) shownText(id string) string {
	c.t.Helper()
	outputs := c.json("GET", "/api/jobs/"+id, "")["outputs"].(map[string]any)
	return outputs["9"].(map[string]any)["text"].([]any)[0].(string)
}

func TestANodeExpandsToAChainThatClientsSee(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	socket := c.dial("")
	id := c.submit(repeated)
	frames := socket.until(over(id))
	var executing, displayed []string
	last := map[string]any{}
	for _, f := range frames {
		if f.Data["prompt_id"] != id {
			continue
		}
		if node, ok := f.Data["node"].(string); ok && f.Type == "executing" {
			executing = append(executing, node)
			displayed = append(displayed, f.Data["display_node"].(string))
		}
		if f.Type == "progress_state" {
			last = f.Data["nodes"].(map[string]any)
		}
	}
	require.Equal(t, []string{"1", "2", "2.0.0.1", "2.0.0.2", "2.0.0.3", "9"}, executing)
	require.Equal(t, []string{"1", "2", "2", "2", "2", "9"}, displayed, "the node that expanded is shown in place of its nodes")
	inner := last["2.0.0.2"].(map[string]any)
	require.Equal(t, "2.0.0.2", inner["node_id"])
	require.Equal(t, "2", inner["display_node_id"])
	require.Equal(t, "2", inner["parent_node_id"])
	require.Equal(t, "2", inner["real_node_id"])
	require.Nil(t, last["2"].(map[string]any)["parent_node_id"])
	for node, state := range last {
		require.Equal(t, "finished", state.(map[string]any)["state"], node)
	}
	require.Equal(t, "a-b-b-b", c.shownText(id))
	require.EqualValues(t, 3, c.json("GET", "/api/v2/jobs/"+id, "")["progress"].(map[string]any)["nodes_total"],
		"nodes of the prompt count, those of expansions do not")
}

func TestAnExpandedNodeEndsAfterItsGraphAndBeforeItsReaders(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	socket := c.dial("")
	id := c.submit(repeated)
	var ends []string
	ended := map[string]bool{}
	for _, f := range socket.until(over(id)) {
		if f.Type != "progress_state" || f.Data["prompt_id"] != id {
			continue
		}
		for node, state := range f.Data["nodes"].(map[string]any) {
			if state.(map[string]any)["state"] == "finished" && !ended[node] {
				ended[node] = true
				ends = append(ends, node)
			}
		}
	}
	require.Equal(t, []string{"1", "2.0.0.1", "2.0.0.2", "2.0.0.3", "2", "9"}, ends)
}

func TestExpansionsNest(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.submit(`{
		"2":{"class_type":"MillraceRepeat","inputs":{"value":"x","node_class":"MillraceRepeat","input":"value","times":2,
			"arguments":"{\"node_class\":\"StringConcatenate\",\"input\":\"string_a\",\"times\":2,` +
		`\"arguments\":\"{\\\"string_b\\\":\\\"y\\\",\\\"delimiter\\\":\\\"\\\"}\"}"}},
		"9":{"class_type":"PreviewAny","inputs":{"source":["2",0]}}}`)
	c.await(id, "completed")
	require.Equal(t, "xyyyy", c.shownText(id))
}

// Values that are no constants travel to the nodes of an expansion, long nodes of it are activities, and
// output nodes in it run and are reported.
func TestOutputNodesOfAnExpansionRunAndAreAnnounced(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	socket := c.dial("")
	id := c.submit(`{
		"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":255}},
		"2":{"class_type":"MillraceRepeat","inputs":{"value":["1",0],"node_class":"SaveImage","input":"images","times":2,
			"arguments":"{\"filename_prefix\":\"inner\"}"}},
		"9":{"class_type":"PreviewImage","inputs":{"images":["2",0]}}}`)
	var executed []string
	for _, f := range socket.until(over(id)) {
		if f.Type == "executed" && f.Data["prompt_id"] == id {
			executed = append(executed, fmt.Sprint(f.Data["node"], " for ", f.Data["display_node"]))
		}
	}
	require.Equal(t, []string{"2.0.0.1 for 2", "2.0.0.2 for 2", "9 for 9"}, executed)
	job := c.json("GET", "/api/jobs/"+id, "")
	outputs := job["outputs"].(map[string]any)
	require.Contains(t, outputs, "2.0.0.1")
	meta := job["execution_meta"].(map[string]any)["2.0.0.2"].(map[string]any)
	require.Equal(t, map[string]any{"node_id": "2.0.0.2", "display_node": "2", "parent_node": "2", "real_node_id": "2"}, meta)
	all := names(c.json("GET", "/api/v2/jobs/"+id, ""))
	require.Subset(t, all, []string{"inner_00001_.png", "inner_00002_.png"})
}

func TestAListExpandsOncePerElement(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.submit(`{
		"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":3,"color":255}},
		"2":{"class_type":"RebatchImages","inputs":{"images":["1",0],"batch_size":1}},
		"3":{"class_type":"MillraceRepeat","inputs":{"value":["2",0],"node_class":"ImageInvert","input":"image","times":2}},
		"9":{"class_type":"SaveImage","inputs":{"images":["3",0],"filename_prefix":"each"}}}`)
	c.await(id, "completed")
	require.Equal(t, []string{"each_00001_.png", "each_00002_.png", "each_00003_.png"}, names(c.json("GET", "/api/v2/jobs/"+id, "")))
}

func TestAnExpansionThatCannotRunIsAnErrorOfTheNodeThatExpanded(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	for name, change := range map[string][]string{
		"a class that is not there":    {`"StringConcatenate"`, `"NoSuchClass"`, "class \"NoSuchClass\" is unknown"},
		"a required input that is not": {`\"delimiter\":\"-\"`, `\"other\":1`, "Required input is missing: delimiter"},
		"an input that takes no such": {
			`"StringConcatenate","input":"string_a"`, `"ImageBlur","input":"sigma"`,
			"Required input is missing: image",
		},
		"an expansion in its place": {
			`"node_class":"StringConcatenate","input":"string_a","times":3,`,
			`"node_class":"MillraceRepeat","input":"times","times":1,`, "Required input is missing",
		},
		"arguments that are no object":  {`"arguments":"{`, `"arguments":"[{`, "arguments must be one JSON object"},
		"an output that it has not got": {`"times":3,`, `"times":3,"output":7,`, "index out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			socket := c.dial("")
			id := c.submit(strings.Replace(repeated, change[0], change[1], 1))
			var failed map[string]any
			for _, f := range socket.until(over(id)) {
				if f.Type == "execution_error" && f.Data["prompt_id"] == id {
					failed = f.Data
				}
			}
			require.NotNil(t, failed)
			require.Equal(t, "2", failed["node_id"])
			require.Equal(t, "MillraceRepeat", failed["node_type"])
			require.Equal(t, "ValidationError", failed["exception_type"])
			require.Contains(t, failed["exception_message"], change[2])
		})
	}
}

// A node inside an expansion that fails is reported as the node of the prompt that it came from: clients know
// no other.
func TestFailureInsideAnExpansionNamesTheNodeOfThePrompt(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	socket := c.dial("")
	id := c.submit(`{
		"2":{"class_type":"MillraceRepeat","inputs":{"value":1,"node_class":"ComfyMathExpression","input":"values.a","times":2,
			"arguments":"{\"expression\":\"a/0\"}"}},
		"9":{"class_type":"PreviewAny","inputs":{"source":["2",0]}}}`)
	var failed map[string]any
	for _, f := range socket.until(over(id)) {
		if f.Type == "execution_error" && f.Data["prompt_id"] == id {
			failed = f.Data
		}
	}
	require.Equal(t, "2", failed["node_id"])
	require.Equal(t, "MillraceRepeat", failed["node_type"])
}

func TestRepeatedJobUsesTheCachedExpansion(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	c.await(c.submit(repeated), "completed")
	socket := c.dial("")
	id := c.submit(strings.ReplaceAll(repeated, "PreviewAny",
		"SaveText"+`","inputs":{"text":["2",0],"filename_prefix":"t","format":"txt"}},"8":{"class_type":"PreviewAny`))
	messages, cached := got(id, socket.until(over(id)))
	require.Equal(t, []any{"1", "2", "8"}, cached)
	require.Contains(t, messages, "executing 9")
	require.NotContains(t, messages, "executing 2.0.0.1")
}

// A job that repeats part of an expansion runs only the rest of it. Nodes of expansions are not listed when the run
// begins; what the cache answers of them is reported as what they showed, and they do not execute.
func TestNodesOfAnExpansionAreAnsweredFromTheCache(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	blurred := func(times int, first string) string {
		return fmt.Sprintf(`{
		"1":{"class_type":"EmptyImage","inputs":{"width":2048,"height":1536,"batch_size":1,"color":%s}},
		"2":{"class_type":"MillraceRepeat","inputs":{"value":["1",0],"node_class":"ImageBlur","input":"image","times":%d,
			"arguments":"{\"blur_radius\":31,\"sigma\":3.0}"}},
		"3":{"class_type":"MillraceRepeat","inputs":{"value":["2",0],"node_class":"SaveImage","input":"images","times":1,
			"arguments":"{\"filename_prefix\":\"inner\"}"}},
		"9":{"class_type":"PreviewAny","inputs":{"source":["3",0]}}}`, first, times)
	}
	require.Equal(t, []string{"inner_00001_.png"}, c.saved(blurred(1, "255")))

	socket := c.dial("")
	id := c.submit(blurred(2, "255"))
	messages, cached := got(id, socket.until(over(id)))
	require.NotContains(t, cached, "2")
	require.NotContains(t, messages, "executing 2.0.0.1", "the first of the chain is known")
	require.Subset(t, messages, []string{"executing 2", "executing 2.0.0.2", "executing 3", "executed 3.0.0.1"})
	require.NotContains(t, messages, "executing 3.0.0.1", "a plain picture stays as it is, and what was saved of it is known by its content")
	again := c.json("GET", "/api/v2/jobs/"+id, "")
	require.Equal(t, []string{"inner_00001_.png"}, names(again))
	require.Equal(t, true, again["outputs_reused"])
	require.Equal(t, []string{"inner_00002_.png"}, c.saved(blurred(1, "254")), "another picture, another file")
}

// saved runs a graph and returns the names of what it saved.
func (c *client) saved(prompt string) []string {
	c.t.Helper()
	id := c.submit(prompt)
	c.await(id, "completed")
	return names(c.json("GET", "/api/v2/jobs/"+id, ""))
}

// What an expansion saves is reported in every job: the node that expands is not answered from the cache, nor
// is anything that reads it. The node that saves may be, as those of the prompt.
func TestAnExpansionThatSavesExpandsInEveryJob(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	const saving = `{
		"2":{"class_type":"MillraceRepeat","inputs":{"value":"t","node_class":"SaveText","input":"text","times":1,
			"arguments":"{\"filename_prefix\":\"said\",\"format\":\"txt\"}"}},
		"9":{"class_type":"PreviewAny","inputs":{"source":["2",0]}}}`
	c.await(c.submit(saving), "completed")
	socket := c.dial("")
	id := c.submit(saving)
	messages, cached := got(id, socket.until(over(id)))
	require.Empty(t, cached)
	require.Contains(t, messages, "executed 2.0.0.1")
	require.Contains(t, messages, "executing 9")
	require.Regexp(t, `^said_0000[12].txt$`, strings.Join(names(c.json("GET", "/api/v2/jobs/"+id, "")), " "))
}
