package e2e_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheLibraryHoldsWhatJobsAndUploadsMade goes the way of an editor that lists, tags and reuses an account's files.
func TestTheLibraryHoldsWhatJobsAndUploadsMade(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	require.Equal(t, true, c.json("GET", "/api/features", "")["assets"])
	require.Equal(t, http.StatusOK, c.upload("shelf-input.png", tinyPNG(t)).status)
	id := c.submit(strings.ReplaceAll(picture, `"e2e"`, `"shelf"`))
	c.await(id, "completed")

	list := func(query string) []any {
		found, _ := c.json("GET", "/api/assets?"+query, "")["assets"].([]any)
		return found
	}
	outputs := list("include_public=false&limit=100&sort=created_at&tags_any=output,temp&tags_none=missing")
	require.Len(t, outputs, 1)
	output, _ := outputs[0].(map[string]any)
	require.Equal(t, "shelf_00001_.png", output["name"])
	require.Equal(t, id, output["job_id"])
	require.Equal(t, []any{"output"}, output["tags"])
	require.Equal(t, "shelf_00001_.png", output["loader_path"])
	inputs := list("include_tags=input")
	require.Len(t, inputs, 1)
	input, _ := inputs[0].(map[string]any)
	require.Equal(t, "shelf-input.png", input["loader_path"])

	at, _ := output["id"].(string)
	at = "/api/assets/" + at
	tagged := c.do("POST", at+"/tags", `{"tags":["kept"]}`)
	require.Equal(t, http.StatusOK, tagged.status, tagged.body)
	renamed := c.do("PUT", at, `{"name":"The best one","user_metadata":{"rating":5}}`)
	require.Equal(t, http.StatusOK, renamed.status, renamed.body)
	require.Len(t, list("include_tags=kept&name_contains=best&metadata_filter="+url.QueryEscape(`{"rating":5}`)), 1)

	hash, _ := output["hash"].(string)
	again := c.do("POST", "/api/assets/from-hash", `{"hash":"`+hash+`","name":"again.png","tags":["input"]}`)
	require.Equal(t, http.StatusCreated, again.status, again.body)
	reused := c.submit(`{"1":{"class_type":"LoadImage","inputs":{"image":"again.png"}},"9":{"class_type":"PreviewImage",` +
		`"inputs":{"images":["1",0]}}}`)
	c.await(reused, "completed")
	require.Len(t, list("include_tags=temp"), 1)
}
