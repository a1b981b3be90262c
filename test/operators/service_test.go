// Package operators_test checks the promises of a complete service with accounts and ComfyUI servers to its
// operators: settings are in force, events are shown, and no account can evade a setting. A private PostgreSQL, a
// real Temporal server and all roles run in one process. A test registers simulated servers under a label of its own,
// which its jobs request, so that tests do not disturb each other.
package operators_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// patience bounds every wait, far above the usual time.
const patience = 3 * time.Minute

const adminToken = "operators-only"

// service is the running service that the tests of this package share.
type service struct {
	*served.Service
	log *served.Log
	err error
}

var theService = sync.OnceValue(startService)

func TestMain(m *testing.M) {
	code := m.Run()
	theService().Stop()
	os.Exit(code)
}

func startService() *service {
	s := &service{log: &served.Log{}}
	s.Service, s.err = served.Dev(served.Options{
		Name: "mr-operators", Args: []string{"--log", "warn", "--auth", "keys", "--admin-token", adminToken},
		Log: io.MultiWriter(s.log, os.Stderr), Patience: 2 * patience,
	})
	return s
}

// bench is the service for one test: with an account, a label and simulated servers of its own.
type bench struct {
	*service
	t       *testing.T
	name    string // name of the account
	account string
	key     string
	label   string
}

// start returns the running service with a new account.
func start(t *testing.T) *bench {
	t.Helper()
	t.Parallel()
	served.UseTemporal(t)
	s := theService()
	require.NoError(t, s.err)
	b := &bench{service: s, t: t, name: "a-" + uuid.NewString()[:8], label: "l-" + uuid.NewString()[:8]}
	b.account = strings.TrimSpace(b.command("accounts", "create", b.name, "--tier", "pro"))
	b.key = served.LastLine(b.command("keys", "create", "--account", b.name))
	return b
}

// server starts a simulated server and registers it with the label of the test.
func (b *bench) server(o comfyui.Options, more map[string]any) *comfyui.Machine {
	b.t.Helper()
	m, err := comfyui.Start("127.0.0.1:0", o)
	require.NoError(b.t, err)
	b.t.Cleanup(m.Close)
	body := by(map[string]any{"url": m.URL(), "labels": []string{b.label}}, more)
	status, text := b.admin(http.MethodPost, "/servers", body)
	require.Equal(b.t, http.StatusCreated, status, text)
	b.t.Cleanup(func() { b.admin(http.MethodPost, "/servers/"+b.id(m)+"/remove", by(nil)) })
	b.await("the server to answer", func() bool { return b.state(m) == "healthy" })
	b.await("the classes of the server", func() bool {
		status, _ := b.do(http.MethodGet, "/api/object_info/KSampler", nil)
		return status == http.StatusOK
	})
	return m
}

// by returns the body of a change with its actor and reason.
func by(parts ...map[string]any) map[string]any {
	body := map[string]any{"actor": "ana", "reason": "a test"}
	for _, part := range parts {
		for k, v := range part {
			body[k] = v
		}
	}
	return body
}

// shownServer is a server in an answer of the admin API.
type shownServer struct{ ID, URL, State, Problem string }

func (b *bench) find(m *comfyui.Machine) (found shownServer) {
	b.t.Helper()
	var all struct{ Servers []shownServer }
	_, body := b.admin(http.MethodGet, "/servers", nil)
	require.NoError(b.t, json.Unmarshal([]byte(body), &all), body)
	for _, s := range all.Servers {
		if s.URL == m.URL() {
			found = s
		}
	}
	return found
}

func (b *bench) state(m *comfyui.Machine) string { return b.find(m).State }

func (b *bench) id(m *comfyui.Machine) string { return b.find(m).ID }

// await waits for a condition.
func (b *bench) await(what string, condition func() bool) {
	b.t.Helper()
	require.Eventually(b.t, condition, patience, 50*time.Millisecond, what)
}

// do sends a request with the account's key.
func (b *bench) do(method, path string, body any) (int, string) {
	b.t.Helper()
	return b.send(method, path, b.key, body)
}

// admin sends a request to the admin API.
func (b *bench) admin(method, path string, body any) (int, string) {
	b.t.Helper()
	return b.send(method, "/admin"+path, adminToken, body)
}

func (b *bench) send(method, path, credential string, body any) (int, string) {
	b.t.Helper()
	var raw bytes.Buffer
	if body != nil {
		require.NoError(b.t, json.NewEncoder(&raw).Encode(body))
	}
	req, err := http.NewRequestWithContext(context.Background(), method, b.Base+path, &raw) // also while the test cleans up
	require.NoError(b.t, err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+credential)
	return b.answer(req)
}

// answer sends a request and returns the status and the body.
func (b *bench) answer(req *http.Request) (int, string) {
	b.t.Helper()
	res, err := http.DefaultClient.Do(req)
	require.NoError(b.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	return res.StatusCode, string(text)
}

// run runs a command of the command line.
func (b *bench) run(args ...string) (string, error) {
	return b.Command(context.Background(), args...)
}

// command runs a command that must succeed and returns what it prints.
func (b *bench) command(args ...string) string {
	b.t.Helper()
	out, err := b.run(args...)
	require.NoError(b.t, err, out)
	return out
}

// asking returns the body of a submission that requests labels.
func asking(g served.Graph, labels ...string) map[string]any {
	return map[string]any{"prompt": g, "extra_data": map[string]any{"millrace": map[string]any{"labels": labels}}}
}

// submit queues a graph for the servers of the test and returns its job. Earlier definitions of the classes may have
// come from a server of another test that was removed.
func (b *bench) submit(g served.Graph) string {
	b.t.Helper()
	var body string
	b.await("the graph to be accepted", func() bool {
		var status int
		status, body = b.do(http.MethodPost, "/api/prompt", asking(g, b.label))
		return status == http.StatusOK
	})
	var answer struct {
		ID string `json:"prompt_id"`
	}
	require.NoError(b.t, json.Unmarshal([]byte(body), &answer))
	return answer.ID
}

// status returns the status of a job on the cloud surface.
func (b *bench) status(id string) string {
	b.t.Helper()
	var answer struct{ Status string }
	_, body := b.do(http.MethodGet, "/api/job/"+id+"/status", nil)
	require.NoError(b.t, json.Unmarshal([]byte(body), &answer), body)
	return answer.Status
}

// ended waits for the end of a job and returns its status.
func (b *bench) ended(id string) (status string) {
	b.t.Helper()
	b.await("the end of job "+id, func() bool {
		status = b.status(id)
		return status == "completed" || status == "failed" || status == "error" || status == "cancelled"
	})
	return status
}

// errorOf returns the error in a body of the prompt, cloud or v2 surface.
func errorOf(t *testing.T, body string) (code string) {
	t.Helper()
	var answer struct {
		Code  string
		Error struct{ Type, Code string }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &answer), body)
	return fmt.Sprint(answer.Code, answer.Error.Type, answer.Error.Code)
}
