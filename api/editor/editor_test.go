package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/catalogue"
	"github.com/millrace-dev/millrace/internal/domain/server"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// put stores a file of an editor.
func (h *fileHarness) put(t *testing.T, key, path, body string) reply {
	t.Helper()
	return h.do(t, h.request(t, http.MethodPost, path, key, strings.NewReader(body)))
}

func TestFilesOfEditors(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	flow := "/userdata/" + url.PathEscape("workflows/a b+c.json")
	kept := h.put(t, "key-a", "/api"+flow, `{"x":1}`)
	require.Equal(t, http.StatusOK, kept.status)
	require.JSONEq(t, `"workflows/a b+c.json"`, kept.body)

	got := h.get(t, flow, "key-a")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, `{"x":1}`, got.body)
	require.Equal(t, "application/octet-stream", got.header.Get("Content-Type"), "nothing is shown in place")
	require.Equal(t, http.StatusNotModified, h.get(t, flow, "key-a", "If-None-Match", got.header.Get("ETag")).status)

	require.Equal(t, http.StatusConflict, h.put(t, "key-a", flow+"?overwrite=false", "new").status)
	require.Equal(t, http.StatusOK, h.put(t, "key-a", flow, "new").status, "overwriting is what clients expect")
	require.Equal(t, "new", h.get(t, flow, "key-a").body)

	info := h.put(t, "key-a", "/userdata/"+url.PathEscape("workflows/deep/er.json")+"?full_info=true", "12345").json(t)
	require.Equal(t, "workflows/deep/er.json", info["path"])
	require.InDelta(t, 5, info["size"], 0)
	require.Positive(t, info["modified"])

	for _, prefix := range []string{"", "/api"} {
		var all []map[string]any
		require.NoError(t, json.Unmarshal([]byte(h.get(t, prefix+"/v2/userdata", "key-a").body), &all))
		var paths []any
		for _, e := range all {
			paths = append(paths, fmt.Sprint(e["type"], " ", e["path"], " ", e["size"]))
			require.Equal(t, e["type"] == "file", e["modified"] != nil)
		}
		require.Equal(t, []any{"directory workflows/deep <nil>", "directory workflows <nil>", "file workflows/a b+c.json 3", "file workflows/deep/er.json 5"}, paths)
		below := h.get(t, prefix+"/v2/userdata?path=workflows/deep", "key-a")
		require.Contains(t, below.body, `"path":"workflows/deep/er.json"`)
		require.NotContains(t, below.body, "directory")
		require.Equal(t, http.StatusUnauthorized, h.get(t, prefix+"/v2/userdata", "").status)
		require.Equal(t, http.StatusBadRequest, h.get(t, prefix+"/v2/userdata?path=../x", "key-a").status)
	}
	lists := map[string]string{
		"/userdata?dir=workflows":                         `["a b+c.json"]`,
		"/userdata?dir=workflows&recurse=true":            `["a b+c.json","deep/er.json"]`,
		"/userdata?dir=workflows&recurse=true&split=true": `[["a b+c.json","a b+c.json"],["deep/er.json","deep","er.json"]]`,
		"/userdata?dir=&recurse=true":                     `["workflows/a b+c.json","workflows/deep/er.json"]`,
		"/userdata?dir=":                                  `[]`,
	}
	for path, want := range lists {
		require.JSONEq(t, want, h.get(t, path, "key-a").body, path)
	}
	require.Equal(t, http.StatusBadRequest, h.get(t, "/userdata", "key-a").status, "dir is required")
	require.Equal(t, http.StatusNotFound, h.get(t, "/userdata?dir=none", "key-a").status)

	moved := h.put(t, "key-a", flow+"/move/"+url.PathEscape("workflows/deep/er.json")+"?overwrite=false", "")
	require.Equal(t, http.StatusConflict, moved.status)
	require.Equal(t, "new", h.get(t, flow, "key-a").body, "a refused move changes nothing")
	moved = h.put(t, "key-a", flow+"/move/z.json", "")
	require.JSONEq(t, `"z.json"`, moved.body)
	require.Equal(t, http.StatusNotFound, h.get(t, flow, "key-a").status)
	require.Equal(t, "new", h.get(t, "/userdata/z.json", "key-a").body)
	require.Equal(t, http.StatusNotFound, h.put(t, "key-a", flow+"/move/y.json", "").status)

	del := func(path string) int { return h.do(t, h.request(t, http.MethodDelete, path, "key-a", nil)).status }
	require.Equal(t, http.StatusNoContent, del("/userdata/z.json"))
	require.Equal(t, http.StatusNotFound, del("/userdata/z.json"))
}

