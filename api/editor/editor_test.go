package editor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/catalogue"
	"github.com/millrace-dev/millrace/internal/domain/server"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

func TestFilesOfEditors(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	flow := "/userdata/" + url.PathEscape("workflows/a b+c.json")
	kept := h.Put(t, "key-a", "/api"+flow, `{"x":1}`)
	require.Equal(t, http.StatusOK, kept.Status)
	require.JSONEq(t, `"workflows/a b+c.json"`, kept.Body)

	got := h.Get(t, flow, "key-a")
	require.Equal(t, http.StatusOK, got.Status)
	require.Equal(t, `{"x":1}`, got.Body)
	require.Equal(t, "application/octet-stream", got.Header.Get("Content-Type"), "nothing is shown in place")
	require.Equal(t, http.StatusNotModified, h.Get(t, flow, "key-a", "If-None-Match", got.Header.Get("ETag")).Status)

	require.Equal(t, http.StatusConflict, h.Put(t, "key-a", flow+"?overwrite=false", "new").Status)
	require.Equal(t, http.StatusOK, h.Put(t, "key-a", flow, "new").Status, "overwriting is what clients expect")
	require.Equal(t, "new", h.Get(t, flow, "key-a").Body)

	info := h.Put(t, "key-a", "/userdata/"+url.PathEscape("workflows/deep/er.json")+"?full_info=true", "12345").JSON(t)
	require.Equal(t, "workflows/deep/er.json", info["path"])
	require.InDelta(t, 5, info["size"], 0)
	require.Positive(t, info["modified"])

	for _, prefix := range []string{"", "/api"} {
		var all []map[string]any
		require.NoError(t, json.Unmarshal([]byte(h.Get(t, prefix+"/v2/userdata", "key-a").Body), &all))
		var paths []any
		for _, e := range all {
			paths = append(paths, fmt.Sprint(e["type"], " ", e["path"], " ", e["size"]))
			require.Equal(t, e["type"] == "file", e["modified"] != nil)
		}
		require.Equal(t, []any{
			"directory workflows/deep <nil>", "directory workflows <nil>", "file workflows/a b+c.json 3",
			"file workflows/deep/er.json 5",
		}, paths)
		below := h.Get(t, prefix+"/v2/userdata?path=workflows/deep", "key-a")
		require.Contains(t, below.Body, `"path":"workflows/deep/er.json"`)
		require.NotContains(t, below.Body, "directory")
		require.Equal(t, http.StatusUnauthorized, h.Get(t, prefix+"/v2/userdata", "").Status)
		require.Equal(t, http.StatusBadRequest, h.Get(t, prefix+"/v2/userdata?path=../x", "key-a").Status)
	}
	lists := map[string]string{
		"/userdata?dir=workflows":                         `["a b+c.json"]`,
		"/userdata?dir=workflows&recurse=true":            `["a b+c.json","deep/er.json"]`,
		"/userdata?dir=workflows&recurse=true&split=true": `[["a b+c.json","a b+c.json"],["deep/er.json","deep","er.json"]]`,
		"/userdata?dir=&recurse=true":                     `["workflows/a b+c.json","workflows/deep/er.json"]`,
		"/userdata?dir=":                                  `[]`,
	}
	for path, want := range lists {
		require.JSONEq(t, want, h.Get(t, path, "key-a").Body, path)
	}
	require.Equal(t, http.StatusBadRequest, h.Get(t, "/userdata", "key-a").Status, "dir is required")
	require.Equal(t, http.StatusNotFound, h.Get(t, "/userdata?dir=none", "key-a").Status)

	moved := h.Put(t, "key-a", flow+"/move/"+url.PathEscape("workflows/deep/er.json")+"?overwrite=false", "")
	require.Equal(t, http.StatusConflict, moved.Status)
	require.Equal(t, "new", h.Get(t, flow, "key-a").Body, "a refused move changes nothing")
	moved = h.Put(t, "key-a", flow+"/move/z.json", "")
	require.JSONEq(t, `"z.json"`, moved.Body)
	require.Equal(t, http.StatusNotFound, h.Get(t, flow, "key-a").Status)
	require.Equal(t, "new", h.Get(t, "/userdata/z.json", "key-a").Body)
	require.Equal(t, http.StatusNotFound, h.Put(t, "key-a", flow+"/move/y.json", "").Status)

	del := func(path string) int { return h.Do(t, h.Request(t, http.MethodDelete, path, "key-a", nil)).Status }
	require.Equal(t, http.StatusNoContent, del("/userdata/z.json"))
	require.Equal(t, http.StatusNotFound, del("/userdata/z.json"))
}

