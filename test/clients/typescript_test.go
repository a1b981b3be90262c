package clients_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// npmClient installs what a folder's lock file pins, and returns its modules.
func npmClient(t *testing.T, name, folder string) string {
	for _, program := range []string{"npm", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the test of %s needs %s, which is not installed", name, program)
		}
	}
	return filepath.Join(installed(t, name, filepath.Join(folder, "package-lock.json"), func(dir string) {
		for _, file := range []string{"package.json", "package-lock.json"} {
			copyFile(t, filepath.Join(folder, file), filepath.Join(dir, file))
		}
		cmd := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		skipWithoutRegistry(t, name, string(out), err)
		require.NoError(t, err, string(out))
	}), "node_modules")
}

// typeScript returns a command that runs a program with the SDK from npm.
func typeScript(t *testing.T, modules, program string, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", program} {
		copyFile(t, filepath.Join("typescript", name), filepath.Join(dir, name))
	}
	require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "photo.png"), tinyPNG(t), 0o600))
	cmd := exec.CommandContext(t.Context(), "node", append([]string{program}, args...)...)
	cmd.Dir = dir
	return cmd
}

// driveTypeScript uses the service with the SDK from npm, pinned by its lock file.
func driveTypeScript(t *testing.T, s *service) {
	cmd := typeScript(t, npmClient(t, "comfyorg-sdk", "typescript"), "drive.mjs")
	cmd.Env = append(os.Environ(), "COMFY_BASE_URL="+s.Base)
	if s.mode != "none" {
		cmd.Env = append(cmd.Env, "COMFY_API_KEY="+s.credential(t))
	}
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

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, raw, 0o600))
}