func TestFilesOfEditorsAreTheirAccounts(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	require.Equal(t, http.StatusOK, h.put(t, "key-a", "/userdata/mine.json", "secret").status)
	for _, req := range []*http.Request{
		h.request(t, "GET", "/userdata/mine.json", "key-b", nil),
		h.request(t, "DELETE", "/userdata/mine.json", "key-b", nil),
		h.request(t, "POST", "/userdata/mine.json/move/x", "key-b", nil),
	} {
		require.Equal(t, http.StatusNotFound, h.do(t, req).status, req.Method)
	}
	require.JSONEq(t, `[]`, h.get(t, "/userdata?dir=&recurse=1", "key-b").body)
	require.Equal(t, http.StatusOK, h.put(t, "key-b", "/userdata/mine.json?overwrite=false", "other").status)
	require.Equal(t, "secret", h.get(t, "/userdata/mine.json", "key-a").body)
	require.Equal(t, http.StatusForbidden, h.put(t, "read", "/userdata/x", "").status, "a key that reads only")
}

func TestPathsOfEditorsFilesAreGuarded(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	require.Equal(t, http.StatusOK, h.put(t, "key-a", "/userdata/file", "x").status)
	for name, want := range map[string]int{
		"..%2F..%2Fetc%2Fpasswd": 400, "a%2F..%2Fb": 400, "%2Fabsolute": 400, "a%2F%2Fb": 400, ".": 400,
		"a%5Cb": 400, "a%00b": 400, "a%0Ab": 400, "%FF": 400, " a": 400,
		strings.Repeat("x", 513): 400, strings.Repeat("a%2F", 16) + "b": 400,
		"file%2Fbelow": 409, // a file is no directory
	} {
		got := h.put(t, "key-a", "/userdata/"+strings.ReplaceAll(name, " ", "%20"), "x")
		require.Equal(t, want, got.status, "%s: %s", name, got.body)
		if want == 400 {
			moved := h.put(t, "key-a", "/userdata/file/move/"+strings.ReplaceAll(name, " ", "%20"), "")
			require.Equal(t, want, moved.status, "%s: %s", name, moved.body)
		}
	}
	require.Equal(t, http.StatusBadRequest, h.get(t, "/userdata?dir="+url.QueryEscape("../x"), "key-a").status)
	require.Equal(t, http.StatusNotFound, h.put(t, "key-a", "/userdata/a/b", "x").status, "slashes of a path are escaped")
	require.Equal(t, http.StatusRequestEntityTooLarge, h.put(t, "key-a", "/userdata/big", strings.Repeat("x", 16<<20+1)).status)
}

func TestMaskLayers(t *testing.T) {
	t.Parallel()
	h := startFiles(t, api.Options{})
	for i, name := range []string{"clipspace-mask-7.png", "clipspace-painted-masked-7.png", "plain.png"} {
		stored := h.post(t, "/upload/image", "key-a", part{"image", name, picture(t, 4, 4, uint8(i))})
		require.Equal(t, http.StatusOK, stored.status)
	}
	layers := func(name, key string) reply { return h.get(t, "/api/files/mask-layers?filename="+name, key) }
	require.JSONEq(t, `{"mask":"clipspace-mask-7.png","paint":null,"painted":null,"painted_masked":"clipspace-painted-masked-7.png"}`,
		layers("clipspace-painted-masked-7.png", "key-a").body)
	require.JSONEq(t, `{"mask":null,"paint":null,"painted":null,"painted_masked":null}`, layers("plain.png", "key-a").body)
	require.Equal(t, http.StatusNotFound, layers("clipspace-paint-7.png", "key-a").status)
	require.Equal(t, http.StatusNotFound, layers("plain.png", "key-b").status)
	require.Equal(t, http.StatusBadRequest, layers("", "key-a").status)
	require.Equal(t, http.StatusBadRequest, layers("..%2Fx", "key-a").status)
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
	h := startWith(t, api.Options{Mode: "keys"}, func(d *api.Deps) {
		in := &inputs{names: map[string][]string{}}
		in.add("a", "models/checkpoints/m.safetensors")
		d.NodeFiles, d.Servers = in, servers
		d.Devices = func() []server.Device { return []server.Device{{Name: "cuda:0", Type: "cuda", Total: 24, Free: 12}} }
	})
	for path, want := range map[string]string{
		"/models": `["checkpoints","loras","vae"]`, "/models/loras": `[]`, "/embeddings": `[]`,
		"/models/checkpoints": `["m.safetensors","remote.safetensors"]`, "/extensions": `["/extensions/sim-pack/sim.js"]`,
	} {
		require.JSONEq(t, want, h.do(t, "GET", path, "", "Authorization", "Bearer key-a").body, path)
	}
	require.Equal(t, http.StatusNotFound, h.do(t, "GET", "/extensions/other/sim.js", "").status)
	require.NotContains(t, h.do(t, "GET", "/system_stats", "").body, "cuda", "without a key, nothing of the machines")
	require.Contains(t, h.do(t, "GET", "/system_stats", "", "Authorization", "Bearer key-a").body, `{"name":"cuda:0","type":"cuda","index":1,"vram_total":24,"vram_free":12}`)
}

