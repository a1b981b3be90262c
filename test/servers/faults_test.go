package servers_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// victim waits until one of the machines runs a prompt, and returns it.
func (s *service) victim() (victim *comfyui.Machine) {
	s.t.Helper()
	s.await("a prompt that runs on one of the servers", func() bool {
		for _, m := range s.machines {
			if running(m) {
				victim = m
			}
		}
		return victim != nil
	})
	return victim
}

// healthy waits until the given number of servers is available.
func (s *service) healthy(n int) {
	s.t.Helper()
	s.await("servers that answer", func() bool {
		return strings.Count(s.get("/admin/servers"), `"state":"healthy"`) == n
	})
}

// Whatever a server does, a job that runs there completes, there or elsewhere, and its picture exists once.
func TestJobsSurviveBadServers(t *testing.T) {
	t.Parallel()
	s := startWith(t, settings{"MILLRACE_COMFYUI_SILENCE": "6s"},
		comfyui.Options{Step: 20 * time.Millisecond}, comfyui.Options{Step: 20 * time.Millisecond})
	seed := 100
	for _, c := range []struct {
		name  string
		begin func(*comfyui.Machine) // during the run
	}{
		{"a server that gives no sign of life", (*comfyui.Machine).Freeze},
		{"a server that answers garbage", func(m *comfyui.Machine) { m.Inject(comfyui.Garbage, comfyui.Always) }},
		{"a server that redirects elsewhere", func(m *comfyui.Machine) { m.Inject(comfyui.Redirect, comfyui.Always) }},
		{"a server that answers with errors", func(m *comfyui.Machine) { m.Inject(comfyui.Broken, comfyui.Always) }},
		{"a server that sends half a file", func(m *comfyui.Machine) { m.Inject(comfyui.HalfFile, 1) }},
		{"a server that forgets a prompt", func(m *comfyui.Machine) { m.Inject(comfyui.Forget, 1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := s.with(t)
			s.healthy(2)
			seed++
			id := s.submit(served.Text2Img(seed, 60))
			victim := s.victim()
			c.begin(victim)
			require.Equal(t, "completed", s.ended(id))
			require.Len(t, s.images(id), 1)
			victim.Thaw()
			victim.Clear()
			s.healthy(2)
		})
	}
	t.Run("a server that takes a prompt twice", func(t *testing.T) {
		s := s.with(t)
		for _, m := range s.machines {
			m.Inject(comfyui.Duplicate, 1)
		}
		id := s.submit(served.Text2Img(200, 5))
		require.Equal(t, "completed", s.ended(id))
		require.Len(t, s.images(id), 1)
		for _, m := range s.machines {
			m.Clear()
		}
	})
	t.Run("a server with classes whose names cannot be used", func(t *testing.T) {
		s := s.with(t)
		s.healthy(2)
		underWay := s.submit(served.Text2Img(250, 60))
		bad := s.machines[0]
		bad.Inject(comfyui.Garbage, comfyui.Always) // its classes are read again when it returns
		s.healthy(1)
		bad.Clear()
		bad.Inject(comfyui.NamelessClass, comfyui.Always)
		bad.Inject(comfyui.HostileClasses, comfyui.Always)
		s.healthy(2)
		require.Equal(t, "completed", s.ended(underWay))
		require.Equal(t, "completed", s.ended(s.submit(served.Text2Img(251, 5))))
		s.await("the classes to be named", func() bool {
			listed := s.command("servers", "list")
			return strings.Contains(listed, "a class has no name") && strings.Contains(listed, "4 of ") &&
				strings.Contains(s.get("/admin/servers"), "a class has no name")
		})
		var offered map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(s.get("/api/object_info")), &offered))
		require.Contains(t, offered, "KSampler")
		require.Contains(t, offered, "../../x", "text is a name, whatever it looks like")
		require.NotContains(t, offered, "")
		bad.Clear()
	})
	t.Run("a name that leads out of its folder", func(t *testing.T) {
		s := s.with(t)
		s.healthy(2)
		for _, m := range s.machines {
			m.Inject(comfyui.UnsafeName, comfyui.Always)
		}
		id := s.submit(served.Text2Img(201, 5))
		s.await("that the name is refused", func() bool {
			return strings.Contains(s.command("jobs", "events", id), "given_up") || s.status(id) == "failed" || s.status(id) == "error"
		})
		require.NotContains(t, s.get("/api/history/"+id), `"passwd"`)
		for _, m := range s.machines {
			m.Clear()
		}
	})
	t.Run("a prompt of somebody else is never touched", func(t *testing.T) {
		s := s.with(t)
		s.healthy(2)
		m := s.machines[0]
		foreign := uuid.NewString()
		body, err := json.Marshal(map[string]any{"prompt": served.Text2Img(300, 150), "prompt_id": foreign, "client_id": "somebody"})
		require.NoError(t, err)
		res, err := http.Post(m.URL()+"/prompt", "application/json", bytes.NewReader(body))
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode)
		s.await("the foreign prompt to run", func() bool { return running(m) })
		id := s.submit(served.Text2Img(301, 400))
		s.await("the job's own prompt to run", func() bool { return running(s.machines[1]) || len(m.Runs()) > 1 })
		s.do(http.MethodPost, "/api/interrupt", map[string]any{"prompt_id": id})
		require.Equal(t, "cancelled", s.ended(id))
		s.await("the end of the foreign prompt", func() bool {
			return slices.ContainsFunc(m.Runs(), func(r comfyui.Run) bool { return r.ID == foreign && r.Outcome == "success" })
		})
	})
	t.Run("a server that drains ends what it runs", func(t *testing.T) {
		s := s.with(t)
		s.healthy(2)
		id := s.submit(served.Text2Img(400, 100))
		victim := s.victim()
		s.command("servers", "drain", victim.URL(), "--reason", "a test")
		before := len(victim.Runs())
		require.Equal(t, "completed", s.ended(id))
		require.Equal(t, "success", victim.Runs()[before-1].Outcome, "the segment was not moved")
		s.command("servers", "resume", victim.URL(), "--reason", "a test")
	})
}