func TestFilesOfEditorsAreTheirAccounts(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	require.Equal(t, http.StatusOK, h.Put(t, "key-a", "/userdata/mine.json", "secret").Status)
	for _, req := range []*http.Request{
		h.Request(t, "GET", "/userdata/mine.json", "key-b", nil),
		h.Request(t, "DELETE", "/userdata/mine.json", "key-b", nil),
		h.Request(t, "POST", "/userdata/mine.json/move/x", "key-b", nil),
	} {
		require.Equal(t, http.StatusNotFound, h.Do(t, req).Status, req.Method)
	}
	require.JSONEq(t, `[]`, h.Get(t, "/userdata?dir=&recurse=1", "key-b").Body)
	require.Equal(t, http.StatusOK, h.Put(t, "key-b", "/userdata/mine.json?overwrite=false", "other").Status)
	require.Equal(t, "secret", h.Get(t, "/userdata/mine.json", "key-a").Body)
	require.Equal(t, http.StatusForbidden, h.Put(t, "read", "/userdata/x", "").Status, "a key that reads only")
}

func TestPathsOfEditorFilesAreChecked(t *testing.T) {
	t.Parallel()
	h := apitest.StartFiles(t, apitest.Options{})
	require.Equal(t, http.StatusOK, h.Put(t, "key-a", "/userdata/file", "x").Status)
	for name, want := range map[string]int{
		"..%2F..%2Fetc%2Fpasswd": 400, "a%2F..%2Fb": 400, "%2Fabsolute": 400, "a%2F%2Fb": 400, ".": 400,
		"a%5Cb": 400, "a%00b": 400, "a%0Ab": 400, "%FF": 400, " a": 400,
		strings.Repeat("x", 513): 400, strings.Repeat("a%2F", 16) + "b": 400,
		"file%2Fbelow": 409, // a file is no directory
	} {
		got := h.Put(t, "key-a", "/userdata/"+strings.ReplaceAll(name, " ", "%20"), "x")
		require.Equal(t, want, got.Status, "%s: %s", name, got.Body)
		if want == 400 {
			moved := h.Put(t, "key-a", "/userdata/file/move/"+strings.ReplaceAll(name, " ", "%20"), "")
			require.Equal(t, want, moved.Status, "%s: %s", name, moved.Body)
		}
	}
	require.Equal(t, http.StatusBadRequest, h.Get(t, "/userdata?dir="+url.QueryEscape("../x"), "key-a").Status)
	require.Equal(t, http.StatusNotFound, h.Put(t, "key-a", "/userdata/a/b", "x").Status, "slashes of a path are escaped")
	require.Equal(t, http.StatusRequestEntityTooLarge, h.Put(t, "key-a", "/userdata/big", strings.Repeat("x", 16<<20+1)).Status)
}

func TestEditorsSeeWhatServersHave(t *testing.T) {
	t.Parallel()
	machine, err := sim.Start("127.0.0.1:0", sim.Options{Checkpoints: []string{"remote.safetensors"}})
	require.NoError(t, err)
	t.Cleanup(machine.Close)
	client, err := comfyui.New(machine.URL(), comfyui.Options{})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	servers := catalogue.New(func() []catalogue.Member {
		return []catalogue.Member{{Address: client.Address(), Server: client}}
	}, catalogue.Options{Web: client.Address()})
	servers.Refresh(t.Context())
	h := apitest.StartWith(t, apitest.Options{Mode: "keys"}, func(d *apitest.Deps) {
		in := &apitest.Inputs{Names: map[string][]string{}}
		in.Add("a", "models/checkpoints/m.safetensors")
		d.NodeFiles, d.Servers = in, servers
		d.Devices = func() []server.Device {
			return []server.Device{{Name: "cuda:0", Type: "cuda", Total: 24, Free: 12, TorchTotal: 8, TorchFree: 2, Machine: 1}}
		}
	})
	for path, want := range map[string]string{
		"/models": `["checkpoints","loras","vae"]`, "/models/loras": `[]`, "/embeddings": `[]`,
		"/models/checkpoints": `["m.safetensors","remote.safetensors"]`, "/extensions": `["/extensions/sim-pack/sim.js"]`,
	} {
		require.JSONEq(t, want, h.Do(t, "GET", path, "", "Authorization", "Bearer key-a").Body, path)
	}
	require.Equal(t, http.StatusNotFound, h.Do(t, "GET", "/extensions/other/sim.js", "").Status)
	require.NotContains(t, h.Do(t, "GET", "/system_stats", "").Body, "cuda", "without a key, nothing of the machines")
	require.Contains(t, h.Do(t, "GET", "/system_stats", "", "Authorization", "Bearer key-a").Body,
		`[{"name":"cuda:0","type":"cuda","index":0,"vram_total":24,"vram_free":12,"torch_vram_total":8,"torch_vram_free":2,`+
			`"machine":"server 1"},{"name":"cpu","type":"cpu","index":1,`, "those of servers first")
}

