package e2e_test

import (
	"archive/zip"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// exported has an archive made and returns its task and its name.
func (c *client) exported(request string) (task, name string) {
	c.t.Helper()
	accepted := c.do("POST", "/api/assets/export", request, "Content-Type", "application/json")
	require.Equal(c.t, http.StatusAccepted, accepted.status, accepted.body)
	task, _ = decode(c.t, accepted.body)["task_id"].(string)
	result := c.finished(task, "completed")
	name, _ = result["export_name"].(string)
	return task, name
}

// finished polls until a task is over, as that state, and returns its result.
func (c *client) finished(task, state string) map[string]any {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		body := c.json("GET", "/api/tasks/"+task, "")
		if body["status"] == "completed" || body["status"] == "failed" {
			require.Equal(c.t, state, body["status"], body)
			result, _ := body["result"].(map[string]any)
			return result
		}
		require.True(c.t, time.Now().Before(deadline), "task %s is %v", task, body)
		<-tick.C
	}
}

// unpack downloads an archive by its name and returns what it holds.
func (c *client) unpack(name string) map[string]string {
	c.t.Helper()
	link, _ := c.json("GET", "/api/assets/exports/"+name, "")["url"].(string)
	require.True(c.t, strings.HasPrefix(link, c.base+"/api/files/"), link)
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, link, nil) // without a key
	require.NoError(c.t, err)
	got := c.send(req)
	require.Equal(c.t, http.StatusOK, got.status, got.body)
	require.Equal(c.t, "application/zip", got.header.Get("Content-Type"))
	require.Equal(c.t, "attachment; filename="+name, got.header.Get("Content-Disposition"))
	r, err := zip.NewReader(strings.NewReader(got.body), int64(len(got.body)))
	require.NoError(c.t, err)
	found := map[string]string{}
	for _, f := range r.File {
		content, err := f.Open()
		require.NoError(c.t, err)
		data, err := io.ReadAll(content)
		require.NoError(c.t, err)
		found[f.Name] = string(data)
	}
	return found
}

// viewed returns the bytes of a file of a folder.
func (c *client) viewed(name, folder string) string {
	c.t.Helper()
	got := c.do("GET", "/api/view?filename="+name+"&type="+folder, "")
	require.Equal(c.t, http.StatusFound, got.status, got.body)
	return c.do("GET", got.header.Get("Location"), "").body
}

