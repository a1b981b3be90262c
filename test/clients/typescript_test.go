package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThePublishedTypeScriptSDK drives the service with the SDK as npm has it, pinned by its lock file.
func TestThePublishedTypeScriptSDK(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"npm", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the test of the TypeScript SDK needs %s, which is not installed", program)
		}
	}
	c := newClient(t, "pro")
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "drive.mjs"} {
		raw, err := os.ReadFile(filepath.Join("sdk", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), raw, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "photo.png"), tinyPNG(t), 0o600))
	install(t, dir)

	cmd := exec.CommandContext(t.Context(), "node", "drive.mjs")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "COMFY_BASE_URL="+c.base, "COMFY_API_KEY="+c.key)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var report struct {
		Status, Output, Canceled string
		SameAsset                bool
		Events                   []string
		Refusal                  struct {
			Class, Code string
			Details     map[string]map[string][]map[string]string
		}
	}
	require.NoError(t, json.Unmarshal(out, &report), string(out))
	require.Equal(t, "succeeded", report.Status)
	require.Equal(t, "\u0089PNG", report.Output)
	require.True(t, report.SameAsset)
	require.Contains(t, report.Events, "outputReady")
	require.Equal(t, "statusChange:succeeded", report.Events[len(report.Events)-1])
	require.Equal(t, "canceled", report.Canceled)
	require.Equal(t, "InvalidWorkflow", report.Refusal.Class)
	require.Equal(t, "invalid_workflow", report.Refusal.Code)
	require.Equal(t, "class_type", report.Refusal.Details["node_errors"]["1"][0]["field"])
}

// install runs npm ci. A machine that cannot reach a registry cannot have the SDK.
func install(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	for _, sign := range []string{"ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "TIMEOUT", "EAI_AGAIN", "E429", "E50"} {
		if err != nil && strings.Contains(string(out), sign) {
			t.Skipf("the test of the TypeScript SDK needs a package registry, which cannot be reached (%s)", sign)
		}
	}
	require.NoError(t, err, string(out))
}
