package servers_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/test/served"
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

// large writes a weight of random bytes.
func large(t *testing.T, name string, size int) (path, content string) {
	t.Helper()
	b := make([]byte, size)
	_, err := rand.Read(b)
	require.NoError(t, err)
	path, _ = weight(t, name, string(b))
	return path, string(b)
}

// loading is a graph that loads a checkpoint.
func loading(checkpoint string) served.Graph {
	g := served.Text2Img(1, 1)
	g["1"] = served.Node("CheckpointLoaderSimple", map[string]any{"ckpt_name": checkpoint})
	return g
}

// brought returns the events of weights that servers got, by their names.
func (s *service) brought() map[string][]broughtEvent {
	s.t.Helper()
	var answer struct {
		Events []struct{ Data broughtEvent }
	}
	raw := s.command("events", "list", "--type", "server.weight_brought", "--json", "--limit", "100")
	require.NoError(s.t, json.Unmarshal([]byte(raw), &answer), raw)
	all := map[string][]broughtEvent{}
	for _, e := range answer.Events {
		all[e.Data.Name] = append(all[e.Data.Name], e.Data)
	}
	return all
}

type broughtEvent struct {
	Name, Way  string
	Size, Sent int64
	Removed    []string
}

// waits waits until a job says that it waits for a reason.
func (s *service) waits(id, reason string) {
	s.t.Helper()
	s.await("a job that waits: "+reason, func() bool { return strings.Contains(s.get("/api/job/"+id+"/status"), reason) })
}

// smallDisk returns a folder of a file system of its own.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small file system needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// Two servers share a small disk for models, on which Millrace puts what their segments need.
func TestWeightsAreBroughtToTheServersThatNeedThem(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "1m")
	first, second := simulate(t, comfyui.Options{Models: dir}), simulate(t, comfyui.Options{Models: dir})
	unreached := simulate(t, comfyui.Options{})
	s := serve(t, settings{"MILLRACE_DISK_RESERVE": "0"}, nil, "--comfyui", first.URL()+",label=server-0,models="+dir,
		"--comfyui", second.URL()+",label=server-1,models="+dir, "--comfyui", unreached.URL()+",label=server-2")
	checkpoints := filepath.Join(dir, "checkpoints")

	refused := func(checkpoint string, extra map[string]any) string {
		status, body := s.do(http.MethodPost, "/api/prompt", map[string]any{"prompt": loading(checkpoint), "extra_data": extra})
		require.Equal(t, http.StatusBadRequest, status, body)
		return body
	}
	require.Contains(t, refused("one.safetensors", nil), "value_not_in_list")
	drawn := map[string]any{"nodes": []any{map[string]any{"properties": map[string]any{"models": []any{
		map[string]any{"name": "one.safetensors", "url": "https://example.com/one.safetensors", "directory": "checkpoints"},
	}}}}}
	require.Contains(t, refused("one.safetensors", map[string]any{"extra_pnginfo": map[string]any{"workflow": drawn}}),
		"the file is at https://example.com/one.safetensors and belongs in the folder checkpoints")
	one, content := large(t, "one.safetensors", 300<<10)
	s.command("weights", "put", one, "--folder", "checkpoints")
	require.Contains(t, refused("one.safetensors", on(2)), "reaches the models folder of no server")
	for i := range 2 {
		require.Equal(t, "completed", s.ended(s.submitWith(loading("one.safetensors"), on(i))))
	}
	raw, err := os.ReadFile(filepath.Join(checkpoints, "one.safetensors"))
	require.NoError(t, err)
	require.Equal(t, content, string(raw))
	require.Equal(t, []broughtEvent{{Name: "one.safetensors", Way: "copy", Size: 300 << 10, Sent: 300 << 10}}, s.brought()["one.safetensors"],
		"the servers share the folder, so the bytes are sent once")
	require.Contains(t, s.command("weights", "where", "one.safetensors"), "ready")

	// A weight for another folder does not pass for a checkpoint.
	two, _ := large(t, "two.safetensors", 300<<10)
	s.command("weights", "put", two, "--folder", "loras")
	require.Contains(t, refused("two.safetensors", nil), "value_not_in_list")
	s.command("weights", "put", two, "--folder", "checkpoints", "--name", "sub/two.safetensors", "--account", "local")

	// Something else has the name on the server: it is never overwritten.
	clash := filepath.Join(checkpoints, "sub", "two.safetensors")
	require.NoError(t, os.MkdirAll(clash, 0o700))
	job := s.submit(loading("sub/two.safetensors"))
	s.waits(job, "the server has another file with this name in its folder checkpoints")
	require.Contains(t, s.command("servers", "list"), "another file with this name")
	require.NoError(t, os.Remove(clash))
	require.Equal(t, "completed", s.ended(job))

	// The disk is full: what was brought and used longest ago makes space, and nothing else does.
	own := filepath.Join(checkpoints, "own.safetensors")
	require.NoError(t, os.WriteFile(own, make([]byte, 200<<10), 0o600))
	three, _ := large(t, "three.safetensors", 350<<10)
	s.command("weights", "put", three, "--folder", "checkpoints")
	require.Equal(t, "completed", s.ended(s.submit(loading("three.safetensors"))))
	require.Equal(t, []string{"checkpoints/one.safetensors"}, s.brought()["three.safetensors"][0].Removed)
	require.NoFileExists(t, filepath.Join(checkpoints, "one.safetensors"))
	require.FileExists(t, own)
	four, _ := large(t, "four.safetensors", 900<<10)
	s.command("weights", "put", four, "--folder", "checkpoints")
	job = s.submit(loading("four.safetensors"))
	s.waits(job, "too little space")
	require.FileExists(t, own, "a file that was not brought stays")
	require.NoError(t, os.Remove(own))
	require.Equal(t, "completed", s.ended(job), "as soon as there is space")

	// The stored bytes are damaged: no server gets them under the name.
	five, content := large(t, "five.safetensors", 100<<10)
	s.command("weights", "put", five, "--folder", "checkpoints")
	hash := blob.Sum([]byte(content)).Hex()
	stored := filepath.Join(s.Data, "blobs", "blobs", hash[:2], hash)
	s.await("the verification of the upload", func() bool {
		return strings.Contains(s.command("events", "list", "--type", "asset.verified", "--json"), `"size": 102400`)
	})
	require.NoError(t, os.WriteFile(stored, make([]byte, 100<<10), 0o600))
	job = s.submit(loading("five.safetensors"))
	s.waits(job, "was not brought")
	require.NoFileExists(t, filepath.Join(checkpoints, "five.safetensors"))
	failures := s.command("events", "list", "--type", "server.weight_failed", "--json")
	require.Equal(t, 1, strings.Count(failures, "another file with this name"), "a problem is recorded once")
	require.NotContains(t, failures, dir, "problems have no paths")
	s.command("weights", "put", five, "--folder", "checkpoints", "--replace")
	require.Equal(t, "completed", s.ended(job), "the bytes were stored again")
	entries, err := filepath.Glob(filepath.Join(checkpoints, ".*"))
	require.NoError(t, err)
	require.Empty(t, entries, "no part is left")
	s.fetchesWeights()
}