func TestScriptsOfCustomNodesAreServed(t *testing.T) {
	t.Parallel()
	machine, err := sim.Start("127.0.0.1:0", sim.Options{})
	require.NoError(t, err)
	t.Cleanup(machine.Close)
	client, err := comfyui.New(machine.URL(), comfyui.Options{})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	deps := undocumented(t, &memoryJobs{})
	servers := catalogue.New(func() []catalogue.Member {
		return []catalogue.Member{{Address: client.Address(), Server: client}}
	}, catalogue.Options{Web: client.Address()})
	servers.Refresh(t.Context())
	deps.Servers = servers
	handler, err := api.New(deps, api.Options{})
	require.NoError(t, err)
	served := httptest.NewServer(handler)
	t.Cleanup(served.Close)
	h := &harness{url: served.URL}
	script := h.do(t, "GET", "/extensions/sim-pack/sim.js", "")
	require.Equal(t, http.StatusOK, script.status, script.body)
	require.Contains(t, script.header.Get("Content-Type"), "javascript")
	require.NotEmpty(t, script.body)
	require.Equal(t, http.StatusNotFound, h.do(t, "GET", "/extensions/sim-pack/absent.js", "").status)
}

func TestEditorStartupRoutes(t *testing.T) {
	t.Parallel()
	h := startWith(t, api.Options{Mode: "keys"}, func(d *api.Deps) {
		in := &inputs{names: map[string][]string{}}
		in.add("a", "photo.png")
		in.add("a", "models/checkpoints/m.safetensors")
		in.add("a", "models/embeddings/style.pt")
		d.NodeFiles = in
	})
	for path, want := range map[string]string{
		"/extensions": `[]`, "/workflow_templates": `{}`, "/global_subgraphs": `{}`, "/node_replacements": `{}`,
		"/models": `["checkpoints","embeddings"]`, "/models/checkpoints": `["m.safetensors"]`, "/embeddings": `["style"]`,
		"/internal/folder_paths":         `{"checkpoints":["models/checkpoints"],"embeddings":["models/embeddings"]}`,
		"/experiment/models/checkpoints": `[{"name":"m.safetensors","pathIndex":0}]`,
		"/experiment/models":             `[{"name":"checkpoints","folders":["models/checkpoints"]},{"name":"embeddings","folders":["models/embeddings"]}]`,
	} {
		got := h.do(t, "GET", "/api"+path, "", "Authorization", "Bearer key-a")
		require.Equal(t, http.StatusOK, got.status, path)
		require.JSONEq(t, want, got.body, path)
	}
	for _, path := range []string{"/models/loras", "/experiment/models/loras", "/experiment/models/preview/checkpoints/0/m.safetensors", "/global_subgraphs/x"} {
		require.Equal(t, http.StatusNotFound, h.do(t, "GET", path, "", "Authorization", "Bearer key-a").status, path)
	}
	for _, key := range []string{"", "key-b", "wrong"} { // public, and what is another's is not shown
		got := h.do(t, "GET", "/models", "", "X-API-Key", key)
		require.Equal(t, http.StatusOK, got.status)
		var names []string
		require.NoError(t, json.Unmarshal([]byte(got.body), &names))
		require.Empty(t, names)
	}
}
