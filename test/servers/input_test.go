package servers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	enginenode "github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// passing is a class of servers that returns the result of run for the picture that it reads.
func passing(name string, run func(enginenode.Value) enginenode.Value) *enginenode.Class {
	return &enginenode.Class{
		Name: name, DisplayName: name, Category: "tests", Module: "custom_nodes.tests",
		Inputs: []enginenode.Input{{Name: "image", Type: enginenode.Image}}, Outputs: []enginenode.Output{{Type: enginenode.Image}},
		Run: func(_ context.Context, call *enginenode.Call) (enginenode.Result, error) {
			return enginenode.Result{Outputs: []enginenode.Value{run(call.Args["image"])}}, nil
		},
	}
}

// shown returns the texts that the nodes of a job showed.
func (s *service) shown(id string) (texts []string) {
	s.t.Helper()
	var history map[string]struct {
		Outputs map[string]struct{ Text []string }
	}
	require.NoError(s.t, json.Unmarshal([]byte(s.get("/api/history/"+id)), &history))
	for _, out := range history[id].Outputs {
		texts = append(texts, out.Text...)
	}
	return texts
}

// injected matches the ids of added nodes of a prompt.
var injected = regexp.MustCompile(`millrace_*[0-9]+"`)

// Unusable and borderline inputs of servers and clients: each gives a clear error, or a job that completes.
func TestBadInput(t *testing.T) {
	t.Parallel()
	pass := passing("TestPass", func(v enginenode.Value) enginenode.Value { return v })
	block := passing("TestBlock", func(enginenode.Value) enginenode.Value { return enginenode.Blocker{} })
	options := comfyui.Options{
		Without: []string{"ImageInvert"}, Classes: []*enginenode.Class{pass, block},
		Checkpoints: []string{"random-sd15.safetensors"},
	}
	machines := []*comfyui.Machine{simulate(t, options), simulate(t, options)}
	s := serve(t, settings{"MILLRACE_COMFYUI_CREDENTIALS": machines[0].URL() + "/"}, machines, "--comfyui", "ftp://somewhere")
	s.healthy(2)

	t.Run("a server with a wrong certificate is refused", func(t *testing.T) {
		s := s.with(t)
		program, err := comfyui.New(comfyui.Options{})
		require.NoError(t, err)
		t.Cleanup(program.Close)
		secure := httptest.NewTLSServer(program)
		t.Cleanup(secure.Close)
		s.refused(secure.URL, "certificate", func() { require.Contains(t, s.get("/admin/doctor"), "certificate") })
	})
	t.Run("a server that is not ComfyUI is refused", func(t *testing.T) {
		other := httptest.NewServer(http.FileServer(http.Dir(t.TempDir())))
		t.Cleanup(other.Close)
		s.with(t).refused(other.URL, "not ComfyUI")
	})
	t.Run("a server that is too old is refused with its version", func(t *testing.T) {
		s.with(t).refused(simulate(t, comfyui.Options{Version: "0.2.1"}).URL(), "0.2.1")
	})
	t.Run("an address in the configuration that cannot be used is listed", func(t *testing.T) {
		s := s.with(t)
		s.await("the reason", func() bool {
			listed := s.server("ftp://somewhere")
			return listed.State == "refused" && listed.Problem != ""
		})
	})
	t.Run("classes are compared with the servers that answer", func(t *testing.T) {
		s := s.with(t)
		require.Contains(t, s.command("nodes", "diff", "--server", machines[0].URL()), "1 servers")
		away := simulate(t, comfyui.Options{})
		away.Kill()
		out, err := served.Command(t.Context(), os.LookupEnv, "nodes", "diff", "--server", away.URL(), "--server", machines[0].URL())
		require.ErrorContains(t, err, away.URL(), "the one that does not answer is named")
		require.Contains(t, out, "1 servers", "the other one is compared")
	})
	t.Run("a blocked value keeps what reads it from running", func(t *testing.T) {
		s := s.with(t)
		id := s.submit(crossing("TestBlock"))
		require.Equal(t, "completed", s.ended(id))
		require.Empty(t, s.images(id))
		id = s.submit(crossing("TestPass"))
		require.Equal(t, "completed", s.ended(id))
		require.Len(t, s.images(id), 1)
	})
	t.Run("an error of a node that was added names one of the graph", func(t *testing.T) {
		for name, fault := range map[string]comfyui.Fault{"while it runs": comfyui.UnreadableInput, "when it is submitted": comfyui.LostInput} {
			t.Run(name, func(t *testing.T) {
				s := s.with(t)
				machines[0].Inject(fault, comfyui.Always)
				defer machines[0].Clear()
				g := crossing("TestPass")
				g["1"] = served.Node("EmptyImage", map[string]any{"width": 64, "height": 64, "batch_size": 1, "color": 7 + int(fault)})
				id := s.submitWith(g, on(0))
				require.Contains(t, []string{"failed", "error"}, s.ended(id))
				said := s.get("/api/history/"+id) + s.get("/api/v2/jobs/"+id) + s.get("/api/jobs/"+id) + s.command("jobs", "events", id) +
					s.command("jobs", "show", id)
				require.NotRegexp(t, injected, said)
				require.NotContains(t, said, "/home/")
				var history map[string]struct {
					Status struct{ Messages [][]json.RawMessage }
				}
				require.NoError(t, json.Unmarshal([]byte(s.get("/api/history/"+id)), &history))
				require.Regexp(t, `"node_id":\s*"2"`, fmt.Sprintf("%s", history[id].Status.Messages), "it names the node that reads the value")
			})
		}
	})
	t.Run("only the server that the operator named is given a credential of Comfy.org", func(t *testing.T) {
		s := s.with(t)
		const key = "comfyui-0123456789abcdef0123456789"
		g := served.Graph{"1": served.Node("SimPartner", map[string]any{"prompt": "a cat"})}
		with := func(i int) map[string]any {
			extra := on(i)
			extra["api_key_comfy_org"] = key
			return extra
		}
		named := s.submitWith(g, with(0))
		require.Equal(t, "completed", s.ended(named))
		require.Equal(t, []string{"signed in with " + strings.Repeat("*", len(key))}, s.shown(named),
			"the server was given it, and repeats it in vain")
		other := s.submitWith(g, with(1))
		require.Contains(t, []string{"failed", "error"}, s.ended(other), "the other one was not")
		require.Contains(t, s.get("/api/history/"+other), "Please login first")
		for _, id := range []string{named, other} {
			said := s.get("/api/history/"+id) + s.get("/api/v2/jobs/"+id) + s.get("/api/jobs/"+id) + s.command("jobs", "events", id, "--json") +
				s.command("jobs", "timeline", id)
			require.NotContains(t, said, key)
		}
		require.Empty(t, holding(t, s.Data, key), "it is in no file of the service")
	})
}

