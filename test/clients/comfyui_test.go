package clients_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClientsOfComfyUI runs published clients that know nothing of Millrace, unchanged. docs/clients.md lists them.
func TestClientsOfComfyUI(t *testing.T) {
	s := startService(t, "disk", "none")
	t.Run("clients", func(t *testing.T) {
		t.Run("from PyPI", func(t *testing.T) { t.Parallel(); drivePublished(t, s) })
		t.Run("SillyTavern", func(t *testing.T) { t.Parallel(); driveSillyTavern(t, s) })
	})
}

// drivePublished runs comfy-api-client, comfy-api-simplified, tuspy and the module of Open WebUI.
func drivePublished(t *testing.T, s *service) {
	venv := pythonClient(t, "comfyui-clients", "comfyui/requirements.txt")
	picture := filepath.Join(t.TempDir(), "photo.png")
	require.NoError(t, os.WriteFile(picture, tinyPNG(t), 0o600))
	cmd := exec.CommandContext(t.Context(), filepath.Join(venv, "bin/python"), "comfyui/drive.py", s.Base, picture, openWebUI(t, venv))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var report map[string]any
	require.NoError(t, json.Unmarshal(out, &report), string(out))
	const png = "\u0089PNG"
	require.Equal(t, map[string]any{
		"comfy-api-client": map[string]any{
			"folder": "of a client", "size": []any{4.0, 3.0}, "listed": true, "done": true, "queue": 0.0, "os": true,
		},
		"comfy-api-simplified": map[string]any{"folder": "default_upload_folder", "images": []any{png}},
		"open-webui":           map[string]any{"images": []any{png, png}, "edited": 1.0},
		"tuspy":                map[string]any{"resumed": true, "same": true},
	}, report)
}

// openWebUI returns a directory with the files of Open WebUI that use ComfyUI. Its wheel is large and is not kept.
func openWebUI(t *testing.T, venv string) string {
	t.Helper()
	requirements, err := filepath.Abs("comfyui/open-webui.txt")
	require.NoError(t, err)
	return installed(t, "open-webui", requirements, func(dir string) {
		wheels := t.TempDir()
		pip := exec.CommandContext(t.Context(), filepath.Join(venv, "bin/pip"), "download", "--quiet", "--disable-pip-version-check",
			"--no-deps", "--no-cache-dir", "--only-binary", ":all:", "--dest", wheels, "-r", requirements)
		out, err := pip.CombinedOutput()
		skipWithoutRegistry(t, "Open WebUI", string(out), err)
		require.NoError(t, err, string(out))
		found, err := filepath.Glob(filepath.Join(wheels, "*.whl"))
		require.NoError(t, err)
		require.Len(t, found, 1)
		const extract = `import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in sys.argv[3:]:
        wheel.extract(name, sys.argv[2])`
		out, err = exec.CommandContext(t.Context(), filepath.Join(venv, "bin/python"), "-c", extract, found[0], dir,
			"open_webui/utils/images/comfyui.py", "open_webui/utils/session_pool.py").CombinedOutput()
		require.NoError(t, err, string(out))
	})
}

// driveSillyTavern sends the requests of SillyTavern in their order: it sends the graph as text, reads the whole history until its
// prompt is there, and fetches the first picture without escaping the parts of its address.
func driveSillyTavern(t *testing.T, s *service) {
	fetch := func(method, path, body string) []byte {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.Base+path, strings.NewReader(body))
		require.NoError(t, err)
		if body != "" {
			req.Header.Set("Content-Type", "text/plain;charset=UTF-8")
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode, string(raw))
		return raw
	}
	fetch(http.MethodGet, "/system_stats", "")
	var classes map[string]any
	require.NoError(t, json.Unmarshal(fetch(http.MethodGet, "/object_info", ""), &classes))
	require.Contains(t, classes, "SaveImage")
	generate := func(graph string) (item historyItem) {
		t.Helper()
		var queued struct {
			ID string `json:"prompt_id"`
		}
		require.NoError(t, json.Unmarshal(fetch(http.MethodPost, "/prompt", `{"prompt":`+graph+`}`), &queued))
		require.Eventually(t, func() bool {
			var history map[string]historyItem
			require.NoError(t, json.Unmarshal(fetch(http.MethodGet, "/history", ""), &history))
			found := false
			item, found = history[queued.ID]
			return found
		}, patience, 100*time.Millisecond)
		return item
	}
	item := generate(`{"1":{"class_type":"EmptyImage","inputs":{"width":8,"height":8,"batch_size":1,"color":7}},
		"9":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"SillyTavern"}}}`)
	require.NotEqual(t, "error", item.Status.State)
	require.NotEmpty(t, item.Outputs["9"].Images)
	image := item.Outputs["9"].Images[0]
	view := "/view?filename=" + image.Filename + "&subfolder=" + image.Subfolder + "&type=" + image.Type
	require.Equal(t, "\x89PNG", string(fetch(http.MethodGet, view, "")[:4]))
	require.Equal(t, ".png", filepath.Ext(image.Filename))

	item = generate(`{"1":{"class_type":"RegexReplace","inputs":{"string":"a","regex_pattern":"(","replace":"","case_insensitive":false,
		"multiline":false,"dotall":false,"count":0}},"9":{"class_type":"PreviewAny","inputs":{"source":["1",0]}}}`)
	require.Equal(t, "error", item.Status.State)
	require.Contains(t, string(item.Status.Messages), `"execution_error"`)
}

// historyItem is what SillyTavern reads of an entry of the history.
type historyItem struct {
	Status struct {
		State    string          `json:"status_str"`
		Messages json.RawMessage `json:"messages"`
	} `json:"status"`
	Outputs map[string]struct {
		Images []struct{ Filename, Subfolder, Type string }
	} `json:"outputs"`
}
