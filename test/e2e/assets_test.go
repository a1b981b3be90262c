package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// store uploads a picture through the asset API and returns the asset.
func (c *client) store(path string, data []byte) map[string]any {
	c.t.Helper()
	r := c.putAsset(path, "image/png", string(data), "")
	require.Less(c.t, r.status, 300, r.body)
	return decode(c.t, r.body)
}

// An asset is an input at once, by reference and by its path, on both surfaces; what the job saves is
// an asset that names the job and lives at least as long.
func TestAnAssetIsAnInputOnBothSurfacesAndOutputsAreAssets(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	first := c.store("in/first.png", tinyPNG(t))
	reference := `{"__type":"core/ASSET","info":{"id":"` + first["id"].(string) + `"}}`
	for name, image := range map[string]string{"reference": reference, "path": `"in/first.png"`} {
		graph := `{"1":{"class_type":"LoadImage","inputs":{"image":` + image + `}},
			"9":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"` + name + `"}}}`
		cloud := c.submit(graph)
		v2, _ := c.json("POST", "/api/v2/jobs", `{"workflow":`+graph+`}`)["id"].(string)
		for _, id := range []string{cloud, v2} {
			c.await(id, "completed")
			job := c.json("GET", "/api/v2/jobs/"+id, "")
			outputs, _ := job["outputs"].([]any)
			require.Len(t, outputs, 1, name)
			output, _ := outputs[0].(map[string]any)
			asset := c.json("GET", "/api/v2/assets/"+output["id"].(string), "")
			require.Equal(t, output["job_id"], asset["job_id"])
			require.Equal(t, output["hash"], asset["hash"])
			require.Equal(t, "image/png", asset["content_type"])
			if until, ok := asset["expires_at"].(string); ok {
				require.Greater(t, until, job["expires_at"].(string))
			}
		}
		output, _ := c.json("GET", "/api/v2/jobs/"+cloud, "")["outputs"].([]any)
		require.Equal(t, cloud, output[0].(map[string]any)["job_id"])
	}
	require.NotContains(t, c.json("GET", "/api/v2/assets/"+first["id"].(string), ""), "job_id")
}
