package e2e_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
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

// The recorded graph of a job is the one that ran: references are replaced by names of files, with which the same
// graph loads the same file again.
func TestTheGraphOfAJobNamesFiles(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	first := c.store("in/first.png", tinyPNG(t))
	run := func(image string) (image1 any) {
		graph := `{"1":{"class_type":"LoadImage","inputs":{"image":` + image + `},"_meta":{"title":"core/ASSET"}},
			"9":{"class_type":"PreviewImage","inputs":{"images":["1",0]}}}`
		id, _ := c.json("POST", "/api/v2/jobs", `{"workflow":`+graph+`}`)["id"].(string)
		c.await(id, "completed")
		got := c.json("GET", "/api/v2/jobs/"+id+"/workflow", "")
		require.Equal(t, "api", got["format"])
		loader := got["workflow"].(map[string]any)["1"].(map[string]any)
		require.Equal(t, "core/ASSET", loader["_meta"].(map[string]any)["title"])
		return loader["inputs"].(map[string]any)["image"]
	}
	reference := `{"__type":"core/ASSET", "info":{"file_path":"x","id":"` + first["id"].(string) + `"}}`
	require.Equal(t, "in/first.png", run(reference))
	c.store("in/first.png", pngOf(t, 3))
	exact := run(reference)
	require.Equal(t, "asset:"+first["id"].(string), exact, "the name leads to another file now")
	require.Equal(t, exact, run(`"`+exact.(string)+`"`), "and this one to the file that it was")
}

// Jobs are found by their labels as the published SDK asks for them.
func TestJobsAreListedByTheirLabels(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	var ids []any
	for _, labels := range []string{`{"run":"7","client":"acme"}`, `{"run":"8"}`} {
		made := c.json("POST", "/api/v2/jobs", `{"metadata":`+labels+`,"workflow":`+picture+`}`)
		ids = append(ids, made["id"])
		c.await(made["id"].(string), "completed")
	}
	for query, want := range map[string][]any{
		"metadata[run]=7": {ids[0]}, "metadata%5Brun%5D=8": {ids[1]}, "metadata.run=7": {ids[0]},
		"metadata[run]=7&metadata[client]=acme": {ids[0]}, "metadata[run]=8&metadata[client]=acme": nil, "limit=5": {ids[1], ids[0]},
	} {
		var got []any
		for _, each := range c.json("GET", "/api/v2/jobs?"+query, "")["jobs"].([]any) {
			j := each.(map[string]any)
			got = append(got, j["id"])
			require.Equal(t, j["created_at"], j["create_time"])
			require.Equal(t, j["completed_at"], j["update_time"])
		}
		require.Equal(t, want, got, query)
	}
}

// An image that an editor uploads is looked into at once: the process delivers its ingestion with the commit. A relay would find
// it after five seconds at the earliest. One image of several shows the difference: on a busy machine, others may wait as long.
func TestAnUploadedImageIsLookedIntoAtOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	conn, err := pgx.Connect(t.Context(), serversOf(t).Database)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	took := time.Hour
	for width := 5; width < 15 && took >= 5*time.Second; width++ {
		name := uuid.NewString() + ".png"
		require.Equal(t, 200, c.upload(name, pngOf(t, width)).status)
		require.Eventually(t, func() bool {
			return conn.QueryRow(t.Context(), `select v.recorded_at - c.recorded_at from events c join events v on v.stream = c.stream
				where c.type = 'asset.created.v1' and c.data -> 'place' ->> 'filename' = $1 and v.type = 'asset.verified.v1'`, name).Scan(&took) == nil
		}, patience, 20*time.Millisecond)
		t.Logf("looked into after %v", took)
	}
	require.Less(t, took, 5*time.Second)
}
