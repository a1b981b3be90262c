package servers_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// weight writes a file of this machine and returns its path and its hash.
func weight(t *testing.T, name, content string) (path, hash string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path, blob.Sum([]byte(content)).String()
}

// fails runs a command that fails, and returns why.
func (s *service) fails(args ...string) string {
	s.t.Helper()
	out, err := s.Command(s.t.Context(), args...)
	require.Error(s.t, err, out)
	return err.Error()
}

// listed is a weight as the command line and the admin API show it.
type listed struct {
	ID, Account, Folder, Name, Hash, Source, License string
	Size                                             int64
}

func (s *service) weights(args ...string) (all []listed) {
	s.t.Helper()
	require.NoError(s.t, json.Unmarshal([]byte(s.command(append([]string{"weights", "list", "--json"}, args...)...)), &all))
	return all
}

func TestWeightsAreStoredOnce(t *testing.T) {
	t.Parallel()
	s := start(t, comfyui.Options{})
	file, hash := weight(t, "base.safetensors", "the first weight")
	other, otherHash := weight(t, "base.safetensors", "other bytes")
	put := func(args ...string) []string {
		return append([]string{"weights", "put", "--folder", "checkpoints"}, args...)
	}

	out := s.command(put(file, "--license", "CC0", "--hash", hash)...)
	require.Contains(t, out, "checkpoints/base.safetensors is stored: 16 bytes, "+hash)
	require.Contains(t, s.command(put(file)...), "stored already, with the same bytes")
	first := s.weights()
	require.Len(t, first, 1)
	id := first[0].ID
	require.Equal(t, listed{id, "*", "checkpoints", "base.safetensors", hash, "base.safetensors", "CC0", 16}, first[0])
	require.Contains(t, s.fails(put(other)...), hash, "the name is taken, and the error has the hash of the file that has it")
	require.Contains(t, s.fails(put(other, "--name", "x.safetensors", "--hash", hash)...), otherHash)
	require.Len(t, s.weights(), 1, "what was refused is not stored")
	s.command(put(file, "--account", "local")...)
	require.Contains(t, s.fails("weights", "rm", "base.safetensors"), "2 weights are called")
	s.command("weights", "rm", "base.safetensors", "--account", "local", "--reason", "twice")

	for _, bad := range []string{"../x.safetensors", "/etc/x", `a\b`, "a\x00b", "a/../b", "a//b", ".hidden", "a/.hidden"} {
		require.Contains(t, s.fails(put(file, "--name", bad)...), "not usable", bad)
	}
	for _, bad := range []string{"../x", "a/b", ".x", "a b", ""} {
		require.Error(t, func() error { _, err := s.Command(t.Context(), "weights", "put", file, "--folder", bad); return err }(), bad)
	}
	require.Contains(t, s.fails(put(filepath.Dir(file))...), "not a regular file")
	require.Contains(t, s.fails(put(file+".none")...), "no such file")
	require.Contains(t, s.fails(put("http://127.0.0.1:1/x.safetensors")...), "only public https addresses")
	require.Contains(t, s.fails(put("https://user:password@example.com/x.safetensors")...), "no credentials")

	s.command(put(other, "--replace", "--reason", "a newer release")...)
	replaced := s.weights()
	require.Len(t, replaced, 1)
	require.Equal(t, otherHash, replaced[0].Hash)
	events := s.command("events", "list", "--type", "asset.", "--json")
	require.Contains(t, events, "a newer release")

	target := filepath.Join(t.TempDir(), "copy")
	s.command("weights", "get", "checkpoints/base.safetensors", "--output", target)
	raw, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "other bytes", string(raw))
	require.Contains(t, s.fails("weights", "get", "base.safetensors", "--output", target), "file exists")
	entries, err := os.ReadDir(filepath.Dir(target))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no part is left")

	status, body := s.do(http.MethodGet, "/admin/weights?account=all&folder=checkpoints", nil)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, otherHash)
	status, body = s.do(http.MethodPost, "/admin/weights", map[string]any{"url": file, "folder": "vae", "actor": "me", "reason": "test"})
	require.Equal(t, http.StatusBadRequest, status, "a request names no file of the service's machine: "+body)
	status, body = s.do(http.MethodPost, "/admin/weights", map[string]any{
		"url": "https://127.0.0.1/x.safetensors?token=secret", "folder": "vae", "actor": "me", "reason": "test",
	})
	require.Equal(t, http.StatusAccepted, status, body)
	var accepted struct{ Download struct{ ID string } }
	require.NoError(t, json.Unmarshal([]byte(body), &accepted))
	s.await("the end of the download", func() bool {
		return strings.Contains(s.get("/admin/weight-downloads/"+accepted.Download.ID), `"failed"`)
	})
	require.NotContains(t, s.command("events", "list", "--type", "download.", "--json"), "secret")
	status, body = s.do(http.MethodDelete, "/admin/weights/"+replaced[0].ID, map[string]any{"actor": "me", "reason": "test"})
	require.Equal(t, http.StatusOK, status, body)
	require.Empty(t, s.weights())
}
