//go:build linux

package cluster_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/millrace-dev/millrace/test/load"
)

// Env enables the test, which takes minutes and both cores of a small machine.
const Env = "MILLRACE_TEST_CLUSTER"

// clientPatience is how long a client repeats a request when it is asked to.
const clientPatience = time.Minute

// pace of the load: a handful of requests a second.
const pace = 200 * time.Millisecond

func TestUpgradesAndKillsUnderLoadLoseNothing(t *testing.T) {
	if os.Getenv(Env) == "" {
		t.Skipf("%s is not set: make test/cluster runs it", Env)
	}
	previous, current := releases(t)
	c := newCluster(t)
	began := time.Now()
	c.command(current, "migrate") // as before an upgrade: the earlier release works with the schema of the later one
	c.start(previous)
	t.Logf("started in %s", time.Since(began).Round(time.Millisecond))

	c.underLoad("upgrade", func(*load.Ledger) { c.upgrade(previous, current) })
	c.underLoad("kills", func(l *load.Ledger) { c.killEach(current, l) })
	c.underLoad("back", func(*load.Ledger) { c.upgrade(current, previous) })
	out, err := c.try(previous, "views", "rebuild", "--check")
	require.NoError(t, err, out)
	require.NotContains(t, out, "differs")
}

// underLoad lets clients use the service while change runs, and checks the outcomes of all their requests.
func (c *cluster) underLoad(name string, change func(*load.Ledger)) {
	t := c.t
	t.Helper()
	clients, ledger, began := load.NewPatientClient(clientPatience, c.urls()...), &load.Ledger{Mode: name}, time.Now()
	loading, stop := context.WithCancel(t.Context())
	defer stop()
	l := load.Start(loading, clients, ledger, 7, pace)
	change(ledger)
	stop()
	l.Wait()
	lasted := time.Since(began)
	settling, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ledger.Settle(settling, clients, c.provider)
	seen := clients.Seen()
	t.Logf("%s: %s under load, settled after %s; %d answers asked to come again, %d connections were not taken or broke",
		name, lasted.Round(time.Second), (time.Since(began) - lasted).Round(100*time.Millisecond), seen.Later, seen.Away)
	for _, kind := range []string{"jobs", "uploads", "calls"} {
		asked, accepted, by := ledger.Counts(kind)
		t.Logf("%s: %d %s asked for, %d accepted: %v", name, asked, kind, accepted, by)
		require.Positive(t, asked, kind)
	}
	require.Empty(t, seen.Errors, "errors that a client saw")
	for _, e := range ledger.Entries {
		c.judge(name, e)
	}
}

// judge fails the test for an entry with a wrong outcome. Requests that were interrupted by the end of the load are
// exempt; a request whose sender was killed may be uncertain, because it reports this.
func (c *cluster) judge(phase string, e *load.Entry) {
	c.t.Helper()
	switch {
	case e.Verdict == load.Right, e.Verdict == load.Refused && e.Cut, e.Verdict == load.Uncertain && phase == "kills":
	default:
		c.t.Errorf("%s %s %s: %s %s", phase, e.Name, e.ID, e.Verdict, e.Why)
	}
}

// upgrade replaces the processes of one release by those of another, in the order of docs/runbook.md: projectors,
// APIs, workers.
func (c *cluster) upgrade(from, to release) {
	c.t.Helper()
	for _, p := range append(append([]*process{}, c.projectors...), c.apis...) {
		p.replace(to)
	}
	for i, p := range c.workers {
		if i == len(c.workers)-1 {
			c.awaitDrained(from)
		}
		p.replace(to)
		switch i {
		case 0:
			c.command(to, "workers", "ramp", to.build, "--percent", "50")
		case 1:
			c.command(to, "workers", "promote", to.build)
		}
	}
	require.Contains(c.t, c.command(to, "workers", "list"), to.build)
}

// awaitDrained waits until no workflow of a release runs, so that its last worker may be stopped. millrace
// deployments show reports this a few minutes later; the list of workflows reports it at once.
func (c *cluster) awaitDrained(r release) {
	c.t.Helper()
	began, calm := time.Now(), 0
	query := fmt.Sprintf(`ExecutionStatus = 'Running' AND TemporalWorkerDeploymentVersion = 'millrace:%s'`, r.build)
	for ; calm < 3; pauseOrFail(c.t) {
		found, err := c.engine.CountWorkflow(c.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: query})
		require.NoError(c.t, err)
		calm++
		if found.GetCount() > 0 {
			calm = 0
		}
		require.Less(c.t, time.Since(began), patience, "%d workflows of %s do not end", found.GetCount(), r.build)
	}
	c.t.Logf("%s: drained after %s", r.build, time.Since(began).Round(10*time.Millisecond))
}

// killEach kills one process of each kind, and waits each time until a new job completes.
func (c *cluster) killEach(r release, ledger *load.Ledger) {
	c.t.Helper()
	probes := load.NewPatientClient(clientPatience, c.urls()...)
	for _, k := range []struct {
		name string
		kill func()
	}{
		{"api", func() { c.apis[0].kill(r) }},
		{"worker", func() { c.workers[0].kill(r) }},
		{"projector", func() { c.projectors[0].kill(r) }},
		{"temporal", c.temporal.kill},
		{"postgres", c.postgres.Kill},
	} {
		c.awaitMore(ledger)
		began := time.Now()
		k.kill()
		up := time.Since(began)
		ctx, cancel := context.WithTimeout(c.t.Context(), patience)
		id, err := probes.SubmitUntilAccepted(ctx, func(n int) string { return load.Cheap(fmt.Sprintf("probe-%s-%d", k.name, n)) })
		require.NoError(c.t, err, k.name)
		require.NoError(c.t, probes.UntilCompleted(ctx, id), k.name)
		cancel()
		c.t.Logf("killed %s: up again after %s, a new job had completed after %s", k.name, up.Round(10*time.Millisecond),
			time.Since(began).Round(10*time.Millisecond))
	}
	require.Empty(c.t, probes.Seen().Errors)
}

// between is the number of requests from one kill to the next.
const between = 15

// awaitMore waits until clients have sent some more requests.
func (c *cluster) awaitMore(ledger *load.Ledger) {
	c.t.Helper()
	for before := ledger.Len(); ledger.Len() < before+between; {
		pauseOrFail(c.t)
	}
}

// try runs a command of a release against the cluster.
func (c *cluster) try(r release, args ...string) (string, error) {
	cmd := exec.CommandContext(c.t.Context(), r.binary, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "MILLRACE_DATA=" + c.dir}
	for name, value := range c.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