// What the published editor does when several files are chosen and downloaded together.
func TestSeveralFilesAreDownloadedInOneArchive(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	first := c.submit(strings.Replace(strings.ReplaceAll(picture, `"e2e"`, `"pack/one"`), `"9":`,
		`"8":{"class_type":"PreviewImage","inputs":{"images":["1",0]}},"9":`, 1))
	second := c.submit(strings.ReplaceAll(picture, `"e2e"`, `"two"`)) // whose nodes, but the one that saves, are known
	c.await(first, "completed")
	c.await(second, "completed")
	require.Equal(t, http.StatusOK, c.upload("mine.png", tinyPNG(t)).status)
	inputs, _ := c.json("GET", "/api/assets?include_tags=input", "")["assets"].([]any)
	input, _ := inputs[0].(map[string]any)["id"].(string)

	watcher := c.dial("&clientId=a")
	_, name := c.exported(`{"job_ids":["` + first + `","` + second + `"],"asset_ids":["` + input +
		`"],"naming_strategy":"group_by_job_id","include_previews":true}`)
	answer := watcher.until(func(f frame) bool { return f.Type == "asset_export" && f.Data["status"] == "completed" })
	var states []any
	for _, f := range answer {
		if f.Type == "asset_export" {
			states = append(states, f.Data["status"])
		}
	}
	require.Equal(t, []any{"created", "running", "completed"}, slices.Compact(states))
	last := answer[len(answer)-1].Data
	require.Equal(t, name, last["export_name"])
	require.Equal(t, []any{4.0, 4.0, 0.0, 1.0}, []any{last["assets_total"], last["assets_attempted"], last["assets_failed"], last["progress"]})
	require.Positive(t, last["bytes_total"])
	require.Equal(t, last["bytes_total"], last["bytes_processed"])

	holds := c.unpack(name)
	var preview string
	for file := range holds {
		if strings.HasPrefix(file, first+"/previews/") {
			preview = file
		}
	}
	require.ElementsMatch(t, []string{first + "/pack/one_00001_.png", preview, second + "/two_00001_.png", "unknown/mine.png"},
		slices.Collect(maps.Keys(holds)))
	require.Equal(t, c.viewed("one_00001_.png&subfolder=pack", "output"), holds[first+"/pack/one_00001_.png"])
	require.Equal(t, c.viewed("mine.png", "input"), holds["unknown/mine.png"])

	// One file of a job, by its name; previews are left out, and so is what is not there.
	absent := `"` + absentID + `"`
	task, name := c.exported(`{"job_ids":["` + first + `"],"asset_ids":[` + absent + `],"job_asset_name_filters":{"` + first +
		`":["one_00001_.png"]},"naming_strategy":"preserve"}`)
	require.Equal(t, []string{"pack/one_00001_.png"}, slices.Collect(maps.Keys(c.unpack(name))))
	result := c.finished(task, "completed")
	require.EqualValues(t, 2, result["assets_total"])
	require.Equal(t, []any{map[string]any{"asset_id": absentID, "error": "not_found"}}, result["failed_assets"])

	// The archive is a file of the account: it is listed, but neither as input nor as output, and can be deleted.
	archives, _ := c.json("GET", "/api/assets?include_tags=export", "")["assets"].([]any)
	require.Len(t, archives, 2)
	for _, place := range []string{"output,temp", "input", "models"} {
		require.NotContains(t, c.do("GET", "/api/assets?tags_any="+place, "").body, "application/zip", place)
	}
	for _, a := range archives {
		id, _ := a.(map[string]any)["id"].(string)
		require.Equal(t, http.StatusNoContent, c.do("DELETE", "/api/assets/"+id, "").status)
	}
	gone := c.do("GET", "/api/assets/exports/"+name, "")
	require.Equal(t, http.StatusNotFound, gone.status, gone.body)
}

func TestExportsAreRefused(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	for body, want := range map[string]string{
		`{}`:                       "invalid_request",
		`{"asset_ids":["../etc"]}`: "invalid_request",
		`{"asset_ids":"x"}`:        "invalid_request",
		`{"job_ids":["` + absentID + `"],"job_asset_name_filters":{"` + absentID + `":[]}}`: "invalid_request",
		`{"asset_ids":["` + absentID + `"],"naming_strategy":"flat"}`:                       "invalid_naming_strategy",
		`{"asset_ids":["` + absentID + `"]}`:                                                "nothing_to_export",
		`[`:                                                                                 "invalid_json",
	} {
		got := c.do("POST", "/api/assets/export", body, "Content-Type", "application/json")
		status := http.StatusBadRequest
		if want == "nothing_to_export" {
			status = http.StatusNotFound
		}
		require.Equal(t, status, got.status, "%s: %s", body, got.body)
		require.Equal(t, want, decode(t, got.body)["code"], body)
	}
	for _, path := range []string{
		"/api/tasks/" + absentID, "/api/tasks/x", "/api/assets/exports/x.zip",
		"/api/assets/exports/export-20260304-120000-" + absentID + ".zip",
	} {
		require.Equal(t, http.StatusNotFound, c.do("GET", path, "").status, path)
	}

	// More than the account may keep is refused before anything is packed.
	made := c.putText("large.txt", strings.Repeat("a", 1000), "")
	require.Equal(t, http.StatusCreated, made.status, made.body)
	id, _ := decode(t, made.body)["id"].(string)
	_, created := c.admin("GET", "/events?stream=asset-"+id, "")
	c.limit(created["events"].([]any)[0].(map[string]any)["account"].(string), 1500)
	full := c.do("POST", "/api/assets/export", `{"asset_ids":["`+id+`"]}`, "Content-Type", "application/json")
	require.Equal(t, http.StatusForbidden, full.status, full.body)
	require.Equal(t, "storage_quota_exceeded", decode(t, full.body)["code"])
}
