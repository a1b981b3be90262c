//go:build unix

// Package temporal_test runs the service with a Temporal like those of operators: behind TLS and credentials, with
// encrypted histories, with workers of two builds. Each test has a service of its own, with its own database and
// namespace, started by its own command line.
package temporal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/millrace-dev/millrace/internal/cli"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/authority"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/temporal/temporaltest"
	"github.com/millrace-dev/millrace/internal/postgres/pgtest"
	"github.com/millrace-dev/millrace/internal/sim"
	"github.com/millrace-dev/millrace/test/served"
)

// patience bounds every wait, far above the usual time.
const patience = 3 * time.Minute

// tick is the interval at which conditions are checked.
const tick = 20 * time.Millisecond

// deployment is what the processes of one service share: a database, a namespace, a data directory.
type deployment struct {
	t         *testing.T
	env       map[string]string
	address   string // of Temporal itself, whatever address the service has
	namespace string
	client    client.Client
}

func newDeployment(t *testing.T, settings map[string]string) *deployment {
	t.Helper()
	address, namespace := temporaltest.Namespace(t)
	d := &deployment{t: t, address: address, namespace: namespace, env: map[string]string{
		"DATABASE_URL": pgtest.Database(t), "TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": namespace, "MILLRACE_DATA": t.TempDir(),
		"MILLRACE_LOG": "warn", "MILLRACE_STOP_AFTER": "1s",
	}}
	maps.Copy(d.env, settings)
	c, err := client.DialContext(t.Context(), client.Options{HostPort: address, Namespace: namespace})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	d.client = c
	return d
}

func (d *deployment) lookup(more map[string]string) func(string) (string, bool) {
	env := maps.Clone(d.env)
	maps.Copy(env, more)
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// process is one process of a deployment.
type process struct {
	*deployment
	base string
	log  *served.Log
	stop func() error
}

// serve starts a process of the deployment and waits until it is ready.
func (d *deployment) serve(more map[string]string, args ...string) *process {
	d.t.Helper()
	p := d.start(more, args...)
	ended := make(chan error, 1)
	require.NoError(d.t, served.AwaitReady(p.base, patience, ended), p.log)
	return p
}

func (d *deployment) start(more map[string]string, args ...string) *process {
	d.t.Helper()
	addr, err := ports.Address()
	require.NoError(d.t, err)
	p := &process{deployment: d, base: "http://" + addr, log: &served.Log{}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		cmd := cli.Command(io.Discard, p.log, d.lookup(more))
		cmd.SetArgs(append([]string{"serve", "--addr", addr}, args...))
		ended <- cmd.ExecuteContext(ctx)
	}()
	stopped := false
	p.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	d.t.Cleanup(func() { require.NoError(d.t, p.stop()) })
	return p
}

// run executes a command of the program and returns its output.
func (d *deployment) run(args ...string) string {
	d.t.Helper()
	out, err := d.try(args...)
	require.NoError(d.t, err, out)
	return out
}

func (d *deployment) try(args ...string) (string, error) {
	return served.Command(d.t.Context(), d.lookup(nil), args...)
}

// picture is a graph of cheap nodes that makes a file.
const picture = `{"1":{"class_type":"EmptyImage","inputs":{"width":16,"height":16,"batch_size":1,"color":%d}},
	"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"t"}}}`

// submit submits a graph and returns the job.
func (p *process) submit(graph string) string {
	p.t.Helper()
	var answer struct {
		ID string `json:"prompt_id"`
	}
	p.post("/api/prompt", `{"prompt":`+graph+`}`, &answer)
	require.NotEmpty(p.t, answer.ID)
	return answer.ID
}

func (p *process) post(path, body string, answer any) {
	p.t.Helper()
	res, err := http.Post(p.base+path, "application/json", strings.NewReader(body))
	require.NoError(p.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(p.t, err)
	require.Less(p.t, res.StatusCode, 300, string(raw))
	if answer != nil {
		require.NoError(p.t, json.Unmarshal(raw, answer), string(raw))
	}
}

// end waits for the end of a job and returns its status.
func (p *process) end(id string) string {
	p.t.Helper()
	var status string
	require.Eventually(p.t, func() bool {
		res, err := http.Get(p.base + "/api/jobs/" + id)
		if err != nil {
			return false
		}
		defer res.Body.Close()
		var job struct{ Status string }
		if json.NewDecoder(res.Body).Decode(&job) != nil {
			return false
		}
		status = job.Status
		return status == "completed" || status == "failed" || status == "cancelled"
	}, patience, 20*time.Millisecond, "the end of %s", id)
	return status
}

// paint runs a job of cheap nodes that no other job has run.
func (p *process) paint(color int) string {
	p.t.Helper()
	id := p.submit(graphOf(color))
	require.Equal(p.t, "completed", p.end(id))
	return id
}

func graphOf(color int) string { return fmt.Sprintf(picture, color) }

func body(text string) io.Reader { return strings.NewReader(text) }

// get returns an answer in JSON, or nil.
func (p *process) get(path string) map[string]any {
	res, err := http.Get(p.base + path)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	var answer map[string]any
	if json.NewDecoder(res.Body).Decode(&answer) != nil {
		return nil
	}
	return answer
}

// count returns the number of workflows of the namespace that match a query.
func (d *deployment) count(query string) int64 {
	d.t.Helper()
	found, err := d.client.CountWorkflow(d.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: query})
	require.NoError(d.t, err, query)
	return found.GetCount()
}

// simulator serves the simulated providers.
func simulator(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(sim.New(sim.Options{}))
	t.Cleanup(server.Close)
	return server.URL
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	authority.WriteFile(t, path, []byte(text))
}
