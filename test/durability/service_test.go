package durability_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// service is a client of the API that works through outages.
type service struct {
	t    *testing.T
	base string
	env  []string
}

// patience is how long anything may take; far more than it does, also where a machine does ten things at once.
const patience = 5 * time.Minute

// until polls a condition, because a client is not notified when a service is back.
func (s *service) until(what string, done func() bool) {
	s.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			s.t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// call returns the status and body of a request, or status 0 when the service does not answer.
func (s *service) call(method, path, body string) (int, string) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: time.Minute}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(raw)
}

// accepted submits a graph and returns its id if the service accepted it.
func (s *service) accepted(graph string) (string, bool) {
	status, body := s.call("POST", "/api/prompt", graph)
	if status != http.StatusOK {
		return "", false
	}
	var answer struct {
		ID string `json:"prompt_id"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(body), &answer))
	return answer.ID, true
}

// submit requires that the graph is accepted.
func (s *service) submit(graph string) string {
	s.t.Helper()
	id, ok := s.accepted(graph)
	require.True(s.t, ok, "the service accepts")
	return id
}

// state returns the status of the cloud surface, or "" when the service does not answer.
func (s *service) state(id string) string {
	status, body := s.call("GET", "/api/job/"+id+"/status", "")
	if status != http.StatusOK {
		require.NotEqual(s.t, http.StatusNotFound, status, "job %s was accepted and is unknown", id)
		return ""
	}
	var answer struct{ Status string }
	require.NoError(s.t, json.Unmarshal([]byte(body), &answer))
	return answer.Status
}

// begun waits until a job runs or has run: a job may end between two polls.
func (s *service) begun(id string) {
	s.t.Helper()
	s.until("job "+id+" runs", func() bool { return slices.Contains([]string{"in_progress", "completed"}, s.state(id)) })
}

func (s *service) await(ids []string, want string) {
	s.t.Helper()
	for _, id := range ids {
		s.until(fmt.Sprintf("job %s is %s", id, want), func() bool {
			got := s.state(id)
			if got != want {
				require.Contains(s.t, []string{"", "pending", "in_progress"}, got, "job %s", id)
			}
			return got == want
		})
	}
}

// command runs the program's own command line against the same servers.
func (s *service) command(args ...string) string {
	s.t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), s.env...)
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "%s", out)
	return string(out)
}

// The graphs. Each saves one picture under a prefix of its own, so that a second run would save a file with number 2,
// and in a colour of its own, so that no job uses cached results of another.
func colour(prefix string) uint32 { return crc32.ChecksumIEEE([]byte(prefix)) & 0xffffff }

func cheap(prefix string) string {
	return fmt.Sprintf(`{"prompt":{
		"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":%d}},
		"2":{"class_type":"ImageInvert","inputs":{"image":["1",0]}},
		"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":%q}}}}`, colour(prefix), prefix)
}

func long(prefix string) string { return longOf(2048, prefix) }

// longOf returns a long graph for that size of picture. Half the size takes a quarter of the time.
func longOf(size int, prefix string) string {
	return fmt.Sprintf(`{"prompt":{
		"1":{"class_type":"EmptyImage","inputs":{"width":%[3]d,"height":%[3]d,"batch_size":1,"color":%[1]d}},
		"2":{"class_type":"ImageBlur","inputs":{"image":["1",0],"blur_radius":31,"sigma":2.0}},
		"3":{"class_type":"ImageSharpen","inputs":{"image":["2",0],"sharpen_radius":31,"sigma":2.0,"alpha":1.0}},
		"4":{"class_type":"ImageBlur","inputs":{"image":["3",0],"blur_radius":31,"sigma":2.0}},
		"5":{"class_type":"ImageScale","inputs":{"image":["4",0],"upscale_method":"lanczos","width":256,"height":256,"crop":"disabled"}},
		"6":{"class_type":"SaveImage","inputs":{"images":["5",0],"filename_prefix":%[2]q}}}}`, colour(prefix), prefix, size)
}

// batch submits cheap, long and more jobs than there are slots, and returns them by their prefix. The first one is
// the longest.
func (s *service) batch(name string) map[string]string {
	s.t.Helper()
	jobs := map[string]string{}
	for i := range 3 {
		prefix := fmt.Sprintf("%s-long-%d", name, i)
		jobs[prefix] = s.submit(longOf(2048>>min(i, 1), prefix))
	}
	for i := range 12 {
		prefix := fmt.Sprintf("%s-cheap-%d", name, i)
		jobs[prefix] = s.submit(cheap(prefix))
	}
	return jobs
}

func ids(jobs map[string]string) []string {
	list := make([]string, 0, len(jobs))
	for _, id := range jobs {
		list = append(list, id)
	}
	return list
}

// checkOutputs requires one output of each job, numbered 1.
func (s *service) checkOutputs(jobs map[string]string) {
	s.t.Helper()
	for prefix, id := range jobs {
		status, body := s.call("GET", "/api/v2/jobs/"+id, "")
		require.Equal(s.t, http.StatusOK, status, body)
		var job struct {
			Outputs []struct{ Name, URL string }
		}
		require.NoError(s.t, json.Unmarshal([]byte(body), &job))
		require.Len(s.t, job.Outputs, 1, prefix)
		require.Equal(s.t, prefix+"_00001_.png", job.Outputs[0].Name)
		first, _ := s.call("GET", "/api/view?filename="+prefix+"_00001_.png&type=output", "")
		require.Equal(s.t, http.StatusOK, first, "the file of %s is there", prefix) // the client has followed the redirect
		second, _ := s.call("GET", "/api/view?filename="+prefix+"_00002_.png&type=output", "")
		require.Equal(s.t, http.StatusNotFound, second, "%s was saved twice", prefix)
	}
}

// checkViews requires that every view equals its rebuild, and that every slot is free.
func (s *service) checkViews() {
	s.t.Helper()
	s.until("the views have come to the end of the log", func() bool {
		for line := range strings.Lines(s.command("views", "list")) {
			fields := strings.Fields(line)
			if len(fields) == 4 && fields[0] != "VIEW" && fields[2] != "0" {
				return false
			}
		}
		return true
	})
	out := s.command("views", "rebuild", "--check")
	require.Contains(s.t, out, "jobs_v1 equals its rebuild")
	status, body := s.call("GET", "/api/queue", "")
	require.Equal(s.t, http.StatusOK, status)
	require.JSONEq(s.t, `{"queue_running":[],"queue_pending":[]}`, body)
}
