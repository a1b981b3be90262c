package e2e_test

import (
	"bytes"
	"image"
	_ "image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// painted is a graph in which a model's picture goes on through native nodes.
func painted(prompt string) string {
	return `{
	"1":{"class_type":"Partner_sim_image","inputs":{"prompt":"` + prompt + `"}},
	"2":{"class_type":"ImageScale","inputs":{"image":["1",0],"upscale_method":"nearest-exact","width":48,"height":40,"crop":"disabled"}},
	"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"painted"}}}`
}

// order submits a graph with a credential and returns the answer as it is.
func (c *client) order(graph, credential string) reply {
	c.t.Helper()
	return c.do("POST", "/api/prompt", `{"prompt":`+graph+`,"extra_data":{"api_key_service":"`+credential+`"}}`)
}

// ordered is order for a graph that is accepted; it returns the job's id.
func (c *client) ordered(graph string) string {
	c.t.Helper()
	r := c.order(graph, c.key)
	require.Equal(c.t, 200, r.status, r.body)
	id, _ := decode(c.t, r.body)["prompt_id"].(string)
	return id
}

func TestModelsAreOfferedAsNodeClasses(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	all := c.json("GET", "/api/object_info", "")
	for _, name := range []string{"Partner_sim_image", "Partner_sim_echo", "Partner_sim_open", "Partner_sim_speech"} {
		require.Contains(t, all, name)
	}
	for _, name := range []string{ // the service has no credential for them (W-09)
		"Partner_bfl_flux-2-pro", "Partner_openai_gpt-image-2", "Partner_kling_kling-v3-image2video", "Partner_elevenlabs_sound-generation",
	} {
		require.NotContains(t, all, name)
	}
	def, _ := c.json("GET", "/api/object_info/Partner_sim_image", "")["Partner_sim_image"].(map[string]any)
	require.Equal(t, "api node/sim", def["category"])
	require.Equal(t, true, def["api_node"])
	require.Equal(t, []any{"IMAGE"}, def["output"])
	input, _ := def["input"].(map[string]any)
	required, _ := input["required"].(map[string]any)
	require.Contains(t, required, "prompt")
	optional, _ := input["optional"].(map[string]any)
	require.Equal(t, "IMAGE", optional["image"].([]any)[0])
	kind, _ := optional["kind"].([]any)
	require.Equal(t, "COMBO", kind[0])
	require.Equal(t, []any{"image", "video"}, kind[1].(map[string]any)["options"])
}

func TestAModelsPictureGoesOnThroughTheGraph(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.ordered(painted("a red square"))
	c.await(id, "completed")
	outputs, _ := c.json("GET", "/api/v2/jobs/"+id, "")["outputs"].([]any)
	require.Len(t, outputs, 1)
	asset, _ := outputs[0].(map[string]any)["id"].(string)
	file := c.do("GET", "/api/v2/assets/"+asset+"/content", "")
	if file.status == 302 {
		file = c.do("GET", file.header.Get("Location"), "")
	}
	require.Equal(t, 200, file.status)
	pic, _, err := image.Decode(bytes.NewReader([]byte(file.body)))
	require.NoError(t, err)
	require.Equal(t, image.Pt(48, 40), pic.Bounds().Size())
	require.NotContains(t, c.do("GET", "/api/jobs/"+id, "").body, c.key, "the credential is nowhere to be read")
}

func TestALinkedImageIsSentAndBytesAreSaved(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	id := c.ordered(`{
	"1":{"class_type":"EmptyImage","inputs":{"width":32,"height":32,"batch_size":1,"color":255}},
	"2":{"class_type":"Partner_sim_image","inputs":{"prompt":"over it","image":["1",0]}},
	"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"over"}},
	"4":{"class_type":"Partner_sim_speech","inputs":{"prompt":"a tone","number":2}},
	"5":{"class_type":"Partner_sim_echo","inputs":{"prompt":"said","number":7}}}`)
	c.await(id, "completed")
	outputs, _ := c.json("GET", "/api/jobs/"+id, "")["outputs"].(map[string]any)
	tone, _ := outputs["4"].(map[string]any)["audio"].([]any)
	require.Len(t, tone, 1)
	require.Equal(t, "sim_speech_00001_.wav", tone[0].(map[string]any)["filename"])
	text, _ := outputs["5"].(map[string]any)["text"].([]any)
	require.Contains(t, text[0], `"input":{"prompt":"said","number":7}`)
}

func TestModelsAreNotCalledWithoutAKeyOfTheAccount(t *testing.T) { // W-21
	t.Parallel()
	c, other := newClient(t, "pro"), newClient(t, "pro")
	r := c.do("POST", "/api/prompt", `{"prompt":`+painted("x")+`}`)
	require.Equal(t, 400, r.status, r.body)
	require.Contains(t, r.body, "api_key_service")
	for _, key := range []string{other.key, "mr_nonsense_nonsense"} {
		r = c.order(painted("x"), key)
		require.Equal(t, 401, r.status, r.body)
		require.NotContains(t, r.body, key)
	}
	require.Equal(t, 422, c.do("POST", "/api/v2/jobs", `{"workflow":{"1":{"class_type":"Partner_sim_none","inputs":{}}}}`).status)
	r = c.do("POST", "/api/prompt", `{"prompt":`+painted("by the public name")+`,"extra_data":{"api_key_comfy_org":"`+c.key+`"}}`)
	require.Equal(t, 200, r.status, r.body)
}

func TestFailuresOfModelsAreThoseOfTheirNodes(t *testing.T) { // W-62, W-63
	t.Parallel()
	for prompt, want := range map[string][2]string{
		"[sim:policy]":      {"ValidationError", "content_policy_violation"},
		"[sim:late-policy]": {"ValidationError", "content_policy_violation"},
		"[sim:late-lost]":   {"ImageDownloadError", "cannot be fetched from its provider"},
		"[sim:error]":       {"ServiceError", "provider_error"},
		"[sim:validation]":  {"ValidationError", "The picture is too small"},
	} {
		t.Run(strings.Trim(prompt, "[]"), func(t *testing.T) {
			t.Parallel()
			c := newClient(t, "pro")
			socket := c.dial("")
			id := c.ordered(painted(prompt))
			c.await(id, "failed")
			frames := socket.until(func(f frame) bool { return f.Type == "execution_error" })
			failure := frames[len(frames)-1].Data
			require.Equal(t, id, failure["prompt_id"])
			require.Equal(t, "1", failure["node_id"])
			require.Equal(t, want[0], failure["exception_type"])
			require.Contains(t, failure["exception_message"], "sim/image")
			require.Contains(t, failure["exception_message"], want[1])
		})
	}
}
