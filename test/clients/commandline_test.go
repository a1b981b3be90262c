package clients_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// commandLine is comfy-cli from PyPI, in an environment of its own.
type commandLine struct {
	t       *testing.T
	dir     string
	program string
	env     []string
}

// newCommandLine installs the client with the versions in its requirements file.
func newCommandLine(t *testing.T) *commandLine {
	t.Helper()
	venv := pythonClient(t, "comfy-cli", "commandline/requirements.txt")
	l := &commandLine{t: t, dir: t.TempDir(), program: filepath.Join(venv, "bin/comfy")}
	l.env = append(os.Environ(), "HOME="+l.dir, "DO_NOT_TRACK=1", "XDG_CONFIG_HOME="+l.dir)
	return l
}

func (l *commandLine) file(name, content string) string {
	l.t.Helper()
	path := filepath.Join(l.dir, name)
	require.NoError(l.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// report is the output of a command of the client.
type report struct {
	OK    bool           `json:"ok"`
	Data  map[string]any `json:"data"`
	Error map[string]any `json:"error"`
}

func (l *commandLine) run(where string, args ...string) report {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), l.program,
		append([]string{"--skip-prompt", "--no-enable-telemetry"}, append(args, "--where", where)...)...)
	cmd.Env, cmd.Dir = l.env, l.dir
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, `{"schema": "envelope`) })
	require.GreaterOrEqual(l.t, at, 0, "%s: %v", out, err)
	var r report
	require.NoError(l.t, json.Unmarshal([]byte(lines[at]), &r))
	return r
}

// behindProxy returns the service for a client that does not use keys, as of a self-hosted runtime: a proxy adds the
// key.
func behindProxy(t *testing.T, base, key string) string {
	t.Helper()
	target, err := url.Parse(base)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Set("X-API-Key", key)
	}}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// local returns the service as a self-hosted runtime: the service itself if it needs no credential.
func (s *service) local(t *testing.T, key string) string {
	t.Helper()
	if s.mode == "none" {
		return s.Base
	}
	return behindProxy(t, s.Base, key)
}

// driveCommandLine uses the service with comfy-cli, both like the hosted service and like a self-hosted runtime:
// upload, run with and without waiting, show, download, cancel, fail.
func driveCommandLine(t *testing.T, s *service) {
	l := newCommandLine(t)
	for _, where := range []string{"cloud", "local"} {
		key := s.credential(t)
		l.env = append(l.env, "COMFY_CLOUD_BASE_URL="+s.Base, "COMFY_CLOUD_API_KEY="+key, "COMFY_LOCAL_URL="+s.local(t, key))

		sent := l.run(where, "upload", l.file("photo.png", string(tinyPNG(t))))
		require.True(t, sent.OK, sent.Error)
		name, _ := sent.Data["uploads"].([]any)[0].(map[string]any)["cloud_name"].(string)
		graph := `{"1":{"class_type":"LoadImage","inputs":{"image":"` + name + `"}},"2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},
			"9":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"cli"}}}`
		done := l.run(where, "run", "--wait", "--workflow", l.file("graph.json", graph))
		require.True(t, done.OK, done.Error)
		require.Equal(t, "completed", done.Data["status"])
		require.Contains(t, done.Data["outputs"].([]any)[0], "/view?filename=cli_")
		id, _ := done.Data["prompt_id"].(string)
		require.Equal(t, "completed", s.get(t, "/api/job/"+id+"/status", key)["status"])

		require.Equal(t, "completed", l.run(where, "jobs", "status", id).Data["status"])
		saved := l.run(where, "download", id, "--out-dir", filepath.Join(l.dir, where))
		require.True(t, saved.OK, saved.Error)
		path, _ := saved.Data["files"].([]any)[0].(map[string]any)["path"].(string)
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "\x89PNG", string(raw[:4]))

		long := l.run(where, "run", "--workflow", l.file("slow.json", slow))
		require.True(t, long.OK, long.Error)
		id, _ = long.Data["prompt_id"].(string)
		require.True(t, l.run(where, "jobs", "cancel", id).OK)
		s.await(t, key, id, "cancelled")

		failed := l.run(where, "run", "--wait", "--workflow", l.file("failing.json", failing))
		require.False(t, failed.OK)
		listed := l.run(where, "jobs", "ls")
		require.True(t, listed.OK, listed.Error)
		if s.mode == "keys" { // an account of its own
			require.InDelta(t, 3, listed.Data["count"], 0)
		}
		require.True(t, l.run(where, "nodes", "ls").OK)
		require.True(t, l.run(where, "system-stats").OK)
	}
}

// slow is a graph that takes minutes.
var slow = func() string {
	nodes := []string{`"0":{"class_type":"EmptyImage","inputs":{"width":4096,"height":4096,"batch_size":1,"color":255}}`}
	for i := 1; i <= 40; i++ {
		nodes = append(nodes, fmt.Sprintf(`"%d":{"class_type":"ImageBlur","inputs":{"image":["%d",0],"blur_radius":31,"sigma":10.0}}`, i, i-1))
	}
	return "{" + strings.Join(append(nodes, `"99":{"class_type":"SaveImage","inputs":{"images":["40",0],"filename_prefix":"slow"}}`), ",") +
		"}"
}()

// failing is a graph that passes validation and then needs more memory than a value may have.
const failing = `{"1":{"class_type":"EmptyImage","inputs":{"width":1,"height":1,"batch_size":1,"color":0}},
	"3":{"class_type":"RepeatImageBatch","inputs":{"image":["1",0],"amount":4096}},
	"4":{"class_type":"ImageScale","inputs":{"image":["3",0],"upscale_method":"lanczos","width":16384,"height":16384,"crop":"disabled"}},
	"9":{"class_type":"SaveImage","inputs":{"images":["4",0],"filename_prefix":"never"}}}`