func TestScriptsOfCustomNodesAreServed(t *testing.T) {
	t.Parallel()
	machine, err := sim.Start("127.0.0.1:0", sim.Options{})
	require.NoError(t, err)
	t.Cleanup(machine.Close)
	client, err := comfyui.New(machine.URL(), comfyui.Options{})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	deps := apitest.Undocumented(t, &apitest.MemoryJobs{})
	servers := catalogue.New(func() []catalogue.Member {
		return []catalogue.Member{{Address: client.Address(), Server: client}}
	}, catalogue.Options{Web: client.Address()})
	servers.Refresh(t.Context())
	deps.Servers = servers
	handler, err := apitest.New(deps, apitest.Options{})
	require.NoError(t, err)
	served := httptest.NewServer(handler)
	t.Cleanup(served.Close)
	h := &apitest.Harness{URL: served.URL}
	script := h.Do(t, "GET", "/extensions/sim-pack/sim.js", "")
	require.Equal(t, http.StatusOK, script.Status, script.Body)
	require.Contains(t, script.Header.Get("Content-Type"), "javascript")
	require.NotEmpty(t, script.Body)
	require.Equal(t, http.StatusNotFound, h.Do(t, "GET", "/extensions/sim-pack/absent.js", "").Status)
}

func TestEditorStartupRoutes(t *testing.T) {
	t.Parallel()
	h := apitest.StartWith(t, apitest.Options{Mode: "keys"}, func(d *apitest.Deps) {
		in := &apitest.Inputs{Names: map[string][]string{}}
		in.Add("a", "photo.png")
		in.Add("a", "models/checkpoints/m.safetensors")
		in.Add("a", "models/embeddings/style.pt")
		d.NodeFiles = in
	})
	for path, want := range map[string]string{
		"/extensions": `[]`, "/workflow_templates": `{}`, "/global_subgraphs": `{}`, "/node_replacements": `{}`,
		"/models": `["checkpoints","embeddings"]`, "/models/checkpoints": `["m.safetensors"]`, "/embeddings": `["style"]`,
		"/internal/folder_paths":         `{"checkpoints":["models/checkpoints"],"embeddings":["models/embeddings"]}`,
		"/experiment/models/checkpoints": `[{"name":"m.safetensors","pathIndex":0}]`,
		"/experiment/models": `[{"name":"checkpoints","folders":["models/checkpoints"]},{"name":"embeddings",` +
			`"folders":["models/embeddings"]}]`,
	} {
		got := h.Do(t, "GET", "/api"+path, "", "Authorization", "Bearer key-a")
		require.Equal(t, http.StatusOK, got.Status, path)
		require.JSONEq(t, want, got.Body, path)
	}
	for _, path := range []string{
		"/models/loras", "/experiment/models/loras", "/experiment/models/preview/checkpoints/0/m.safetensors",
		"/global_subgraphs/x",
	} {
		require.Equal(t, http.StatusNotFound, h.Do(t, "GET", path, "", "Authorization", "Bearer key-a").Status, path)
	}
	for _, key := range []string{"", "key-b", "wrong"} { // public, and what is another's is not shown
		got := h.Do(t, "GET", "/models", "", "X-API-Key", key)
		require.Equal(t, http.StatusOK, got.Status)
		var names []string
		require.NoError(t, json.Unmarshal([]byte(got.Body), &names))
		require.Empty(t, names)
	}
}
