package servers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	enginenode "github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// passing is a class of servers that gives what run makes of the picture that it reads.
func passing(name string, run func(enginenode.Value) enginenode.Value) *enginenode.Class {
	return &enginenode.Class{
		Name: name, DisplayName: name, Category: "tests", Module: "custom_nodes.tests",
		Inputs: []enginenode.Input{{Name: "image", Type: enginenode.Image}}, Outputs: []enginenode.Output{{Type: enginenode.Image}},
		Run: func(_ context.Context, call *enginenode.Call) (enginenode.Result, error) {
			return enginenode.Result{Outputs: []enginenode.Value{run(call.Args["image"])}}, nil
		},
	}
}

// changing is a class of servers whose output has another type from one day to the next.
func changing(kind enginenode.Type, value enginenode.Value) *enginenode.Class {
	return &enginenode.Class{
		Name: "TestChanging", DisplayName: "Changing", Category: "tests", Module: "custom_nodes.tests",
		Inputs: []enginenode.Input{{Name: "text", Type: enginenode.String}}, Outputs: []enginenode.Output{{Type: kind}},
		Run: func(context.Context, *enginenode.Call) (enginenode.Result, error) {
			return enginenode.Result{Outputs: []enginenode.Value{value}}, nil
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

// injected matches the ids of the nodes that a prompt has besides those of the graph.
var injected = regexp.MustCompile(`millrace_*[0-9]+"`)

// What servers and clients give that cannot be used, or only just: each is a clear error, or a job that completes.
func TestBadInput(t *testing.T) {
	pass := passing("TestPass", func(v enginenode.Value) enginenode.Value { return v })
	block := passing("TestBlock", func(enginenode.Value) enginenode.Value { return enginenode.Blocker{} })
	options := comfyui.Options{
		Without: []string{"ImageInvert"}, Classes: []*enginenode.Class{pass, block},
		Checkpoints: []string{"random-sd15.safetensors"},
	}
	machines := []*comfyui.Machine{simulate(t, options), simulate(t, options)}
	t.Setenv("MILLRACE_COMFYUI_CREDENTIALS", machines[0].URL()+"/")
	s := serve(t, machines, "--comfyui", "ftp://somewhere")
	s.healthy(2)
	// It is read again by the minute; what it has by then is looked at in the end.
	late := passing("TestLate", func(v enginenode.Value) enginenode.Value { return v })
	require.NoError(t, machines[0].Server().Offer(late))
	offered := time.Now()

	t.Run("a server with a wrong certificate is refused", func(t *testing.T) {
		s := s.with(t)
		program, err := comfyui.New(comfyui.Options{})
		require.NoError(t, err)
		t.Cleanup(program.Close)
		secure := httptest.NewTLSServer(program)
		t.Cleanup(secure.Close)
		s.refused(secure.URL, "certificate")
		require.Contains(t, s.get("/admin/doctor"), "certificate")
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
				g["1"] = node("EmptyImage", map[string]any{"width": 64, "height": 64, "batch_size": 1, "color": 7 + int(fault)})
				id := s.submitWith(g, on(0))
				require.Contains(t, []string{"failed", "error"}, s.ended(id))
				said := s.get("/api/history/"+id) + s.get("/api/v2/jobs/"+id) + s.get("/api/jobs/"+id) + s.command("jobs", "events", id) + s.command("jobs", "show", id)
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
		g := graph{"1": node("SimPartner", map[string]any{"prompt": "a cat"})}
		with := func(i int) map[string]any {
			extra := on(i)
			extra["api_key_comfy_org"] = key
			return extra
		}
		named := s.submitWith(g, with(0))
		require.Equal(t, "completed", s.ended(named))
		require.Equal(t, []string{"signed in with " + strings.Repeat("*", len(key))}, s.shown(named), "the server was given it, and repeats it in vain")
		other := s.submitWith(g, with(1))
		require.Contains(t, []string{"failed", "error"}, s.ended(other), "the other one was not")
		require.Contains(t, s.get("/api/history/"+other), "Please login first")
		for _, id := range []string{named, other} {
			said := s.get("/api/history/"+id) + s.get("/api/v2/jobs/"+id) + s.get("/api/jobs/"+id) + s.command("jobs", "events", id, "--json") + s.command("jobs", "timeline", id)
			require.NotContains(t, said, key)
		}
		require.Empty(t, holding(t, s.data, key), "it is in no file of the service")
	})
	t.Run("a graph of 5,000 nodes runs", func(t *testing.T) {
		s := s.with(t)
		const nodes = 5000
		// With every message of a server comes the progress of all nodes: of so many, they are gigabytes.
		machines[1].Inject(comfyui.Mute, 1)
		id := s.submitWith(chained(nodes), on(1))
		require.Equal(t, "completed", s.ended(id))
		require.Len(t, s.images(id), 1)
		id = s.submitWith(chained(500), on(1))
		require.Equal(t, "completed", s.ended(id))
		require.Len(t, s.images(id), 1)
		status, body := s.do(http.MethodPost, "/api/prompt", map[string]any{"prompt": chained(nodes + 1)})
		require.Equal(t, http.StatusBadRequest, status, body)
	})
	t.Run("a file of 2 GiB is kept and takes no memory, a larger one than allowed is an error", s.with(t).large)
	t.Run("a job that was planned with another class is planned again, or says what does not fit", func(t *testing.T) {
		s := s.with(t)
		waiting := func(g graph) string {
			id := s.submitWith(g, on(1))
			s.await("that it waits", func() bool { return strings.Contains(s.command("jobs", "events", id), "segment_waiting") })
			return id
		}
		require.NoError(t, machines[1].Change(func(o *comfyui.Options) { o.Classes = append(o.Classes, changing(enginenode.String, "text")) }))
		s.await("the class", func() bool { return strings.Contains(s.get("/api/object_info/TestChanging"), "STRING") })
		s.command("servers", "drain", machines[1].URL(), "--reason", "a test")
		fits := waiting(graph{"1": node("TestChanging", map[string]any{"text": "a"}), "2": node("PreviewAny", map[string]any{"source": []any{"1", 0}})})
		fitsNot := waiting(graph{
			"1": node("TestChanging", map[string]any{"text": "a"}), "3": node("PreviewAny", map[string]any{"source": []any{"2", 0}}),
			"2": node("StringConcatenate", map[string]any{"string_a": []any{"1", 0}, "string_b": "b", "delimiter": ""}),
		})
		require.NoError(t, machines[1].Change(func(o *comfyui.Options) { o.Classes[len(o.Classes)-1] = changing(enginenode.Float, 7.5) }))
		s.await("the class of now", func() bool { return strings.Contains(s.get("/api/object_info/TestChanging"), `"output":["FLOAT"]`) })
		s.command("servers", "resume", machines[1].URL(), "--reason", "a test")
		require.Equal(t, "completed", s.ended(fits))
		require.Equal(t, []string{"7.5"}, s.shown(fits))
		require.Contains(t, []string{"failed", "error"}, s.ended(fitsNot))
		require.Contains(t, s.get("/api/history/"+fitsNot), "have changed")
	})
	t.Run("the classes of a server are read again by the minute", func(t *testing.T) {
		s := s.with(t)
		s.await("the class", func() bool { return strings.Contains(s.get("/api/object_info/TestLate"), "IMAGE") })
		t.Logf("known %s after it was offered first", time.Since(offered).Round(time.Second))
	})
}

// listedServer is a server as operators see it.
type listedServer struct{ ID, URL, State, Problem string }

// server returns a server as `servers list --json` lists it.
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

// refused registers a server that cannot be used, waits until it is listed with the reason, and removes it.
func (s *service) refused(address, reason string) {
	s.t.Helper()
	s.command("servers", "add", address, "--reason", "a test")
	s.t.Cleanup(func() { s.command("servers", "remove", address, "--reason", "a test") })
	s.await("the reason why "+address+" is refused", func() bool {
		listed := s.server(address)
		return listed.State == "refused" && strings.Contains(listed.Problem, reason)
	})
	require.Contains(s.t, s.command("servers", "list"), reason)
}

// crossing is a graph of which a picture crosses to a server, to a class there, and back.
func crossing(class string) graph {
	return graph{
		"1": node("EmptyImage", map[string]any{"width": 64, "height": 64, "batch_size": 1, "color": 255}),
		"8": node("ImageInvert", map[string]any{"image": []any{"1", 0}}),
		"2": node(class, map[string]any{"image": []any{"8", 0}}),
		"9": node("ImageInvert", map[string]any{"image": []any{"2", 0}}),
		"7": node("SaveImage", map[string]any{"images": []any{"9", 0}, "filename_prefix": "crossed"}),
	}
}

// chained is a graph of so many nodes for a server, most of which read the one before.
func chained(nodes int) graph {
	g := text2img(1, 1)
	last := "5"
	for i := len(g); i < nodes; i++ {
		id := fmt.Sprint("s", i)
		sampler := map[string]any{}
		for name, value := range g["5"].(map[string]any)["inputs"].(map[string]any) {
			sampler[name] = value
		}
		sampler["latent_image"], sampler["seed"] = []any{last, 0}, i
		g[id], last = node("KSampler", sampler), id
	}
	g["6"] = node("VAEDecode", map[string]any{"samples": []any{last, 0}, "vae": []any{"1", 2}})
	return g
}

// holding returns the files below a folder that hold a text, among those that a service writes itself.
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

const (
	largeFile = 2 << 30
	// mostMemory is what a file of any size may add to the memory in use: buffers, and what else goes on.
	mostMemory = 256 << 20
)

// large runs jobs whose pictures are larger than memory should be.
func (s *service) large(t *testing.T) {
	s = s.with(t)
	runtime.GC()
	watched := make(chan uint64, 1)
	ctx, stop := context.WithCancel(t.Context())
	before := heap()
	go func() {
		peak := before
		for ctx.Err() == nil {
			peak = max(peak, heap())
			time.Sleep(20 * time.Millisecond) // between two samples
		}
		watched <- peak
	}()
	s.machines[0].Inject(comfyui.LargeFile, 1)
	id := s.submitWith(text2img(500, 1), on(0))
	require.Equal(t, "completed", s.ended(id))
	stop()
	peak := <-watched
	t.Logf("memory in use: %d MiB before, at most %d MiB", before>>20, peak>>20)
	require.Less(t, peak, before+mostMemory)
	require.Equal(t, int64(largeFile), s.size(id))

	s.machines[0].Inject(comfyui.OversizeFile, comfyui.Always)
	defer s.machines[0].Clear()
	id = s.submitWith(text2img(501, 1), on(0))
	require.Contains(t, []string{"failed", "error"}, s.ended(id))
	require.Contains(t, s.get("/api/history/"+id), "is larger than 4294967296 bytes")
	require.Empty(t, s.images(id))
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// size returns the size of the one picture of a job, which it reads to its end.
func (s *service) size(id string) int64 {
	s.t.Helper()
	var history map[string]struct {
		Outputs map[string]struct {
			Images []struct{ Filename, Subfolder, Type string }
		}
	}
	require.NoError(s.t, json.Unmarshal([]byte(s.get("/api/history/"+id)), &history))
	im := history[id].Outputs["7"].Images[0]
	query := url.Values{"filename": {im.Filename}, "subfolder": {im.Subfolder}, "type": {im.Type}}
	res, err := http.Get(s.base + "/api/view?" + query.Encode())
	require.NoError(s.t, err)
	defer res.Body.Close()
	require.Equal(s.t, http.StatusOK, res.StatusCode)
	n, err := io.Copy(io.Discard, res.Body)
	require.NoError(s.t, err)
	return n
}
