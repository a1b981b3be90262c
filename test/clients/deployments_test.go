package clients_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClientsOfDeployments uses deployments with OpenAI's client, with both SDKs on the address of a deployment, and with the MCP
// Inspector, all unmodified, and with clients that are generated from its document.
func TestClientsOfDeployments(t *testing.T) {
	t.Parallel()
	openai, sdk := pythonClient(t, "openai", "python/openai-requirements.txt"), pythonClient(t, "comfy-sdk", "python/requirements.txt")
	modules, inspector := npmClient(t, "comfyorg-sdk", "typescript"), npmClient(t, "mcp-inspector", "inspector")
	clients := generators(t)
	s := startService(t, "disk", "keys")
	s.Run(t, "accounts", "create", "ada", "--tier", "pro")
	key := s.Run(t, "keys", "create", "--account", "ada")
	dir := t.TempDir()
	deploy := func(name, graph string, flags ...string) {
		t.Helper()
		file := filepath.Join(dir, name+".json")
		require.NoError(t, os.WriteFile(file, []byte(graph), 0o600))
		s.Run(t, append([]string{"deploy", file, "--name", name, "--account", "ada"}, flags...)...)
	}
	deploy("portrait", `{"1":{"class_type":"EmptyImage","inputs":{"width":16,"height":8,"batch_size":1,"color":255}},
		"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"a"}}}`,
		"--input", "width=1.width", "--input", "prompt=2.filename_prefix", "--output", "picture=2")
	deploy("invert", `{"1":{"class_type":"LoadImage","inputs":{"image":"example.png"}},
		"2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},
		"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"a"}}}`,
		"--input", "image=1.image", "--input", "prompt=3.filename_prefix", "--output", "picture=3")
	picture := filepath.Join(dir, "photo.png")
	require.NoError(t, os.WriteFile(picture, tinyPNG(t), 0o600))
	reported := func(cmd *exec.Cmd, env ...string) (report map[string]any) {
		t.Helper()
		cmd.Env, cmd.Stderr = append(cmd.Environ(), env...), os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err, string(out))
		require.NoError(t, json.Unmarshal(out, &report), string(out))
		return report
	}
	drive := func(venv, program string, env []string, args ...string) map[string]any {
		t.Helper()
		return reported(exec.CommandContext(t.Context(), filepath.Join(venv, "bin/python"), append([]string{program}, args...)...), env...)
	}
	const png = "\u0089PNG"
	require.Equal(t, map[string]any{
		"models": []any{"invert", "portrait"}, "made": []any{png, png}, "link": true, "edited": []any{png},
		"refused": "quality", "unknown": "model",
	}, drive(openai, "python/drive_openai.py", nil, s.Base+"/openai/v1", key, picture))

	mount := s.Base + "/deployment/portrait"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, mount+"/api/v2/jobs", strings.NewReader(`{"inputs":{"width":40}}`))
	require.NoError(t, err)
	req.Header.Set("X-API-Key", key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	var made struct{ ID string }
	var body bytes.Buffer
	_, err = body.ReadFrom(res.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body.Bytes(), &made), body.String())
	report := drive(sdk, "python/drive_mount.py", []string{"COMFY_BASE_URL=" + mount, "COMFY_API_KEY=" + key}, made.ID)
	require.Equal(t, "succeeded", report["status"])
	require.Equal(t, png, report["output"])
	require.Contains(t, report["link"], mount+"/files/")
	require.Contains(t, report["events"], "OutputReady")
	require.Contains(t, report["listed"], made.ID)

	report = reported(typeScript(t, modules, "mount.mjs", made.ID), "COMFY_BASE_URL="+mount, "COMFY_API_KEY="+key)
	require.Equal(t, "succeeded", report["status"])
	require.Equal(t, png, report["output"])
	require.Contains(t, report["link"], mount+"/files/")
	require.Contains(t, report["events"], "outputReady")

	for _, cmd := range clients.calls(t, mount+"/api/v2", key) {
		report = reported(cmd)
		require.Equal(t, map[string]any{
			"status": "succeeded", "output": "picture", "picture": png, "refused": []any{"invalid_input", report["refused"].([]any)[1]},
		}, report)
		require.Contains(t, report["refused"].([]any)[1], "width")
	}

	inspect := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), filepath.Join(inspector, ".bin/mcp-inspector"), append([]string{
			"--cli", s.Base + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + key, "--method",
		}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		return cmd
	}
	require.Len(t, reported(inspect("tools/list"))["tools"], 2)
	result := reported(inspect("tools/call", "--tool-name", "portrait", "--tool-arg", "width=24"))
	require.NotEqual(t, true, result["isError"], result)
	require.Equal(t, "image", result["content"].([]any)[0].(map[string]any)["type"])
	out, err := inspect("tools/call", "--tool-name", "portrait", "--tool-arg", "width=-1").Output()
	require.Error(t, err, "the inspector ends with an error for a result that is one")
	require.Contains(t, string(out), "-1 is less than 1")
}
