package servers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	enginenode "github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// changing is a class of servers whose output type changes.
func changing(kind enginenode.Type, value enginenode.Value) *enginenode.Class {
	return &enginenode.Class{
		Name: "TestChanging", DisplayName: "Changing", Category: "tests", Module: "custom_nodes.tests",
		Inputs: []enginenode.Input{{Name: "text", Type: enginenode.String}}, Outputs: []enginenode.Output{{Type: kind}},
		Run: func(context.Context, *enginenode.Call) (enginenode.Result, error) {
			return enginenode.Result{Outputs: []enginenode.Value{value}}, nil
		},
	}
}

// largeEnv enables the test with a file of 2 GiB and the default bound of 4 GiB.
const largeEnv = "MILLRACE_TEST_LARGE_FILES"

// Files and graphs of the maximum size and above, and classes that change while jobs wait.
func TestLimits(t *testing.T) {
	size, most, arguments := int64(192<<20), int64(256<<20), []string{"--max-output", strconv.Itoa(256 << 20)}
	if os.Getenv(largeEnv) != "" {
		size, most, arguments = 2<<30, 4<<30, nil
	}
	pass := passing("TestPass", func(v enginenode.Value) enginenode.Value { return v })
	without := []string{"StringConcatenate"} // which runs locally
	machines := []*comfyui.Machine{
		simulate(t, comfyui.Options{Without: without, Classes: []*enginenode.Class{pass}, LargeFile: size}),
		simulate(t, comfyui.Options{Without: without, Classes: []*enginenode.Class{changing(enginenode.String, "text")}}),
	}
	s := serve(t, nil, machines, arguments...)
	s.healthy(2)
	// The class is read again every minute; its new definition is checked at the end.
	late := passing("TestLate", func(v enginenode.Value) enginenode.Value { return v })
	require.NoError(t, machines[0].Server().Offer(late))
	offered := time.Now()

	t.Run("a large file is kept and takes no memory", func(t *testing.T) { s.with(t).large(size) })
	t.Run("a file that is larger than allowed is an error", func(t *testing.T) { s.with(t).oversize(most) })
	t.Run("a graph of 5,000 nodes runs as one prompt", func(t *testing.T) { s.with(t).fiveThousand() })
	t.Run("the classes of a server are read again by the minute", func(t *testing.T) {
		s := s.with(t)
		s.await("the class", func() bool { return strings.Contains(s.get("/api/object_info/TestLate"), "IMAGE") })
		t.Logf("known %s after it was offered first", time.Since(offered).Round(time.Second))
	})
	t.Run("a job is planned again when a class changed, or says what does not fit", func(t *testing.T) { s.with(t).reclassed(machines[1]) })
}

// largeMemory bounds the additional memory for a file of any size: buffers, and concurrent work.
const largeMemory = 96 << 20

// large runs a job whose picture is larger than the memory that may be used.
func (s *service) large(size int64) {
	t := s.t
	runtime.GC()
	before, watched := heap(), make(chan uint64, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		peak := before
		for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			peak = max(peak, heap())
		}
		watched <- peak
	}()
	s.machines[0].Inject(comfyui.LargeFile, comfyui.Always) // a driver that takes over the segment copies the file again
	defer s.machines[0].Clear()
	id := s.submitWith(served.Text2Img(500, 1), on(0))
	require.Equal(t, "completed", s.ended(id))
	require.InDelta(t, size, s.size(id), 64<<10, "the metadata is another")
	stop()
	peak := <-watched
	t.Logf("memory in use: %d MiB before, at most %d MiB", before>>20, peak>>20)
	require.Less(t, peak, before+largeMemory)
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// size returns the size of the only picture of a job, which it reads to its end.
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
	res, err := http.Get(s.Base + "/api/view?" + query.Encode())
	require.NoError(s.t, err)
	defer res.Body.Close()
	require.Equal(s.t, http.StatusOK, res.StatusCode)
	n, err := io.Copy(io.Discard, res.Body)
	require.NoError(s.t, err)
	return n
}

