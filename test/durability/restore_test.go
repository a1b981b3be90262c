package durability_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/test/load"
)

// pgTool is a program of the PostgreSQL that the private cluster runs.
func pgTool(t *testing.T, name string) string {
	t.Helper()
	path, err := load.PostgresTool(name)
	require.NoError(t, err)
	return path
}

func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
}

// The tested restore: a dump of PostgreSQL that was taken while jobs ran and waited is restored into a new cluster
// with an empty Temporal. The doctor starts jobs without a workflow, and every job that was accepted before the dump
// completes with one output. A call on which a provider works is completed without being sent again, and the
// ingestion of an upload continues. A call that has ended is answered from the record.
func TestARestoredBackupCompletesEveryAcceptedJob(t *testing.T) {
	t.Parallel()
	old, provider := startPartners(t, "MILLRACE_SCANNER=sleep 600")
	old.await([]string{old.submit(cheap("before"))}, "completed")
	ended := old.runEcho("done", false)
	upload := strings.TrimPrefix(old.ingested("a note"), "ingest-")
	old.until("it is being scanned", func() bool {
		return strings.Contains(old.command("assets", "events", upload), "asset.verified")
	})
	running := old.request("/v2/models/sim/image/requests", `{"prompt":"slowly [sim:delay=60s]"}`)
	old.until("the provider's handle is kept", func() bool {
		return strings.Contains(old.command("calls", "events", running), "call.provider_accepted")
	})
	charged := provider.total()
	prefix, held := old.caught("held")
	jobs := old.batch("restored") // some of the jobs wait
	jobs[prefix] = held
	old.untilDelivered()
	dump := filepath.Join(old.dir, "backup.dump")
	tool(t, pgTool(t, "pg_dump"), "--format=custom", "--file="+dump, "--dbname="+old.stack.DatabaseURL)
	for _, p := range append(old.workers, old.api, old.projector) {
		p.kill() // the machine is lost
	}

	dir := dataDir(t)
	stack := startStack(t, dir)
	tool(t, pgTool(t, "pg_restore"), "--no-owner", "--exit-on-error", "--dbname="+stack.DatabaseURL, dump)
	tool(t, "cp", "-a", filepath.Join(old.dir, "service"), filepath.Join(dir, "service"))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "service", "values"))) // not part of a backup
	c := serveOn(t, stack, dir)
	c.env = append(c.env, "MILLRACE_SIMULATOR="+provider.base)

	shown, err := c.try("doctor", "--reconcile")
	require.Error(t, err, "what is found is shown, and nothing is done without --yes")
	for _, found := range []string{
		"job " + held, "runs, but Temporal has no workflow for it", "start it again",
		"call " + running, "continue it; no request is sent twice", "asset " + upload, "ingest it again",
	} {
		require.Contains(t, shown, found)
	}
	require.NotContains(t, shown, ended, "a call that has ended is let be")
	again, err := c.try("doctor", "--reconcile")
	require.Error(t, err)
	require.Equal(t, shown, again)
	c.command("doctor", "--reconcile", "--yes")
	require.Contains(t, c.command("doctor", "--reconcile"), "nothing to repair")

	c.startRoles()
	c.await(ids(jobs), "completed")
	c.checkOutputs(jobs)
	c.checkViews()
	c.checkLanes()
	require.Contains(t, c.command("jobs", "events", held), "job.requeued")
	c.until("the call goes on", func() bool { return c.isAt("calls", running, "succeeded") })
	c.until("the upload is looked into", func() bool {
		return strings.Contains(c.command("assets", "events", upload), "asset.scanned")
	})
	c.runEcho("done", true) // the answer under its key comes from the record
	require.Equal(t, charged, provider.total(), "the provider is asked for nothing twice")
	replayed := c.command("jobs", "replay", "--since", "1h", "--limit", "3")
	require.Contains(t, replayed, "replays")
	require.NotContains(t, replayed, "diverges")
}

// isAt reports whether a call or an asset is in a state.
func (s *service) isAt(noun, id, state string) bool {
	s.t.Helper()
	var found struct{ State string }
	require.NoError(s.t, json.Unmarshal([]byte(s.command(noun, "show", id, "--json")), &found))
	return found.State == state
}

// request posts a body to the model router and returns the id of the call.
func (s *service) request(path, body string) string {
	s.t.Helper()
	status, answer := s.call("POST", path, body)
	require.Less(s.t, status, 300, answer)
	var made struct {
		ID string `json:"request_id"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(answer), &made))
	require.NotEmpty(s.t, made.ID, answer)
	return made.ID
}

// runEcho runs a model with an idempotency key and returns the id of the call that answered.
func (s *service) runEcho(key string, replayed bool) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), "POST", s.base+"/v2/models/sim/echo", strings.NewReader(`{"prompt":"hello"}`))
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	require.Equal(s.t, http.StatusOK, resp.StatusCode)
	require.Equal(s.t, replayed, resp.Header.Get("Idempotent-Replayed") == "true")
	return resp.Header.Get("X-Comfy-Request-Id")
}

// try runs a command that may fail.
func (s *service) try(args ...string) (string, error) {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), s.env...)
	out, err := cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		err = fmt.Errorf("%w: %s", err, ended.Stderr)
	}
	return string(out), err
}
