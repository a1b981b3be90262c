package servers_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// succeeded counts the successful executions of prompts, by prompt.
func succeeded(machines []*comfyui.Machine) (all, most int) {
	byID := map[string]int{}
	for _, m := range machines {
		for _, r := range m.Runs() {
			if r.Outcome == "success" {
				byID[r.ID]++
				all++
				most = max(most, byID[r.ID])
			}
		}
	}
	return all, most
}

func TestJobsSurviveAKilledServer(t *testing.T) {
	t.Parallel()
	s := start(t, comfyui.Options{Step: 40 * time.Millisecond}, comfyui.Options{Step: 40 * time.Millisecond})
	const jobs = 10
	var ids []string
	for i := range jobs {
		ids = append(ids, s.submit(served.Text2Img(i+1, 25))) // a second each, so that one is seen running
	}
	var victim *comfyui.Machine // either machine may have run the first prompt and loaded the checkpoint
	s.await("a prompt that runs on one of the servers", func() bool {
		for _, m := range s.machines {
			if running(m) {
				victim = m
				return true
			}
		}
		return false
	})
	victim.Kill()
	for _, id := range ids {
		require.Equal(t, "completed", s.ended(id), id)
	}
	names := map[string]bool{}
	for _, id := range ids {
		files := s.images(id)
		require.Len(t, files, 1, "job %s", id)
		names[files[0]] = true
	}
	require.Len(t, names, jobs, "each picture is there once")
	_, most := succeeded(s.machines)
	require.Equal(t, 1, most, "no prompt ran twice on a server that lived")
	history := ""
	for _, id := range ids {
		history += s.command("jobs", "events", id)
	}
	require.Contains(t, history, "job.segment_placed")
	require.Contains(t, s.command("jobs", "timeline", ids[0]), "WHY THERE")
}

func TestServers(t *testing.T) {
	t.Parallel()
	s := start(t, comfyui.Options{Step: 20 * time.Millisecond})
	machine := s.machines[0]

	t.Run("a value crosses to a server and back", func(t *testing.T) {
		s := s.with(t)
		g := served.Text2Img(7, 1)
		g["8"] = served.Node("StringConcatenate", map[string]any{"string_a": "a", "string_b": "cat", "delimiter": " "})
		g["2"] = served.Node("CLIPTextEncode", map[string]any{"text": []any{"8", 0}, "clip": []any{"1", 1}})
		id := s.submit(g)
		require.Equal(t, "completed", s.ended(id))
		require.Len(t, s.images(id), 1)
	})
	t.Run("a cancel reaches the prompt within a second", func(t *testing.T) { s.with(t).cancelRunning() })
	t.Run("a cancel reaches the prompt in the queue of its server, and no other", func(t *testing.T) { s.with(t).cancelQueued() })
	t.Run("too little memory is tried once more after freeing it", func(t *testing.T) {
		s := s.with(t)
		machine.Inject(comfyui.OutOfMemory, 1)
		require.Equal(t, "completed", s.ended(s.submit(served.Text2Img(9, 1))))
		machine.Inject(comfyui.OutOfMemory, 2)
		id := s.submit(served.Text2Img(10, 1))
		require.Contains(t, []string{"failed", "error"}, s.ended(id))
		require.Contains(t, s.get("/api/history/"+id), "OOMError")
	})
	t.Run("an error keeps its words and loses the paths of the machine", func(t *testing.T) {
		s := s.with(t)
		machine.Inject(comfyui.Raise, 1)
		id := s.submit(served.Text2Img(11, 1))
		require.Contains(t, []string{"failed", "error"}, s.ended(id))
		history := s.get("/api/history/" + id)
		require.Contains(t, history, "execution_error")
		require.NotContains(t, history, "/home/")
	})
	t.Run("a prompt whose answer is lost is not sent twice", func(t *testing.T) {
		s := s.with(t)
		before := len(machine.Runs())
		machine.Inject(comfyui.AcceptAndDrop, 1)
		require.Equal(t, "completed", s.ended(s.submit(served.Text2Img(12, 1))))
		require.Len(t, machine.Runs(), before+1)
	})
	t.Run("a checkpoint that no server has is refused", func(t *testing.T) {
		s := s.with(t)
		g := served.Text2Img(13, 1)
		g["1"] = served.Node("CheckpointLoaderSimple", map[string]any{"ckpt_name": "absent.safetensors"})
		status, body := s.do(http.MethodPost, "/api/prompt", map[string]any{"prompt": g})
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, body, "value_not_in_list")
	})
	t.Run("a label that no server has is refused", func(t *testing.T) {
		s := s.with(t)
		status, body := s.do(http.MethodPost, "/api/prompt", map[string]any{
			"prompt": served.Text2Img(14, 1), "extra_data": map[string]any{"millrace": map[string]any{"labels": []string{"absent"}}},
		})
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, body, "absent")
	})
	t.Run("a restarted server takes up what it has forgotten", func(t *testing.T) {
		s := s.with(t)
		id := s.submit(served.Text2Img(15, 200))
		s.await("the prompt to run", func() bool { return running(machine) })
		require.NoError(t, machine.Restart())
		require.Equal(t, "completed", s.ended(id))
		require.Len(t, s.images(id), 1)
	})
	t.Run("operators add, drain, resume and remove servers", func(t *testing.T) { operate(s.with(t)) })
}