// fetchesWeights checks servers whose node pack fetches weights, since Millrace does not reach their folders.
func (s *service) fetchesWeights() {
	t := s.t
	t.Helper()
	for i, o := range []comfyui.Options{{NoBLAKE3: true}, {}} {
		o.Pack, o.Models = true, smallDisk(t, "5m")
		m, checkpoints, label := simulate(t, o), filepath.Join(o.Models, "checkpoints"), fmt.Sprintf("server-%d", 3+i)
		s.command("servers", "add", m.URL(), "--label", label, "--reason", "test")
		name := fmt.Sprintf("sub/fetched%d.safetensors", i)
		path, content := large(t, "fetched.safetensors", 3<<20)
		s.command("weights", "put", path, "--folder", "checkpoints", "--name", name)
		submission := map[string]any{"prompt": loading(name), "extra_data": on(3 + i)}
		s.await("a job for the server to be accepted", func() bool {
			status, _ := s.do(http.MethodPost, "/api/prompt", submission)
			return status == http.StatusOK
		})
		require.Equal(t, "completed", s.ended(s.queue(submission)))
		raw, err := os.ReadFile(filepath.Join(checkpoints, name))
		require.NoError(t, err)
		require.True(t, content == string(raw), "the content of the file")
		require.Equal(t, []broughtEvent{{Name: name, Way: "fetch", Size: 3 << 20, Sent: 3 << 20}}, s.brought()[name], "the bytes are sent once")
		require.Contains(t, s.command("weights", "where", name), m.URL())

		// The disk is full: the server removes what it has fetched and no segment uses.
		next := fmt.Sprintf("next%d.safetensors", i)
		path, _ = large(t, next, 3<<20)
		s.command("weights", "put", path, "--folder", "checkpoints")
		require.Equal(t, "completed", s.ended(s.submitWith(loading(next), on(3+i))))
		require.Equal(t, []string{"checkpoints/" + name}, s.brought()[next][0].Removed)
		require.NoFileExists(t, filepath.Join(checkpoints, name))
		require.NotContains(t, s.command("weights", "where", name), m.URL())
		require.Equal(t, "completed", s.ended(s.submitWith(loading(name), on(3+i))), "it is fetched again")
	}

	// A weight of another account is not fetched.
	s.command("accounts", "create", "acme", "--tier", "pro")
	path, _ := large(t, "foreign.safetensors", 100)
	s.command("weights", "put", path, "--folder", "checkpoints", "--account", "acme")
	status, body := s.do(http.MethodPost, "/api/prompt", map[string]any{"prompt": loading("foreign.safetensors"), "extra_data": on(3)})
	require.Equal(t, http.StatusBadRequest, status, body)
	require.Contains(t, body, "value_not_in_list")
}
