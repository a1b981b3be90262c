package router_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A graph with ComfyUI's own partner nodes runs unchanged, with the credential under the name that ComfyUI's editor
// uses. Clients read ComfyUI's definitions. A node whose model has no credential is not listed.
func TestGraphsWithComfyUIsOwnPartnerNodesRun(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	raw, err := os.ReadFile("../../internal/partner/nodeclass/originals.json")
	require.NoError(t, err)
	var definitions map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &definitions))
	for class, inputs := range map[string]string{
		"FluxProUltraImageNode": `"prompt":"a lighthouse","prompt_upsampling":false,"seed":7,"aspect_ratio":"16:9","raw":false`,
		"OpenAIGPTImage1": `"prompt":"a lighthouse","seed":0,"quality":"low","background":"auto","size":"auto","n":1,` +
			`"model":"gpt-image-2","custom_width":1024,"custom_height":1024`,
	} {
		defined := c.do("GET", "/object_info/"+class, "")
		require.JSONEq(t, `{"`+class+`":`+string(definitions[class])+`}`, defined.body)
		graph := fmt.Sprintf(`{"1":{"class_type":%q,"inputs":{%s}},"2":{"class_type":"SaveImage","inputs":{"images":["1",0],`+
			`"filename_prefix":"original"}}}`, class, inputs)
		refused := c.do("POST", "/prompt", `{"prompt":`+graph+`}`)
		require.Equal(t, http.StatusBadRequest, refused.status, "it is paid for, so it asks for a credential: %s", refused.body)
		made := c.do("POST", "/prompt", `{"prompt":`+graph+`,"extra_data":{"api_key_comfy_org":"`+c.key+`"}}`)
		require.Equal(t, http.StatusOK, made.status, made.body)
		id := decode(t, made.body)["prompt_id"].(string)
		var entry map[string]any
		require.Eventually(t, func() bool {
			entry, _ = decode(t, c.do("GET", "/history/"+id, "").body)[id].(map[string]any)
			return entry != nil
		}, patience, 50*time.Millisecond)
		require.Equal(t, "success", entry["status"].(map[string]any)["status_str"], entry["status"])
		require.Len(t, entry["outputs"].(map[string]any)["2"].(map[string]any)["images"], 1)
	}
	require.JSONEq(t, `{}`, c.do("GET", "/object_info/KlingTextToVideoWithAudio", "").body)
}

func TestClassesOfModelsWithoutACredentialAreRefused(t *testing.T) { // W-09
	t.Parallel()
	c := newClient(t)
	all := decode(t, c.do("GET", "/object_info", "").body)
	require.Contains(t, all, "Partner_bfl_flux-2-pro")
	require.NotContains(t, all, "Partner_kling_kling-v3-text2video")
	require.JSONEq(t, `{}`, c.do("GET", "/object_info/Partner_kling_kling-v3-text2video", "").body)
	refused := c.do("POST", "/prompt", `{"prompt":{"1":{"class_type":"Partner_kling_kling-v3-text2video","inputs":{"prompt":"a tower"}}},`+
		`"extra_data":{"api_key_comfy_org":"`+c.key+`"}}`)
	require.Equal(t, http.StatusBadRequest, refused.status, refused.body)
	problem := decode(t, refused.body)["error"].(map[string]any)
	require.Equal(t, "missing_node_type", problem["type"])
	require.Contains(t, problem["message"], "KLING_ACCESS_KEY")
}