// pending returns the id of the first prompt that waits in the queue of a server, or "".
func pending(t *testing.T, m *comfyui.Machine) string {
	t.Helper()
	res, err := http.Get(m.URL() + "/queue")
	require.NoError(t, err)
	defer res.Body.Close()
	var queue struct {
		Pending [][]json.RawMessage `json:"queue_pending"`
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&queue))
	if len(queue.Pending) == 0 {
		return ""
	}
	var id string
	require.NoError(t, json.Unmarshal(queue.Pending[0][1], &id))
	return id
}

// with returns the service for a sub-test.
func (s *service) with(t *testing.T) *service {
	t.Helper()
	c := *s
	c.t = t
	return &c
}

// running reports whether a machine is executing a prompt.
func running(m *comfyui.Machine) bool {
	runs := m.Runs()
	return len(runs) > 0 && runs[len(runs)-1].Outcome == "running" && time.Since(runs[len(runs)-1].Began) > 100*time.Millisecond
}

// operate uses the commands of the admin API and the command line.
func operate(s *service) {
	t := s.t
	known := s.machines[0].URL()
	by := map[string]any{"actor": "ana", "reason": "a test"}
	with := func(key string, value any) map[string]any {
		body := map[string]any{key: value}
		for k, v := range by {
			body[k] = v
		}
		return body
	}
	status, body := s.do(http.MethodPost, "/admin/servers", with("url", known+"/"))
	require.Equal(t, http.StatusConflict, status, body)
	for _, bad := range []string{"ftp://host", "not an address", "http://user:secret@host:1"} {
		status, body = s.do(http.MethodPost, "/admin/servers", with("url", bad))
		require.Equal(t, http.StatusUnprocessableEntity, status, body)
		require.NotContains(t, body, "secret")
	}
	status, body = s.do(http.MethodPost, "/admin/servers", with("url", "http://127.0.0.1:1"))
	require.Equal(t, http.StatusCreated, status, body)
	s.await("the server that is away", func() bool { return strings.Contains(s.get("/admin/servers"), `"state":"away"`) })

	s.command("servers", "drain", known, "--reason", "a test")
	require.Contains(t, s.command("servers", "list"), "draining")
	id := s.submit(served.Text2Img(20, 1))
	s.await("why the job waits", func() bool { return strings.Contains(s.command("jobs", "events", id), "job.segment_waiting") })
	s.command("servers", "resume", known, "--reason", "a test")
	require.Equal(t, "completed", s.ended(id))
	s.command("servers", "remove", "http://127.0.0.1:1", "--reason", "a test")
	require.NotContains(t, s.command("servers", "list", "--json"), "127.0.0.1:1\"")
}
