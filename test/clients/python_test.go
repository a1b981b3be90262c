package clients_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// drivePython uses the service with the SDK from PyPI, pinned by its requirements file.
func drivePython(t *testing.T, s *service) {
	venv := pythonClient(t, "comfy-sdk", "python/requirements.txt")
	picture := filepath.Join(t.TempDir(), "photo.png")
	require.NoError(t, os.WriteFile(picture, tinyPNG(t), 0o600))
	cmd := exec.CommandContext(t.Context(), filepath.Join(venv, "bin/python"), "python/drive.py", picture)
	cmd.Env = append(os.Environ(), "COMFY_BASE_URL="+s.Base, "COMFY_ROUTER_BASE_URL="+s.Base)
	if s.mode != "none" { // a client of a service without authentication sends no credential
		cmd.Env = append(cmd.Env, "COMFY_API_KEY="+s.credential(t))
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var report map[string]any
	require.NoError(t, json.Unmarshal(out, &report), string(out))
	events, _ := report["events"].([]any)
	require.Contains(t, events, "OutputReady")
	require.Equal(t, "StatusChange:succeeded", events[len(events)-1])
	delete(report, "events")
	const png = "\u0089PNG"
	require.Equal(t, map[string]any{
		"createdNew": []any{report["createdNew"].([]any)[0], false}, // another client may have uploaded these bytes before
		"sameAsset":  true, "assetLink": png, "rehydrated": true,
		"status": "succeeded", "output": png, "part": png, "outputLink": png, "graph": "photo.png",
		"labels": true, "found": true, "times": true, "listed": true, "canceled": "canceled", "async": "succeeded",
		"refusals": map[string]any{
			"graph": []any{"InvalidWorkflow", "invalid_workflow"}, "job": []any{"NotFound", "not_found"}, "asset": []any{"NotFound", "not_found"},
		},
		"models": true, "schema": true, "ran": map[string]any{"prompt": "hello"}, "submitted": map[string]any{"prompt": "later"},
		"subscribed": map[string]any{"prompt": "watched"}, "updates": "COMPLETED", "spoken": "audio/wav", "rejected": "InvalidInput",
	}, report)
}