// As on ComfyUI itself, a graph runs without the output whose nodes are refused.
func TestAPartThatIsRefusedDoesNotRefuseTheRest(t *testing.T) {
	t.Parallel()
	s := start(t, comfyui.Options{Checkpoints: []string{"one.safetensors"}, Step: time.Millisecond})
	s.healthy(1)
	g := served.Graph{}
	addGraph(g, "a", served.Text2Img(1, 2), "nowhere.safetensors")
	addGraph(g, "b", served.Text2Img(2, 2), "one.safetensors")
	require.Equal(t, "completed", s.ended(s.submit(g)))
	require.Len(t, s.machines[0].Runs(), 1)
}

// A job that fails in one segment does not leave the prompt of another segment on its server.
func TestPromptsOfAFailedJobAreCanceled(t *testing.T) {
	t.Parallel()
	checkpoints := []string{"one.safetensors", "two.safetensors"} // no server can run both segments, which would be one otherwise
	s := start(t, comfyui.Options{Checkpoints: checkpoints[:1], Step: 20 * time.Millisecond},
		comfyui.Options{Checkpoints: checkpoints[1:], Step: 20 * time.Millisecond})
	s.await("the models of both servers", func() bool {
		choices := s.get("/api/object_info/CheckpointLoaderSimple")
		return strings.Contains(choices, checkpoints[0]) && strings.Contains(choices, checkpoints[1])
	})
	s.healthy(2)
	g := served.Graph{}
	short, long := served.Text2Img(1, 150), served.Text2Img(2, 3000)
	short["8"] = short["5"]
	short["5"] = served.Node("KSampler", map[string]any{
		"model": []any{"1", 0}, "positive": []any{"2", 0}, "negative": []any{"3", 0}, "latent_image": []any{"8", 0},
		"seed": 1, "steps": 10, "cfg": 7.0, "sampler_name": "euler", "scheduler": "normal", "denoise": 1.0,
	})
	addGraph(g, "a", short, checkpoints[0])
	addGraph(g, "b", long, checkpoints[1])
	id := s.submit(g)
	s.await("both prompts to run", func() bool { return running(s.machines[0]) && running(s.machines[1]) })
	for _, m := range s.machines {
		m.Inject(comfyui.Raise, 1) // the next sampler
	}
	require.Contains(t, []string{"failed", "error"}, s.ended(id))
	s.await("the end of the other prompt", func() bool {
		outcomes := []string{s.machines[0].Runs()[0].Outcome, s.machines[1].Runs()[0].Outcome}
		slices.Sort(outcomes)
		return slices.Equal(outcomes, []string{"error", "interrupted"})
	})
}

