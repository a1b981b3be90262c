// Package servers_test runs graphs on simulated ComfyUI servers through a complete service: a private PostgreSQL, a
// real Temporal server and all roles in one process, as `millrace dev --comfyui …` starts them. Servers are killed,
// run out of memory and are cancelled while jobs run; the tests check what clients of the public API see.
package servers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// patience bounds every wait, far above the usual time.
const patience = 3 * time.Minute

const adminToken = "operators-only"

// service is a running service with its simulated servers.
type service struct {
	*served.Service
	t        *testing.T
	machines []*comfyui.Machine
}

// settings are environment variables of a service, beside those of this process.
type settings map[string]string

func (s settings) lookup(name string) (string, bool) {
	if value, ok := s[name]; ok {
		return value, true
	}
	return os.LookupEnv(name)
}

// start runs a service with one simulated server for each of the options.
func start(t *testing.T, options ...comfyui.Options) *service {
	t.Helper()
	return startWith(t, nil, options...)
}

// startWith is start with settings.
func startWith(t *testing.T, with settings, options ...comfyui.Options) *service {
	t.Helper()
	var machines []*comfyui.Machine
	for _, o := range options {
		machines = append(machines, simulate(t, o))
	}
	return serve(t, with, machines)
}

// simulate starts a simulated server.
func simulate(t *testing.T, o comfyui.Options) *comfyui.Machine {
	t.Helper()
	m, err := comfyui.Start("127.0.0.1:0", o)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// serve runs a service with settings, these servers and further arguments.
func serve(t *testing.T, with settings, machines []*comfyui.Machine, more ...string) *service {
	t.Helper()
	args := []string{"--log", "warn", "--slots", "32", "--admin-token", adminToken}
	for i, m := range machines {
		args = append(args, "--comfyui", fmt.Sprintf("%s,label=%s", m.URL(), label(i)))
	}
	s := &service{t: t, machines: machines}
	s.Service = served.Start(t, served.Options{
		Name: "mr-servers", Args: append(args, more...), Lookup: with.lookup, Patience: 2 * patience,
	})
	s.await("the classes of the servers", func() bool {
		return strings.Contains(s.get("/api/object_info/KSampler"), "sampler_name")
	})
	return s
}

// label returns the label of the server with a number.
func label(i int) string { return fmt.Sprintf("server-%d", i) }

// await waits for a condition.
func (s *service) await(what string, condition func() bool) {
	s.t.Helper()
	require.Eventually(s.t, condition, patience, 50*time.Millisecond, what)
}

func (s *service) get(path string) string {
	s.t.Helper()
	_, body := s.do(http.MethodGet, path, nil)
	return body
}

func (s *service) do(method, path string, body any) (int, string) {
	s.t.Helper()
	var b bytes.Buffer
	if body != nil {
		require.NoError(s.t, json.NewEncoder(&b).Encode(body))
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.Base+path, &b)
	require.NoError(s.t, err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if strings.HasPrefix(path, "/admin/") {
		req.Header.Set("Authorization", "Bearer "+adminToken)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res.StatusCode, string(raw)
}

// submit queues a graph and returns its job.
func (s *service) submit(g served.Graph) string {
	s.t.Helper()
	return s.submitWith(g, map[string]any{})
}

// on returns the extra_data of a job for the server with a number.
func on(i int) map[string]any {
	return map[string]any{"millrace": map[string]any{"labels": []string{label(i)}}}
}

// submitWith queues a graph with its extra_data and returns its job.
func (s *service) submitWith(g served.Graph, extra map[string]any) string {
	s.t.Helper()
	return s.queue(map[string]any{"prompt": g, "extra_data": extra})
}

// queue sends a submission and returns its job.
func (s *service) queue(submission map[string]any) string {
	s.t.Helper()
	status, body := s.do(http.MethodPost, "/api/prompt", submission)
	require.Equal(s.t, http.StatusOK, status, body)
	var answer struct {
		ID string `json:"prompt_id"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(body), &answer))
	return answer.ID
}

func (s *service) status(id string) string {
	s.t.Helper()
	var answer struct {
		Status string `json:"status"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(s.get("/api/job/"+id+"/status")), &answer))
	return answer.Status
}

// ended waits for the end of a job and returns its status.
func (s *service) ended(id string) (status string) {
	s.t.Helper()
	s.await("the end of job "+id, func() bool {
		status = s.status(id)
		return status == "completed" || status == "failed" || status == "error" || status == "cancelled"
	})
	return status
}

// images returns the output files of a job, by their names.
func (s *service) images(id string) []string {
	s.t.Helper()
	var history map[string]struct {
		Outputs map[string]struct {
			Images []struct {
				Filename, Subfolder, Type string
			}
		}
	}
	require.NoError(s.t, json.Unmarshal([]byte(s.get("/api/history/"+id)), &history))
	var names []string
	for _, out := range history[id].Outputs {
		for _, im := range out.Images {
			status, body := s.do(http.MethodGet, fmt.Sprintf("/api/view?filename=%s&subfolder=%s&type=%s", im.Filename, im.Subfolder, im.Type), nil)
			require.Equal(s.t, http.StatusOK, status)
			require.True(s.t, strings.HasPrefix(body, "\x89PNG"), "the file of job %s is a picture", id)
			names = append(names, im.Subfolder+"/"+im.Filename)
		}
	}
	return names
}

// command runs a command of the command line and returns what it prints.
func (s *service) command(args ...string) string {
	s.t.Helper()
	out, err := s.Command(s.t.Context(), args...)
	require.NoError(s.t, err, out)
	return out
}