// listedServer is a server in the list for operators.
type listedServer struct{ ID, URL, State, Problem string }

// server returns a server from the output of `servers list --json`.
func (s *service) server(address string) (found listedServer) {
	s.t.Helper()
	var all []listedServer
	require.NoError(s.t, json.Unmarshal([]byte(s.command("servers", "list", "--json")), &all))
	for _, one := range all {
		if one.URL == address {
			found = one
		}
	}
	return found
}

// refused registers a server that cannot be used, waits until it is listed with the reason, runs further checks, and
// removes it.
func (s *service) refused(address, reason string, more ...func()) {
	s.t.Helper()
	s.command("servers", "add", address, "--reason", "a test")
	s.await("the reason why "+address+" is refused", func() bool {
		listed := s.server(address)
		return listed.State == "refused" && strings.Contains(listed.Problem, reason)
	})
	require.Contains(s.t, s.command("servers", "list"), reason)
	for _, check := range more {
		check()
	}
	s.command("servers", "remove", address, "--reason", "a test")
}

// crossing is a graph in which a picture moves to a server, to a local class, and back.
func crossing(class string) served.Graph {
	return served.Graph{
		"1": served.Node("EmptyImage", map[string]any{"width": 64, "height": 64, "batch_size": 1, "color": 255}),
		"8": served.Node("ImageInvert", map[string]any{"image": []any{"1", 0}}),
		"2": served.Node(class, map[string]any{"image": []any{"8", 0}}),
		"9": served.Node("ImageInvert", map[string]any{"image": []any{"2", 0}}),
		"7": served.Node("SaveImage", map[string]any{"images": []any{"9", 0}, "filename_prefix": "crossed"}),
	}
}

// holding returns the files below a folder that contain a text, among those that a service writes itself.
func holding(t *testing.T, root, text string) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // files of the running service come and go
		}
		raw, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(raw), text) {
			found = append(found, path)
		}
		return nil
	}))
	return found
}