// If a server has too little memory for a segment, the segment runs there once more after the memory was freed, then
// on a server with more memory, and fails if there is no such server.
func TestTooLittleMemoryMovesToAServerWithMore(t *testing.T) {
	t.Parallel()
	s := start(t, comfyui.Options{Memory: 8 << 30, Load: 2 * time.Second}, comfyui.Options{Memory: 24 << 30})
	small, big := s.machines[0], s.machines[1]
	s.healthy(2)
	s.command("servers", "drain", big.URL(), "--reason", "a test")
	small.Inject(comfyui.OutOfMemory, 2)
	id := s.submit(served.Text2Img(1, 2))
	s.await("the prompt on the smaller server", func() bool { return len(small.Runs()) == 1 })
	s.command("servers", "resume", big.URL(), "--reason", "a test")
	require.Equal(t, "completed", s.ended(id))
	require.Len(t, s.images(id), 1)
	require.Equal(t, []int{2, 1, 1, 0}, []int{len(small.Runs()), small.Frees(), len(big.Runs()), big.Frees()})

	big.Inject(comfyui.OutOfMemory, comfyui.Always)
	small.Inject(comfyui.OutOfMemory, comfyui.Always)
	ran := len(small.Runs())
	id = s.submit(served.Text2Img(2, 2)) // on the server that has loaded the checkpoint
	require.Contains(t, []string{"failed", "error"}, s.ended(id))
	require.Contains(t, s.get("/api/history/"+id), "OOMError")
	require.Equal(t, []int{ran, 3, 1}, []int{len(small.Runs()), len(big.Runs()), big.Frees()})
}

// addGraph adds the nodes of another graph, which loads a checkpoint, under distinct names.
func addGraph(g served.Graph, name string, other served.Graph, checkpoint string) {
	for id, n := range other {
		inputs := n.(map[string]any)["inputs"].(map[string]any)
		for input, value := range inputs {
			if link, is := value.([]any); is {
				inputs[input] = []any{name + link[0].(string), link[1]}
			}
		}
		g[name+id] = n
	}
	g[name+"1"] = served.Node("CheckpointLoaderSimple", map[string]any{"ckpt_name": checkpoint})
}

// Ten graphs that alternate between two checkpoints run on two servers. Each checkpoint is loaded once. Eight of the graphs follow when
// both are loaded: none of them waits for as long as a checkpoint takes to load, after which it would go to the other server.
func TestCheckpointsStayWhereTheyAreLoaded(t *testing.T) {
	t.Parallel()
	both := comfyui.Options{Checkpoints: []string{"one.safetensors", "two.safetensors"}, Load: 20 * time.Second, Step: 10 * time.Millisecond}
	s := start(t, both, both)
	s.healthy(2)
	for _, some := range [][]int{{0, 1}, {2, 3, 4, 5, 6, 7, 8, 9}} {
		var ids []string
		for _, i := range some {
			g := served.Text2Img(i+1, 20)
			g["1"] = served.Node("CheckpointLoaderSimple", map[string]any{"ckpt_name": both.Checkpoints[i%2]})
			ids = append(ids, s.submit(g))
		}
		for _, id := range ids {
			require.Equal(t, "completed", s.ended(id))
		}
	}
	loads := slices.Concat(s.machines[0].Loads(), s.machines[1].Loads())
	slices.Sort(loads)
	require.Equal(t, both.Checkpoints, loads)
}