// oversize runs a job whose picture exceeds the operator's limit.
func (s *service) oversize(most int64) {
	s.machines[0].Inject(comfyui.OversizeFile, comfyui.Always)
	defer s.machines[0].Clear()
	id := s.submitWith(served.Text2Img(501, 1), on(0))
	require.Contains(s.t, []string{"failed", "error"}, s.ended(id))
	require.Contains(s.t, s.get("/api/history/"+id), fmt.Sprintf("is larger than %d bytes", most))
	require.Empty(s.t, s.images(id))
}

// fiveThousand runs a graph of the maximum number of nodes. The server sends no states while it runs; like the
// original, it would repeat the state of all nodes with each. The second time, it has all nodes but the last in its
// cache, and reports this.
func (s *service) fiveThousand() {
	const nodes = 5000
	chain := func(n int, prefix string) served.Graph {
		g := served.Graph{"1": served.Node("EmptyImage", map[string]any{"width": 8, "height": 8, "batch_size": 1, "color": 255})}
		for i := 2; i < n; i++ {
			g[strconv.Itoa(i)] = served.Node("TestPass", map[string]any{"image": []any{strconv.Itoa(i - 1), 0}})
		}
		g[strconv.Itoa(n)] = served.Node("SaveImage", map[string]any{"images": []any{strconv.Itoa(n - 1), 0}, "filename_prefix": prefix})
		return g
	}
	m := s.machines[0]
	for run := range 2 {
		if run == 0 {
			m.Inject(comfyui.Mute, 1)
		}
		before := len(m.Runs())
		id := s.submitWith(chain(nodes, fmt.Sprint("long", run)), on(0))
		require.Equal(s.t, "completed", s.ended(id))
		require.Len(s.t, s.images(id), 1)
		require.Len(s.t, m.Runs(), before+1)
		require.Len(s.t, m.Runs()[before].Nodes, []int{nodes, 1}[run])
		require.Len(s.t, s.cached(id), []int{0, nodes - 1}[run], "what the server had in its cache")
	}
	status, body := s.do(http.MethodPost, "/api/prompt", map[string]any{"prompt": chain(nodes+1, "longer")})
	require.Equal(s.t, http.StatusBadRequest, status)
	require.Contains(s.t, body, "5000")
}

// cached returns the nodes of a job that were answered from a cache, according to its history.
func (s *service) cached(id string) []string {
	s.t.Helper()
	var history map[string]struct {
		Status struct{ Messages [][2]json.RawMessage }
	}
	require.NoError(s.t, json.Unmarshal([]byte(s.get("/api/history/"+id)), &history))
	var nodes []string
	for _, m := range history[id].Status.Messages {
		var data struct{ Nodes []string }
		if string(m[0]) == `"execution_cached"` {
			require.NoError(s.t, json.Unmarshal(m[1], &data))
			nodes = append(nodes, data.Nodes...)
		}
	}
	return nodes
}

// reclassed runs two jobs that wait for a server which returns with a changed class: it fits one job, and a value of
// the other could no longer leave the server.
func (s *service) reclassed(m *comfyui.Machine) {
	t := s.t
	waiting := func(g served.Graph) string {
		id := s.submitWith(g, on(1))
		s.await("that it waits", func() bool { return strings.Contains(s.command("jobs", "events", id), "segment_waiting") })
		return id
	}
	m.Kill()
	s.await("that it is away", func() bool { return s.server(m.URL()).State == "away" })
	fits := waiting(served.Graph{
		"1": served.Node("TestChanging", map[string]any{"text": "a"}),
		"2": served.Node("PreviewAny", map[string]any{"source": []any{"1", 0}}),
	})
	fitsNot := waiting(served.Graph{
		"1": served.Node("TestChanging", map[string]any{"text": "a"}), "3": served.Node("PreviewAny", map[string]any{"source": []any{"2", 0}}),
		"2": served.Node("StringConcatenate", map[string]any{"string_a": []any{"1", 0}, "string_b": "b", "delimiter": ""}),
	})
	require.NoError(t, m.Change(func(o *comfyui.Options) { o.Classes = []*enginenode.Class{changing("MODEL", 7.5)} }))
	require.Equal(t, "completed", s.ended(fits))
	require.Equal(t, []string{"7.5"}, s.shown(fits))
	require.Contains(t, []string{"failed", "error"}, s.ended(fitsNot))
	require.Regexp(t, "the classes of the servers have changed.*MODEL", s.get("/api/history/"+fitsNot))
}
